#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "base/strings.h"
#include "record/hook_fixture.h"
#include "rules/registry.h"
#include "tensor/given_statistics.h"

namespace smdebug::record::late_tensors_test {
namespace {

using enum tensor::ReductionKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

tensor::GivenStatistics GivenOf(const tensor::View &view) {
  tensor::GivenStatistics given;
  given.form = view;
  given.form.data = nullptr;
  const tensor::Statistics statistics = *tensor::ComputeStatistics(view);
  given.Figure({kMin, false}) = statistics.plain.min;
  given.Figure({kMax, false}) = statistics.plain.max;
  given.Figure({kMean, false}) = statistics.plain.mean;
  given.Figure({kMean, true}) = statistics.absolute.mean;
  given.Figure({kVariance, false}) = statistics.plain.variance;
  given.Figure({kSum, false}) = statistics.plain.sum;
  given.Figure({kL1, false}) = statistics.l1;
  given.Figure({kL2, false}) = statistics.l2;
  given.counts = {statistics.nan_count, statistics.inf_count, statistics.zero_count};
  given.Derive();
  return given;
}

class LateTensorsTest : public HookFixture {
 protected:
  LateTensorsTest() { options_.saves_all = true; }

  void SaveReductions() {
    options_.reduction_config = config::ReductionConfig();
    Expect(options_.reduction_config.AddList("min,max,mean,std,variance,sum,l1,l2,abs_max"));
    options_.reduction_config.SetSavesShape(true);
  }
  void Renew() {
    hook_.reset();
    options_.store = store_ = std::make_shared<storage::MemoryStore>();
    options_.tensorboard_store = tensorboard_ = std::make_shared<storage::MemoryStore>();
  }
  std::vector<std::map<std::string, std::string>> Files() const {
    return {store_->Files(), tensorboard_->Files()};
  }
  // Returns true if the tensor is expected.
  bool Await(std::string_view tensor) {
    bool is_expected = false;
    Expect(TheHook().Expect(tensor, [&](const Hook::Selection &) { is_expected = true; }));
    return is_expected;
  }
  using HookFixture::Expect;
  void Come(std::string_view tensor, int64_t step, const tensor::View &view) {
    Expect(TheHook().SaveLate(step, tensor, view));
  }
  void Fails(const Status &status, Code code, const char *text) {
    EXPECT_EQ(status.GetCode(), code);
    EXPECT_THAT(status.Message(), HasSubstr(text));
  }
  // A step that waits for "w".
  int64_t LateStep() {
    const int64_t step = Begin();
    EXPECT_TRUE(Await("w"));
    End();
    return step;
  }
  void Attach(const std::vector<const char *> &rules) {
    auto set = std::make_shared<rules::RuleSet>();
    for (const char *rule : rules) {
      const rules::Parameters::Given given = {{"tensor_regex", "w$|b$"}};
      const bool has_regex = std::string_view(rule) == "AllZero";
      auto factory = rules::BuiltinRule(rule, has_regex ? given : rules::Parameters::Given(),
                                        rules::Profile::kAws);
      Expect(factory.GetStatus());
      Expect(set->Add(*std::move(factory), rules::Action::kStop));
    }
    jobs_.push_back(std::make_shared<int>());
    Expect(TheHook().Attach(*rules::Evaluation::Begin(set, jobs_.back())));
  }
  std::vector<std::string> Found() {
    std::vector<std::string> found;
    for (const rules::Finding &finding : TheHook().TakeFindings()) {
      found.push_back(StrCat(finding.place.step, " ", finding.rule, ": ", finding.message));
    }
    return found;
  }

  std::shared_ptr<storage::MemoryStore> tensorboard_ = std::make_shared<storage::MemoryStore>();
  std::vector<std::shared_ptr<int>> jobs_;
  const Floats weight_{{2, 3}, {1, -2, 0, 4, 0.5F, -8}};
};

// ---- the same trial ------------------------------------------------------------------------

TEST_F(LateTensorsTest, AStepWaitsForItsTensors) {
  const int64_t step = LateStep();
  Flush();
  EXPECT_THAT(At(step).names, IsEmpty());
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), step);
  Come("w", step, weight_);
  Flush();
  EXPECT_THAT(At(step).names, ElementsAre("w"));
}

