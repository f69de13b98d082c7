// Recording: every way to save, steps, what is thrown.
#include <atomic>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "support.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

// Records one step with `body`, and returns the values read back.
template <class Body>
Trial Recorded(const std::string &path, Body &&body) {
  Hook hook(EveryStep(path));
  {
    StepGuard step = hook.Step(Mode::kTrain);
    body(hook);
    step.End();
  }
  hook.Close();
  return Trial::Open(path);
}

TEST(Hook, TakesAConfigurationFile) {
  const Folder folder;
  std::ofstream(folder / "hook.json") << R"({"LocalPath": ")" << (folder / "run")
                                      << R"(", "HookParameters": {"save_interval": 2}})";
  HookOptions options;
  options.Load(folder / "hook.json").Set("save_all", "true");
  Hook hook(options);
  for (int i = 0; i < 3; ++i) {
    const StepGuard step = hook.Step();
    hook.Save("loss", 1.0);
  }
  hook.Close();
  EXPECT_EQ(Trial::Open(folder / "run").Steps(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(CodeOf([&] { options.Load("/nowhere/hook.json"); }), SMD_NOT_FOUND);
}

TEST(Hook, AStepLeftByAnExceptionIsDiscarded) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  const auto fail = [&] {
    const StepGuard step = hook.Step(Mode::kTrain);
    hook.Save("before", 1.0);
    throw std::logic_error("as told");
  };
  EXPECT_THROW(fail(), std::logic_error);
  {
    const StepGuard step = hook.Step(Mode::kTrain);
    EXPECT_EQ(step.GlobalStep(), 1);
    hook.Save("after", 2.0);
  }
  hook.Close();
  const Trial trial = Trial::Open(folder / "run");
  EXPECT_EQ(trial.Steps(), std::vector<int64_t>{1});
  EXPECT_EQ(trial.TensorNames(), std::vector<std::string>{"after"});
}

TEST(Hook, AStepOfADestructorThatAnExceptionRunsIsRecorded) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  struct Last {
    ~Last() {
      const StepGuard step = hook.Step();
      hook.Save("last", 1.0);
    }
    Hook &hook;
  };
  const auto fail = [&] {
    const Last last{hook};
    throw std::logic_error("as told");
  };
  EXPECT_THROW(fail(), std::logic_error);
  hook.Close();
  EXPECT_EQ(Trial::Open(folder / "run").Steps(), std::vector<int64_t>{0});
}

TEST(Hook, AStepCanBeDiscarded) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  StepGuard step = hook.Step();
  hook.Save("w", 1.0);
  step.Discard();
  step.Discard();
  step.End();
  hook.BeginStep();
  hook.DiscardStep();
  EXPECT_EQ(CodeOf([&] { hook.DiscardStep(); }), SMD_WRONG_STATE);
  hook.BeginStep();
  hook.Save("w", 1.0);
  hook.EndStep();
  hook.Close();
  EXPECT_EQ(Trial::Open(folder / "run").Steps(), std::vector<int64_t>{2});
}

TEST(Hook, ShowsItselfInTensorboard) {
  const Folder folder;
  HookOptions options;
  options.Set("out_dir", folder / "run").Set("export_tensorboard", "true").Set("save_all", "true");
  EXPECT_EQ(options.Get("export_tensorboard"), "true");
  Hook hook(options);
  for (const bool saves : {true, false}) {
    const StepGuard step = hook.Step();
    EXPECT_EQ(hook.SavesStep(), saves);
    hook.AddToStep({"losses"});
    hook.Save("loss", 1.0);
  }
  hook.Close();
  EXPECT_TRUE(std::filesystem::exists(folder / "run/tensorboard/GLOBAL"));
  Trial::Open(folder / "run").ExportTensorboard(folder / "later");
  EXPECT_TRUE(std::filesystem::exists(folder / "later/GLOBAL/events.out.tfevents.smdebug"));
}

// Failures of the writer threads do not stop the training.
TEST(Hook, TellsOfTheBackgroundInTheEnd) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  std::ofstream(folder / "run") << "a file where the folder should be";
  for (int i = 0; i < 20; ++i) {
    const StepGuard step = hook.Step();
    hook.Save("loss", 1.0);
    while (hook.Count("steps_failed") < i) std::this_thread::yield();
  }
  EXPECT_THROW(hook.Flush(), Error);
  EXPECT_EQ(hook.Count("steps_written"), 0);
}

