// Owners: moved, destroyed in any order and on any thread.
#include <thread>

#include "smdebug/cpp/sys/files.hpp"
#include "support.h"

namespace smdebug {
namespace {

template <class T>
constexpr bool kIsOwner =
    std::is_nothrow_move_constructible_v<T> && !std::is_copy_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T> && !std::is_copy_assignable_v<T>;

static_assert(kIsOwner<Hook> && kIsOwner<HookOptions> && kIsOwner<Trial> && kIsOwner<TrialOptions>);
static_assert(kIsOwner<Tensor> && kIsOwner<Value> && kIsOwner<SaveConfig>);
static_assert(kIsOwner<ReductionConfig> && kIsOwner<Collection> && kIsOwner<StepFile>);
static_assert(kIsOwner<EventFile> && kIsOwner<RuleSet>);
static_assert(std::is_nothrow_copy_constructible_v<Error>);

TEST(Lifetime, WhatWasMovedFromAnswersWithAnError) {
  const Folder folder;
  RecordSteps(folder / "run", 1);
  Trial trial(folder / "run");
  Tensor tensor = trial.Tensor("w");
  Value value = tensor.Value(0);
  Hook hook(EveryStep(folder / "other"));
  Collection collection("mine");
  SaveConfig config;
  RuleSet set(Profile::kAws);
  const Trial new_trial = std::move(trial);
  const Tensor new_tensor = std::move(tensor);
  const Value new_value = std::move(value);
  const Hook new_hook = std::move(hook);
  const Collection new_collection = std::move(collection);
  const SaveConfig new_config = std::move(config);
  const RuleSet new_set = std::move(set);
  // NOLINTBEGIN(bugprone-use-after-move): what this test is about
  EXPECT_EQ(CodeOf([&] { trial.Steps(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { tensor.Value(0); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { value.ToDouble(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { value.As<float>(); }), SMD_UNSUPPORTED);
  EXPECT_EQ(CodeOf([&] { hook.Save("w", 1.0); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { (void)hook.Step(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { hook.Close(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { collection.Include("w"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { config.Set(Mode::kAny, 1); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.Add("VanishingGradient"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.AddFunction("own", [](RuleStep &) {}); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.Evaluate(new_trial); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.Results(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { hook.TakeFindings(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(hook.LastAction(), Action::kContinue);
  EXPECT_EQ(trial.Name() + trial.Path() + tensor.Name() + collection.Name(), "");
  EXPECT_TRUE(value.Shape().empty());
  EXPECT_FALSE(hook.IsRecording());
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(new_value.As<float>().size(), 6U);
}

TEST(Lifetime, AnyOrderAndAnyThread) {
  const Folder folder;
  RecordSteps(folder / "run", 1);
  for (int order = 0; order < 6; ++order) {
    auto trial = std::make_unique<Trial>(folder / "run");
    auto tensor = std::make_unique<Tensor>(trial->Tensor("w"));
    auto value = std::make_unique<Value>(tensor->Value(0));
    const auto free_one = [&](int which) {
      if (which == 0) trial.reset();
      if (which == 1) tensor.reset();
      if (which == 2) value.reset();
    };
    const int first = order % 3;
    const int second = (first + 1 + order / 3) % 3;
    std::thread([&] { free_one(first); }).join();
    free_one(second);
    std::thread([&] { free_one(3 - first - second); }).join();
  }
}

}  // namespace
}  // namespace smdebug