TEST_F(LateTensorsTest, ATrialRecordedLateHasTheSameFiles) {
  // Fills all kinds of files; the tensors of a step come in their order, the steps do not.
  const auto trial = [&](bool is_late) {
    Renew();
    SaveReductions();
    options_.reduction_config.SetSavesRaw(true);
    const std::vector<std::string> names = {"a", "gradient/w", "relu/b"};
    for (int64_t step = 0; step < 6; ++step) {
      Expect(TheHook().SetMode(step % 2 == 0 ? Mode::kTrain : Mode::kEval));
      Begin();
      Expect(TheHook().SaveScalar("lr", Floats({0.5F * static_cast<float>(step)}), 0));
      Expect(TheHook().SaveCustom("custom", weight_, {"mine"}));
      Save("in_time", weight_);
      for (const std::string &name : names) {
        if (is_late) {
          EXPECT_TRUE(Await(name));
        } else {
          Save(name, weight_);
        }
      }
      End();
    }
    for (const int64_t step : {3, 0, 2, 1, 5, 4}) {
      for (const std::string &name : names) {
        if (is_late) Come(name, step, weight_);
      }
    }
    Close();
    return Files();
  };
  const auto in_time = trial(false);
  EXPECT_THAT(in_time[0], SizeIs(testing::Ge(14U)));
  EXPECT_THAT(in_time[1], Not(IsEmpty()));
  EXPECT_EQ(trial(true), in_time);
}

TEST_F(LateTensorsTest, GivenStatisticsMayComeLate) {
  SaveReductions();
  const auto trial = [&](bool is_late) {
    Renew();
    for (int64_t step = 0; step < 3; ++step) {
      Begin();
      if (is_late) {
        EXPECT_TRUE(Await("w"));
      } else {
        Expect(TheHook().SaveStatistics("w", GivenOf(weight_)));
      }
      End();
    }
    for (int64_t step = 2; is_late && step >= 0; --step) {
      Expect(TheHook().SaveLate(step, "w", GivenOf(weight_)));
    }
    Close();
    return Files();
  };
  const auto in_time = trial(false);
  EXPECT_EQ(trial(true), in_time);
}