TEST(Hook, SavesNumbersVectorsAndMemory) {
  const Folder folder;
  const std::vector<int32_t> counts = {1, 2, 3};
  const double matrix[] = {1, 2, 3, 4, 5, 6};
  const Trial trial = Recorded(folder / "run", [&](Hook &hook) {
    hook.Save("number", 2.5F);
    hook.Save("vector", counts);
    hook.Save(std::string("matrix"), matrix, {2, 3});
    hook.Save(std::string_view("backwards!").substr(0, 9), matrix + 5, {6}, {-1});
    hook.Save("empty", std::vector<float>());
  });
  EXPECT_EQ(trial.Tensor("number").Value(0).ToDouble(), 2.5);
  EXPECT_THAT(trial.Tensor("number").Value(0).Shape(), ElementsAre());
  EXPECT_EQ(trial.Tensor("vector").Value(0).ToVector<int32_t>(), counts);
  EXPECT_THAT(trial.Tensor("matrix").Value(0).Shape(), ElementsAre(2, 3));
  EXPECT_THAT(trial.Tensor("backwards").Value(0).ToVector<double>(), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(trial.Tensor("empty").Value(0).Shape(), ElementsAre(0));
}

template <class T>
void ExpectKept(T element, DType dtype) {
  const Folder folder;
  const Trial trial = Recorded(folder / "run", [&](Hook &hook) { hook.Save("t", &element, {1}); });
  const Value value = trial.Tensor("t").Value(0);
  EXPECT_EQ(value.DType(), dtype) << DTypeName(value.DType());
  EXPECT_EQ(value.Bytes(), DTypeSize(dtype));
  EXPECT_EQ(value.As<T>()[0], element);
}

TEST(Hook, KeepsEveryElementType) {
  ExpectKept<float>(1.5F, DType::kFloat32);
  ExpectKept<double>(-1e300, DType::kFloat64);
  ExpectKept<int8_t>(-8, DType::kInt8);
  ExpectKept<int16_t>(-300, DType::kInt16);
  ExpectKept<int32_t>(1 << 30, DType::kInt32);
  ExpectKept<long>(1L << 60, DType::kInt64);
  ExpectKept<long long>(-1, DType::kInt64);
  ExpectKept<uint8_t>(255, DType::kUInt8);
  ExpectKept<uint16_t>(65535, DType::kUInt16);
  ExpectKept<uint32_t>(1U << 31, DType::kUInt32);
  ExpectKept<uint64_t>(~0ULL, DType::kUInt64);
  ExpectKept<bool>(true, DType::kBool);
  ExpectKept<std::complex<float>>({1, -2}, DType::kComplex64);
  ExpectKept<std::complex<double>>({3, 4}, DType::kComplex128);
  static_assert(!kIsElement<char> && !kIsElement<void *> && !kIsElement<std::string>);
}

TEST(Hook, KeepsTypesWithoutANameInCpp) {
  for (const DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat8E5M2, DType::kFloat8E4M3FN}) {
    const Folder folder;
    const unsigned char bytes[] = {0, 0x3c, 0, 0x3c};
    const auto count = static_cast<int64_t>(sizeof bytes / DTypeSize(dtype));
    const Trial trial =
        Recorded(folder / "run", [&](Hook &hook) { hook.Save("t", View(dtype, bytes, {count})); });
    const Value value = trial.Tensor("t").Value(0);
    EXPECT_EQ(value.DType(), dtype);
    EXPECT_EQ(std::memcmp(value.Data(), bytes, sizeof bytes), 0);
    EXPECT_EQ(CodeOf([&] { value.As<uint16_t>(); }), SMD_UNSUPPORTED);
  }
}

struct Half {
  uint16_t bits;
};

}  // namespace

template <>
struct ElementType<Half> : std::integral_constant<DType, DType::kFloat16> {};

