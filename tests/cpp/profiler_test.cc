// Profiles: recorded, and evaluated by rules.
#include <chrono>
#include <fstream>

#include "support.h"

namespace smdebug {
namespace {

using ::testing::Contains;
using ::testing::Field;

constexpr char kStep[] = "Step:ModeKeys.TRAIN";

ProfilerOptions Into(const std::string &path) {
  ProfilerOptions options;
  options.Set("out_dir", path).SetLog(LogLevel::kError, [](LogLevel, std::string_view line) {
    ADD_FAILURE() << line;
  });
  return options;
}

TEST(ProfilerTest, RecordsEventsOfEachKind) {
  const Folder folder;
  Profiler profiler(Into(folder / "profile"));
  EXPECT_TRUE(profiler.Update());
  EXPECT_TRUE(profiler.IsActive("detailed", 3));
  EXPECT_FALSE(profiler.IsActive("nothing", 3));
  EXPECT_EQ(profiler.Setting("out_dir"), folder / "profile");
  {
    ProfilerSpan step = profiler.Span(kStep, kStep, 0);
    const ProfilerSpan moved = std::move(step);
    profiler.Begin("inner", "Forward", 0, R"({"batch": 32})");
    profiler.End("Forward");
  }
  profiler.Event("copy", "Copies", Profiler::kNoStep, profiler.Now(), 250);
  profiler.Instant("checkpoint", "Moments");
  profiler.Flush(std::chrono::seconds(30));
  profiler.Close();
  EXPECT_EQ(profiler.Count("events_written"), 4);
  EXPECT_EQ(profiler.Count("events_dropped"), 0);
  EXPECT_EQ(CodeOf([&] { profiler.Instant("late", "Moments"); }), SMD_WRONG_STATE);
  { const ProfilerSpan late = profiler.Span("late", "Forward"); }
}

TEST(ProfilerTest, FollowsAFile) {
  const Folder folder;
  const std::string config = folder / "profilerconfig.json";
  Profiler profiler = Profiler::Follow(config);
  EXPECT_FALSE(profiler.Update());
  std::ofstream(config) << R"({"ProfilingParameters": {"LocalPath": ")" << folder / "profile"
                        << R"(", "DetailedProfilingConfig": "{'StartStep': 2, 'NumSteps': 1}"}})";
  EXPECT_TRUE(profiler.Update());
  EXPECT_TRUE(profiler.IsActive("detailed", 2));
  EXPECT_FALSE(profiler.IsActive("detailed", 3));
  profiler.Close();
}

TEST(ProfilerTest, MistakesThrow) {
  const Folder folder;
  EXPECT_EQ(CodeOf([] { ProfilerOptions().Set("out_dri", "x"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([] { Profiler profiler{ProfilerOptions()}; }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { ImportTrace(folder / "none.json", folder / "profile"); }), SMD_NOT_FOUND);
}

TEST(ProfilerTest, ATraceOfAnotherProgramIsAdded) {
  const Folder folder;
  std::ofstream(folder / "trace.json")
      << R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "add", "pid": 7, "tid": 7, )"
      << R"("ts": 110, "dur": 20}]})";
  EXPECT_EQ(ImportTrace(folder / "trace.json", folder / "profile"), 1);
}

TEST(ProfilerTest, RulesReadIt) {
  const Folder folder;
  Profiler profiler(Into(folder / "profile"));
  const int64_t start = profiler.Now();
  for (int64_t step = 0; step < 60; ++step) {
    const int64_t begin = start + 10'000 * step;
    profiler.Event(kStep, kStep, step, begin, 10'000);
    profiler.Event("next", "DataLoaderIter", step, begin, 6'000);
  }
  profiler.Close();
  ProfileRules rules(folder / "profile");
  rules.Evaluate();
  EXPECT_THAT(rules.Findings(), Contains(Field(&Finding::rule, "DataLoaderStarves")));
  EXPECT_THAT(rules.Phases(), Contains(Field(&ProfilePhase::name, "data wait")));
}

}  // namespace
}  // namespace smdebug