TEST_F(LateTensorsTest, LargeTensorsInTimeGoThroughTheQueueOfALateStep) {
  const Floats large(std::vector<float>(200'000, 1.5F));
  const auto trial = [&](bool is_late) {
    Renew();
    options_.queue.capacity = 2 << 20;  // less than two steps
    options_.queue.block_time = std::chrono::hours(24);
    for (int64_t step = 0; step < 10; ++step) {
      Begin();
      Save("large", large);
      Save("large2", large);
      if (is_late) {
        EXPECT_TRUE(Await("w"));
      } else {
        Save("w", weight_);
      }
      End();
    }
    if (is_late) Flush();
    for (int64_t step = 9; is_late && step >= 0; --step) Come("w", step, weight_);
    Close();
    EXPECT_EQ(TheHook().Counts().steps_written, 10);
    return store_->Files();  // a full queue takes no files for TensorBoard
  };
  const auto in_time = trial(false);
  EXPECT_EQ(trial(true), in_time);
}

TEST_F(LateTensorsTest, ATensorOfNoElementsAndNaNMayComeLate) {
  const std::vector<int64_t> shape = {0, 3};
  const int64_t step = Begin();
  EXPECT_TRUE(Await("empty"));
  EXPECT_TRUE(Await("nan"));
  End();
  Come("empty", step, {nullptr, shape, {}, tensor::DType::kFloat32});
  Come("nan", step, Floats({NAN}));
  Close();
  EXPECT_THAT(At(step).names, ElementsAre("empty", "nan"));
}

TEST_F(LateTensorsTest, ATensorMayComeWhileItsStepIsOpen) {
  const int64_t step = Begin();
  EXPECT_TRUE(Await("w"));
  Come("w", step, weight_);
  End();
  Flush();
  EXPECT_THAT(At(step).names, ElementsAre("w"));
}

TEST_F(LateTensorsTest, ATensorExpectedTwiceComesTwice) {
  const int64_t step = Begin();
  EXPECT_TRUE(Await("w"));
  EXPECT_TRUE(Await("w"));
  End();
  Come("w", step, Floats({1}));
  Flush();
  EXPECT_THAT(At(step).names, IsEmpty());
  Come("w", step, Floats({2}));
  Flush();
  EXPECT_THAT(At(step).names, ElementsAre("w", "w"));
  Fails(TheHook().SaveLate(step, "w", weight_), Code::kWrongState, "waits for no tensor");
}

TEST_F(LateTensorsTest, StepsAppearInTheirOrder) {
  const int64_t first = LateStep();
  const int64_t second = LateStep();
  Step();
  Come("w", second, weight_);
  Flush();
  EXPECT_EQ(TheHook().Counts().steps_written, 0);
  Come("w", first, weight_);
  Flush();
  EXPECT_EQ(TheHook().Counts().steps_written, 3);
}

// ---- what is selected ----------------------------------------------------------------------

TEST_F(LateTensorsTest, TellsWhatIsSelected) {
  SaveReductions();
  Begin();
  bool has_shape = false;
  size_t reductions = 0;
  Expect(TheHook().Expect("w", [&](const Hook::Selection &selection) {
    has_shape = selection.parts->shape && !selection.parts->raw;
    reductions = selection.parts->reductions.size();
    EXPECT_FALSE(selection.is_evaluated);
  }));
  EXPECT_TRUE(has_shape);
  EXPECT_EQ(reductions, 9U);
}

TEST_F(LateTensorsTest, AnUnselectedTensorIsNotExpected) {
  options_.saves_all = false;
  const int64_t step = Begin();
  EXPECT_FALSE(Await("w"));
  Fails(TheHook().SaveLate(step, "w", weight_), Code::kWrongState, "is not expected");
  End();
  SaveEvery(100);
  Renew();
  Step();
  Begin();
  EXPECT_FALSE(Await("loss")) << "of a step that saves nothing";
}

TEST_F(LateTensorsTest, TheSelectionIsThatOfItsStep) {
  // By the time they come, other settings apply.
  SaveEvery(2);
  const int64_t step = LateStep();
  EXPECT_TRUE(TheHook().Collections().Find("all")->Include("x").IsOk());
  Begin();
  EXPECT_FALSE(Await("w"));
  End();
  Come("w", step, weight_);
  Close();
  EXPECT_THAT(At(step).names, ElementsAre("w"));
  EXPECT_EQ(TheHook().Counts().steps_written, 1);
}

// ---- errors --------------------------------------------------------------------------------

TEST_F(LateTensorsTest, RefusesWhatNoStepWaitsFor) {
  Fails(TheHook().Expect("w", [](const Hook::Selection &) {}), Code::kWrongState, "no step");
  Fails(TheHook().SaveLate(0, "w", weight_), Code::kWrongState, "has not begun");
  Fails(TheHook().SaveLate(-1, "w", weight_), Code::kWrongState, "has not begun");
  const int64_t step = Begin();
  EXPECT_TRUE(Await("w"));
  EXPECT_TRUE(Await("v"));
  Fails(TheHook().SaveLate(step, "other", weight_), Code::kWrongState, "is not expected");
  Come("w", step, weight_);
  Fails(TheHook().SaveLate(step, "w", weight_), Code::kWrongState, "already come");
  Fails(TheHook().Forgo(step, "w"), Code::kWrongState, "already come");
  End();
  Expect(TheHook().Forgo(step, "v"));
  Fails(TheHook().Forgo(step, "v"), Code::kWrongState, "waits for no tensor");
  Close();
  Fails(TheHook().SaveLate(step, "w", weight_), Code::kWrongState, "closed");
  EXPECT_THAT(At(step).names, ElementsAre("w"));
}

TEST_F(LateTensorsTest, ARefusedTensorIsStillExpected) {
  const int64_t step = LateStep();
  Fails(TheHook().SaveLate(step, "w", GivenOf(weight_)), Code::kUnsupported, "raw value");
  Come("w", step, weight_);
  Close();
  EXPECT_THAT(At(step).names, ElementsAre("w"));
}

TEST_F(LateTensorsTest, AForgoneTensorIsMissing) {
  const int64_t step = Begin();
  Save("a", weight_);
  EXPECT_TRUE(Await("w"));
  End();
  Expect(TheHook().Forgo(step, "w"));
  Flush();
  EXPECT_THAT(At(step).names, ElementsAre("a"));
}

TEST_F(LateTensorsTest, TheOldestOfTooManyIsCompleted) {
  for (size_t i = 0; i < LateSteps::kMost; ++i) LateStep();
  Flush();
  EXPECT_EQ(TheHook().Counts().steps_written, 0);
  Begin();
  EXPECT_TRUE(Await("w"));
  EXPECT_TRUE(Await("v"));
  Status status = TheHook().EndStep();
  Fails(status, Code::kWrongState, "step 0");
  ASSERT_NE(status.Detail("tensor"), nullptr);
  EXPECT_EQ(*status.Detail("tensor"), "w");
  EXPECT_EQ(*status.Detail("step"), "0");
  EXPECT_THAT(Log(), testing::Contains(HasSubstr("without the late tensor 'w'")));
  Fails(TheHook().SaveLate(0, "w", weight_), Code::kWrongState, "completed");
  for (int64_t step = 1; step < 16; ++step) Come("w", step, weight_);
  status = TheHook().Close();
  Fails(status, Code::kWrongState, "'v' and 1 more: not there when the hook was closed");
  EXPECT_EQ(TheHook().Counts().steps_failed, 0);
  EXPECT_EQ(TheHook().Counts().steps_dropped, 0);
  EXPECT_THAT(At(15).names, ElementsAre("w"));
  EXPECT_THAT(At(16).names, IsEmpty());
}

TEST_F(LateTensorsTest, FreeingCompletesWhatWaits) {
  Begin();
  Save("a", weight_);
  EXPECT_TRUE(Await("w"));
  End();
  Step();
  hook_.reset();
  EXPECT_THAT(At(0).names, ElementsAre("a"));
  EXPECT_THAT(At(1).names, ElementsAre("loss"));
  EXPECT_FALSE(HasFile("END_OF_JOB.ts"));
}

TEST_F(LateTensorsTest, ClosingEndsAnOpenStepThatExpects) {
  Begin();
  Save("a", weight_);
  EXPECT_TRUE(Await("w"));
  Fails(TheHook().Close(), Code::kWrongState, "'w'");
  EXPECT_THAT(At(0).names, ElementsAre("a"));
}

// ---- steps that are not recorded -----------------------------------------------------------

TEST_F(LateTensorsTest, ADiscardedStepExpectsNothing) {
  const int64_t step = Begin();
  EXPECT_TRUE(Await("w"));
  Expect(TheHook().DiscardStep());
  Fails(TheHook().SaveLate(step, "w", weight_), Code::kWrongState, "discarded");
  Step();
  Close();
  EXPECT_EQ(TheHook().Counts().steps_written, 1);
}

TEST_F(LateTensorsTest, AStepBehindALateOneMayBeDiscarded) {
  const int64_t late = LateStep();
  Begin();
  Save("a", weight_);
  EXPECT_TRUE(Await("w"));
  Expect(TheHook().DiscardStep());
  Step();
  Come("w", late, weight_);
  Close();
  EXPECT_THAT(At(0).names, ElementsAre("w"));
  EXPECT_THAT(At(1).names, IsEmpty());
  EXPECT_THAT(At(2).names, ElementsAre("loss"));
}

TEST_F(LateTensorsTest, ADroppedStepWaitsNonethelessAndKeepsItsValues) {
  Step();
  Begin();
  Expect(TheHook().SaveScalar("lr", Floats({1}), 0));
  EXPECT_TRUE(Await("w"));
  EXPECT_TRUE(Await("v"));
  End();
  TheHook().DropStep(1);
  Come("w", 1, weight_);
  Come("v", 1, weight_);
  Step();
  Close();
  EXPECT_THAT(At(1).names, IsEmpty());
  EXPECT_THAT(At(2).names, ElementsAre("loss", "scalar/lr"));
  EXPECT_EQ(TheHook().Counts().steps_failed, 1);
}

TEST_F(LateTensorsTest, ADryRunExpectsToo) {
  options_.is_dry_run = true;
  const int64_t step = LateStep();
  Come("w", step, weight_);
  Close();
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(LateTensorsTest, CollectionsComeBeforeTheFirstStep) {
  LateStep();
  Step();
  Expect(TheHook().ExportCollections());
  EXPECT_TRUE(HasFile("collections/000000000/worker_0_collections.json"));
  Come("w", 0, weight_);
  Close();
  EXPECT_EQ(TheHook().Counts().steps_written, 2);
}

// ---- rules ---------------------------------------------------------------------------------

// A job whose tensors are partly late, in random order.
class LateFindingsTest : public LateTensorsTest {
 protected:
  LateFindingsTest() {
    SaveReductions();
    SaveEvery(2);
  }

  void SaveOne(int64_t step, const std::string &name, const Floats &floats, bool is_late) {
    Hook &hook = TheHook();
    if (!is_given_) {
      Expect(is_late ? hook.SaveLate(step, name, floats) : hook.Save(name, floats));
    } else if (is_late) {
      Expect(hook.SaveLate(step, name, GivenOf(floats)));
    } else {
      Expect(hook.SaveStatistics(name, GivenOf(floats)));
    }
  }
  void Step(int64_t step, bool has_late) {
    Begin();
    Save("loss", Floats({1.0F + static_cast<float>(step)}));
    for (int64_t i = 0; i < 4; ++i) {
      const Floats &floats = kinds_[static_cast<size_t>(step + i) % kinds_.size()];
      const std::string name = StrCat(i % 2 == 0 ? "gradient/" : "", i, "/w");
      if (has_late && i == 3) {
        EXPECT_TRUE(Await(name));
        late_.emplace_back([this, step, name, &floats] { SaveOne(step, name, floats, true); });
      } else {
        SaveOne(step, name, floats, false);
      }
    }
    if (step % 13 != 5) return End();
    if (has_late) late_.pop_back();
    Expect(TheHook().DiscardStep());
  }
  // Delivers all but the newest ones.
  void Deliver(size_t left) {
    const auto end = late_.end() - static_cast<std::ptrdiff_t>(std::min(left, late_.size()));
    std::shuffle(late_.begin(), end, random_);
    for (auto each = late_.begin(); each != end; ++each) (*each)();
    late_.erase(late_.begin(), end);
  }
  std::vector<std::string> Findings(bool has_late) {
    Renew();
    Attach({"VanishingGradient", "ExplodingTensor", "AllZero", "LossNotDecreasing"});
    for (int64_t step = 0; step < 40; ++step) {
      Step(step, has_late);
      if (step % 7 == 6) Deliver(2);
    }
    Deliver(0);
    Close();
    return Found();
  }

  const std::vector<Floats> kinds_ = {Floats({2, 2}, {1e-9F, -1e-9F, 0, 1e-9F}),
                                      Floats({2, 2}, {1, NAN, INFINITY, 0}),
                                      Floats({2, 2}, {0, 0, 0, 0})};
  std::mt19937 random_{7};
  std::vector<std::function<void()>> late_;
  bool is_given_ = false;
};

TEST_F(LateFindingsTest, AreTheSame) {
  for (const bool is_given : {false, true}) {
    is_given_ = is_given;
    const std::vector<std::string> expected = Findings(false);
    EXPECT_THAT(expected, SizeIs(testing::Gt(40U)));
    EXPECT_EQ(Findings(true), expected);
  }
}

TEST_F(LateTensorsTest, RulesSpeakOfTheLastCompletedStep) {
  options_.saves_all = false;
  SaveEvery(1000);
  Attach({"VanishingGradient"});
  const Floats tiny({1e-9F});
  Begin();
  EXPECT_TRUE(Await("gradient/w")) << "rules want it";
  End();
  Begin();
  Save("gradient/w", Floats({1}));
  End();
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue);
  EXPECT_THAT(Found(), IsEmpty());
  Come("gradient/w", 0, tiny);
  EXPECT_THAT(Found(), ElementsAre(HasSubstr("0 VanishingGradient")));
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue) << "step 1 followed at once";
}

TEST_F(LateTensorsTest, LateStepsKeepTheRulesThatTheyBeganWith) {
  Attach({"VanishingGradient"});
  const Floats tiny({1e-9F});
  Begin();
  EXPECT_TRUE(Await("gradient/w"));
  End();
  Attach({"AllZero"});
  Begin();
  Save("b", Floats({0, 0}));
  End();
  EXPECT_THAT(Found(), IsEmpty());
  Come("gradient/w", 0, tiny);
  EXPECT_THAT(Found(), ElementsAre(HasSubstr("0 Vanishing"), HasSubstr("1 AllZero")));
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kStop);
}

// ---- threads -------------------------------------------------------------------------------

TEST_F(LateTensorsTest, TensorsComeFromOtherThreads) {
  Attach({"ExplodingTensor"});
  constexpr int64_t kSteps = 200;
  std::atomic<int64_t> ended = 0;
  const auto deliver = [&](const char *name) {
    for (int64_t step = 0; step < kSteps; ++step) {
      while (ended <= step) std::this_thread::yield();
      Come(name, step, weight_);
    }
  };
  std::thread a([&] { deliver("a"); });
  std::thread b([&] { deliver("b"); });
  for (int64_t step = 0; step < kSteps; ++step) {
    // As a job whose accelerator is at most 8 steps behind.
    while (TheHook().Counts().steps_written + 8 < step) std::this_thread::yield();
    Begin();
    EXPECT_TRUE(Await("a"));
    EXPECT_TRUE(Await("b"));
    Save("in_time", weight_);
    End();
    ++ended;
  }
  a.join();
  b.join();
  Close();
  EXPECT_EQ(TheHook().Counts().steps_written, kSteps);
  EXPECT_EQ(TheHook().Counts().tensors_written, kSteps * 3);
}

}  // namespace
}  // namespace smdebug::record::late_tensors_test