namespace {

TEST(Hook, TakesAHalfTypeOfTheCallers) {
  const Folder folder;
  const Trial trial = Recorded(folder / "run", [](Hook &hook) {
    hook.Save("t", std::vector<Half>{{0x3c00}, {0x4000}});
  });
  const Value value = trial.Tensor("t").Value(0);
  EXPECT_EQ(value.As<Half>()[1].bits, 0x4000);
  EXPECT_EQ(value.Reduce("sum").ToDouble(), 3);
}

TEST(Hook, SavesStrings) {
  const Folder folder;
  const Trial trial = Recorded(folder / "run", [](Hook &hook) {
    hook.SaveStrings("flat", {"a", "", "\xc3\xa4"});
    hook.SaveStrings("square", {"a", "b", "c", "d"}, {2, 2});
    EXPECT_EQ(CodeOf([&] { hook.SaveStrings("short", {"a"}, {2}); }), SMD_INVALID_ARGUMENT);
    EXPECT_EQ(CodeOf([&] { hook.SaveStrings("nul", {std::string("a\0b", 3)}); }),
              SMD_INVALID_ARGUMENT);
  });
  EXPECT_THAT(trial.Tensor("flat").Value(0).Strings(), ElementsAre("a", "", "\xc3\xa4"));
  EXPECT_THAT(trial.Tensor("square").Value(0).Shape(), ElementsAre(2, 2));
}

// ---- memory given away ----

TEST(Hook, TakesOwnersOfMemory) {
  const Folder folder;
  std::vector<float> large(1 << 16, 3.0F);
  const float *const address = large.data();
  const auto shared = std::make_shared<double>(7);
  bool is_freed = false;
  const auto free_marking = [&is_freed](const int16_t *memory) {
    is_freed = true;
    delete[] memory;
  };
  const Trial trial = Recorded(folder / "run", [&](Hook &hook) {
    hook.SaveOwned("large", std::move(large), {256, 256});
    hook.SaveOwned("vector", std::vector<double>{1, 2});
    hook.SaveOwned("array", std::make_unique<uint8_t[]>(4), {4});
    using Marked = std::unique_ptr<int16_t[], std::function<void(const int16_t *)>>;
    hook.SaveOwned("marked", Marked(new int16_t[20000](), free_marking), {20000});
    hook.SaveOwned("shared", shared, {});
  });
  EXPECT_NE(large.data(), address);
  EXPECT_TRUE(is_freed);
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_THAT(trial.Tensor("large").Value(0).Shape(), ElementsAre(256, 256));
  EXPECT_EQ(trial.Tensor("large").Reduction(0, "mean").ToDouble(), 3);
  EXPECT_EQ(trial.Tensor("vector").Value(0).ToVector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(trial.Tensor("array").Value(0).ToVector<uint8_t>(), std::vector<uint8_t>(4));
  EXPECT_EQ(trial.Tensor("shared").Value(0).ToDouble(), 7);
}

TEST(Hook, CallsReleaseOnceAlsoWhenItFails) {
  const Folder folder;
  const std::vector<float> memory(1 << 15, 1.0F);
  std::atomic<int> released{0};
  const auto release = [&] { ++released; };
  {
    Hook hook(EveryStep(folder / "run"));
    EXPECT_EQ(CodeOf([&] { hook.SaveOwned("w", memory, release); }), SMD_WRONG_STATE);
    EXPECT_EQ(released, 1);
    const StepGuard step = hook.Step();
    hook.SaveOwned("w", memory, release);
    hook.SaveOwned("throws", memory, [&] {
      release();
      throw std::runtime_error("nobody hears this");
    });
    EXPECT_EQ(CodeOf([&] { hook.SaveOwned("bad", View(memory.data(), {-1}), release); }),
              SMD_INVALID_ARGUMENT);
  }
  EXPECT_EQ(released, 4);
}

TEST(Hook, RefusesShapesThatDoNotFit) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  const StepGuard step = hook.Step();
  const std::vector<int64_t> too_many(SMD_MAX_RANK + 1, 1);
  const auto code = [&](size_t count, const Shape &shape) {
    return CodeOf([&] { hook.SaveOwned("w", std::vector<float>(count), shape); });
  };
  EXPECT_EQ(code(6, {7}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(6, {2, 2}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(6, {}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(6, {0}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(0, {3}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(1, {-1}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(6, {int64_t{1} << 32, int64_t{1} << 32}), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(code(1, too_many), SMD_INVALID_ARGUMENT);
  hook.SaveOwned("empty", std::vector<float>(), {0, 5});
  hook.SaveOwned("scalar", std::vector<float>(1), {});
  const float number = 1;
  EXPECT_EQ(CodeOf([&] { hook.Save("w", &number, too_many); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { hook.Save("w", &number, {1}, {1, 1}); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { hook.Save("w", View(DType::kInvalid, &number, {1})); }),
            SMD_INVALID_ARGUMENT);
}

// ---- steps ----

TEST(Hook, StepsEndWithTheirScope) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  {
    const StepGuard step = hook.Step(Mode::kTrain);
    EXPECT_EQ(step.GlobalStep(), 0);
    EXPECT_TRUE(hook.Wants("w"));
    EXPECT_EQ(CodeOf([&] { (void)hook.Step(); }), SMD_WRONG_STATE);
  }
  EXPECT_FALSE(hook.Wants("w"));
  EXPECT_EQ(hook.Step(Mode::kEval).GlobalStep(), 1);
  EXPECT_EQ(hook.Mode(), Mode::kEval);
  EXPECT_EQ(hook.LastStep(Mode::kEval), 0);
  EXPECT_EQ(hook.LastStep(Mode::kGlobal), 1);
  EXPECT_EQ(hook.BeginStep(), 2);
  hook.EndStep();
  EXPECT_EQ(CodeOf([&] { hook.EndStep(); }), SMD_WRONG_STATE);
}

TEST(Hook, AStepThatThrowsEnds) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  EXPECT_THROW(
      {
        const StepGuard step = hook.Step();
        throw std::logic_error("the training failed");
      },
      std::logic_error);
  EXPECT_EQ(hook.Step().GlobalStep(), 1);
}

TEST(Hook, AGuardOutlivesItsHook) {
  const Folder folder;
  {
    std::optional<Hook> hook(EveryStep(folder / "run"));
    StepGuard step = hook->Step(Mode::kTrain);
    hook->Save("loss", 1.0);
    StepGuard moved = std::move(step);
    hook.reset();
    moved.End();
    moved.End();
  }
  EXPECT_EQ(Trial::Open(folder / "run").Steps(), std::vector<int64_t>{0});
}

TEST(Hook, AnErrorAtTheEndOfAScopeIsKeptForFlush) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  {
    const StepGuard step = hook.Step();
    hook.Save("loss", 1.0);
    hook.EndStep();  // so that the end of the guard fails
  }
  EXPECT_EQ(CodeOf([&] { hook.Flush(); }), SMD_WRONG_STATE);
  hook.Flush(std::chrono::seconds(10));
  hook.Close();
}

// ---- the rest ----

TEST(Hook, SavesScalarsAndCustomTensors) {
  const Folder folder;
  const Trial trial = Recorded(folder / "run", [](Hook &hook) {
    hook.SaveScalar("rate", 0.25);
    hook.SaveScalar("epoch", 3, 1.6e9);
    hook.SaveCustom("odd", std::vector<float>{1, 2}, {"mine", "others"});
    hook.SaveCustom("plain", 1.0F);
  });
  EXPECT_EQ(trial.Tensor("scalar/rate").Value(0).ToDouble(), 0.25);
  EXPECT_THAT(trial.Collection("mine").Tensors(), ElementsAre("odd"));
  EXPECT_TRUE(trial.Collection("default").Has("plain"));
}

TEST(Hook, SharesItsCollections) {
  const Folder folder;
  HookOptions options;
  const Collection mine("mine");
  options.Set("out_dir", folder / "run").Set("include_collections", "mine,third");
  options.AddCollection(mine).IncludeRegex("never");
  options.SetSaveConfig(SaveConfig::Every(1));
  options.SetReductionConfig(ReductionConfig().Add("mean"));
  Hook hook(options);
  Collection third("third");
  third.Include("^t");
  hook.AddCollection(third);
  EXPECT_EQ(CodeOf([&] { hook.Collection("other"); }), SMD_NOT_FOUND);
  hook.EnsureCollection("other").Include("^nothing");
  hook.Collection("mine").Include("^w");
  EXPECT_TRUE(mine.Has("weight"));
  EXPECT_THAT(hook.Collections(), ::testing::Contains("third"));
  hook.ExportCollections();
  EXPECT_TRUE(hook.IsRecording());
  {
    const StepGuard step = hook.Step();
    EXPECT_TRUE(hook.Wants("weight") && hook.Wants("third") && !hook.Wants("other"));
    hook.Save("weight", 1.0);
  }
  hook.Close();
  EXPECT_EQ(hook.Count("steps_written"), 1);
  EXPECT_EQ(hook.Count("unknown"), -1);
  const Tensor weight = Trial::Open(folder / "run").Tensor("weight");
  EXPECT_THAT(weight.Reductions(0), ElementsAre("mean"));
  EXPECT_EQ(CodeOf<ValueUnavailable>([&] { weight.Value(0); }), SMD_VALUE_UNAVAILABLE);
}

TEST(Hook, DlpackGoesThrough) {
  const Folder folder;
  RecordSteps(folder / "first", 1);
  const Value value = Trial::Open(folder / "first").Tensor("w").Value(0);
  const Trial again = Recorded(folder / "second", [&](Hook &hook) {
    hook.SaveDlpack("w", value.ToDlpack());
    EXPECT_EQ(CodeOf([&] { hook.SaveDlpack("w", nullptr); }), SMD_INVALID_ARGUMENT);
  });
  EXPECT_THAT(again.Tensor("w").Shape(0), ElementsAre(2, 3));
}

TEST(Hook, TensorsMayComeLate) {
  const Folder folder;
  const std::vector<float> elements = {1, 2};
  const View view(elements.data(), {2});
  {
    Hook hook(EveryStep(folder / "run"));
    EXPECT_EQ(CodeOf([&] { hook.Expect("w"); }), SMD_WRONG_STATE);
    const int64_t step = hook.BeginStep();
    EXPECT_EQ(hook.Expect("w"), static_cast<uint32_t>(SMD_WANTS_VALUE));
    EXPECT_NE(hook.Expect("v"), 0U);
    EXPECT_NE(hook.Expect("u"), 0U);
    hook.EndStep();
    hook.SaveLate("w", step, view);
    EXPECT_EQ(CodeOf([&] { hook.SaveLate("w", step, view); }), SMD_WRONG_STATE);
    const Statistics statistics(DType::kFloat32, {2});
    EXPECT_EQ(CodeOf([&] { hook.SaveLateStatistics("v", step, statistics); }), SMD_UNSUPPORTED);
    hook.Forgo("v", step);
    RecordSteps(folder / "other", 1);
    const Value value = Trial::Open(folder / "other").Tensor("w").Value(0);
    hook.SaveLateDlpack("u", step, value.ToDlpack());
    hook.Close();
  }
  const Trial trial(folder / "run");
  EXPECT_THAT(trial.Tensor("w").Shape(0), ElementsAre(2));
  EXPECT_THROW(trial.Tensor("v"), TensorUnavailable);
}

TEST(Hook, ErrorsSayWhatIsWrong) {
  const Folder folder;
  try {
    HookOptions().Set("out_dri", "x");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.Code(), SMD_INVALID_ARGUMENT);
    EXPECT_STREQ(error.CodeName(), "INVALID_ARGUMENT");
    EXPECT_NE(std::string(error.what()).find("out_dir"), std::string::npos);
    EXPECT_FALSE(error.IsRetryable());
    EXPECT_EQ(error.Detail("step"), std::nullopt);
  }
  RecordSteps(folder / "run", 1);
  EXPECT_EQ(CodeOf([&] { Hook again(EveryStep(folder / "run")); }), SMD_TRIAL_EXISTS);
  EXPECT_EQ(CodeOf([&] { HookOptions().Set("out_dir", std::string("a\0b", 3)); }),
            SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([] { HookOptions().Set(nullptr, "x"); }), SMD_INVALID_ARGUMENT);
}

TEST(Hook, ManyThreadsSaveIntoOneStep) {
  const Folder folder;
  const Trial trial = Recorded(folder / "run", [](Hook &hook) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&hook, i] {
        for (int j = 0; j < 25; ++j) hook.Save("w" + std::to_string(i * 25 + j), j);
      });
    }
    for (std::thread &thread : threads) thread.join();
  });
  EXPECT_EQ(trial.TensorNames().size(), 100U);
}

}  // namespace
}  // namespace smdebug
