// Tests that no object leaks memory, even if an exception was thrown.
#include <unistd.h>

#include "support.h"

namespace smdebug {
namespace {

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void MakeOneOfEach(const std::string &path, const std::string &out_dir) {
  const SaveConfig config = SaveConfig::Every(2);
  Collection collection("mine");
  collection.Include("^w").SetSaveConfig(config);
  HookOptions options;
  options.Set("out_dir", out_dir).SetSaveConfig(config).AddCollection(collection);
  options.SetLog(LogLevel::kError, [out_dir](LogLevel, std::string_view) {});
  Hook hook(options);
  const Trial trial(path);
  const Tensor tensor = trial.Tensor("w");
  const Value mean = tensor.Value(0).Reduce("mean");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient").Evaluate(trial);
  set.Reset();
  hook.Attach(set);
  EXPECT_EQ(set.Results().size() + hook.TakeFindings().size(), 1U);
  EXPECT_THROW(trial.Tensor("missing"), TensorUnavailable);
  EXPECT_THROW(HookOptions().Set("unknown", "x"), Error);
}

void ThrowOutOfARule(const Trial &trial) {
  RuleSet set(Profile::kAws);
  set.AddFunction("Throws", [](RuleStep &) { throw std::runtime_error("x"); });
  EXPECT_THROW(set.Evaluate(trial, 0, 1), std::runtime_error);
}

// Under sanitizers, whose own memory grows, the leak checker decides.
TEST(Memory, StaysFlat) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kCycles = 300;
#else
  constexpr int kCycles = 20000;
#endif
  const Folder folder;
  RecordSteps(folder / "run", 1);
  const std::string path = folder / "run";
  const std::string out_dir = folder / "out";
  const Trial trial(path);
  const auto cycle = [&](int i) {
    MakeOneOfEach(path, out_dir);
    if (i % 10 == 0) ThrowOutOfARule(trial);
  };
  for (int i = 0; i < kCycles / 100; ++i) cycle(i);
  const size_t before = ResidentBytes();
  for (int i = 0; i < kCycles; ++i) cycle(i);
  const size_t after = ResidentBytes();
  RecordProperty("grown_kib", static_cast<int>(after > before ? (after - before) / 1024 : 0));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(after, before + (size_t{2} << 20));
#endif
}

}  // namespace
}  // namespace smdebug
