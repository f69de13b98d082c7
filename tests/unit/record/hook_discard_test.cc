// A step is recorded as a whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/gate.h"
#include "record/hook_fixture.h"
#include "rules/registry.h"

namespace smdebug::record::hook_discard_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Call = storage::MemoryStore::Call;

class HookDiscardTest : public HookFixture {
 protected:
  void Discard() { Expect(TheHook().DiscardStep()); }
  std::vector<std::string> FilesIn(const std::string &folder) const {
    std::vector<std::string> names;
    for (const auto &[name, text] : store_->Files()) {
      if (name.starts_with(folder)) names.push_back(name);
    }
    return names;
  }
};

TEST_F(HookDiscardTest, LeavesNothingOfTheStepAndKeepsTheNumbersOfLaterOnes) {
  Expect(TheHook().SetMode(Mode::kTrain));
  Step();
  Begin();
  Save("loss", Floats({1}));
  Discard();
  EXPECT_FALSE(TheHook().SavesStep());
  EXPECT_EQ(TheHook().LastStep(Mode::kTrain), 1);
  Step();
  Close();
  EXPECT_TRUE(At(0).exists);
  EXPECT_FALSE(At(1).exists);
  ASSERT_TRUE(At(2).exists);
  EXPECT_EQ(At(2).index.mode_step, 2);
  EXPECT_THAT(FilesIn("events/"), SizeIs(2));
  const QueueCounts counts = TheHook().Counts();
  EXPECT_EQ(counts.steps_written, 2);
  EXPECT_EQ(counts.steps_dropped + counts.steps_failed, 0);
}

TEST_F(HookDiscardTest, NeedsAnOpenStep) {
  EXPECT_EQ(TheHook().DiscardStep().GetCode(), Code::kWrongState);
  Begin();
  Discard();
  EXPECT_EQ(TheHook().DiscardStep().GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().EndStep().GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().Save("loss", Floats({1})).GetCode(), Code::kWrongState);
}

TEST_F(HookDiscardTest, DropsTheBytesThatAreBeingWritten) {
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  options_.saves_all = true;
  const Floats large = Floats::Counting(1 << 20);
  const auto alive = std::make_shared<int>(0);
  Begin();
  Expect(TheHook().Save("first", large, alive));
  Expect(TheHook().Save("second", large, alive));
  gate->AwaitArrivals(1);
  Discard();
  gate->Open();
  Flush();
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(TheHook().Counts().bytes_queued, 0);
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(HookDiscardTest, ScalarsAndCustomTensorsWaitForTheNextStep) {
  Begin();
  Expect(TheHook().SaveScalar("lr", Floats({0.25F}), 0));
  Expect(TheHook().SaveCustom("mine", Floats({1, 2}), {}));
  Discard();
  Step();
  Close();
  EXPECT_FALSE(At(0).exists);
  EXPECT_THAT(At(1).floats.at("scalar/lr"), ElementsAre(0.25F));
  EXPECT_THAT(At(1).floats.at("mine"), ElementsAre(1, 2));
}

TEST_F(HookDiscardTest, ALastStepThatWasDiscardedTakesNoLeftovers) {
  Step();
  Expect(TheHook().SetMode(Mode::kTrain));
  Begin();
  Expect(TheHook().SaveScalar("lr", Floats({0.25F}), 0));
  Discard();
  Close();
  EXPECT_FALSE(At(1).exists);
  EXPECT_THAT(At(2).names, ElementsAre("scalar/lr"));
  EXPECT_EQ(At(2).index.mode_step, 2);
}

TEST_F(HookDiscardTest, ADroppedStepTakesNoPendingValues) {
  options_.queue.capacity = 1000;
  options_.queue.policy = QueuePolicy::kDrop;
  options_.include_regexes = {"^w"};
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  const Floats large = Floats::Counting(1 << 18);
  Begin();
  Save("w", Floats::Counting(240));
  End();
  gate->AwaitArrivals(1);
  Begin();
  EXPECT_EQ(TheHook().Save("w", large).GetCode(), Code::kStepDropped);
  Expect(TheHook().SaveScalar("lr", Floats({0.25F}), 0));
  End();
  gate->Open();
  Close();
  EXPECT_TRUE(At(0).exists);
  EXPECT_FALSE(At(1).exists) << "readers would see a part of it";
  EXPECT_THAT(At(2).names, ElementsAre("scalar/lr"));
}

TEST_F(HookDiscardTest, ClosesATrialOfDiscardedStepsAlone) {
  Begin();
  Save("loss", Floats({1}));
  Discard();
  Close();
  EXPECT_THAT(FilesIn("index/"), IsEmpty());
  EXPECT_TRUE(HasFile("training_job_end.ts"));
  EXPECT_TRUE(HasFile("collections/000000000/worker_0_collections.json"));
}

TEST_F(HookDiscardTest, ShowsNothingInTensorboard) {
  const auto tensorboard = std::make_shared<storage::MemoryStore>();
  options_.tensorboard_store = tensorboard;
  Begin();
  Save("loss", Floats({1}));
  Discard();
  Close();
  EXPECT_THAT(tensorboard->Files(), IsEmpty());
}

TEST_F(HookDiscardTest, ItsFindingsDoNotCount) {
  const auto job = std::make_shared<int>();
  const auto set = std::make_shared<rules::RuleSet>();
  Expect(set->Add(*rules::BuiltinRule("VanishingGradient", {}, rules::Profile::kAws),
                  rules::Action::kStop));
  Expect(TheHook().Attach(*rules::Evaluation::Begin(set, job)));
  Begin();
  Save("gradient/w", Floats({0}));
  Discard();
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue);
  Begin();
  Save("gradient/w", Floats({1}));
  End();
  EXPECT_THAT(TheHook().TakeFindings(), IsEmpty());
}

}  // namespace
}  // namespace smdebug::record::hook_discard_test
