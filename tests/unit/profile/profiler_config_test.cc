#include "profile/profiler_config.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "profile/configured_profiler.h"
#include "profile/literal_json.h"
#include "storage/temporary_folder.h"

namespace smdebug::profile {
namespace profiler_config_test {

struct Read {
  ProfilerConfig config;
  std::string problems;  // one a line
};

Read Parse(std::string_view text) {
  Read read;
  config::Problems problems;
  auto parsed = ProfilerConfig::Parse(text, &problems);
  EXPECT_TRUE(parsed.IsOk()) << parsed.GetStatus().Message();
  if (parsed.IsOk()) read.config = *std::move(parsed);
  for (const config::Problem &each : problems) read.problems += StrCat(each.what, "\n");
  return read;
}

// Returns the configuration of one part, which is a literal.
Read ParsePart(std::string_view key, std::string_view literal) {
  std::string quoted;
  for (const char letter : literal) {
    if (letter == '"' || letter == '\\') quoted.push_back('\\');
    quoted.push_back(letter);
  }
  return Parse(
      StrCat(R"({"ProfilingParameters": {"LocalPath": "/p", ")", key, "\": \"", quoted, "\"}}"));
}

ProfileWindow WindowOf(const Read &read, Feature feature) {
  return read.config.windows[static_cast<size_t>(feature)];
}

// Returns the steps below 20 that the window has at this time.
std::string StepsOf(ProfileWindow window, double now = 0) {
  std::string steps;
  for (int64_t step = 0; step < 20; ++step) {
    if (window.Has(step, now)) steps += StrCat(step, " ");
  }
  return steps;
}

TEST(LiteralToJsonTest, TranslatesWhatPythonWrites) {
  EXPECT_EQ(LiteralToJson(R"({'StartStep': 5, "Name": 'a"b', })"),
            R"({"StartStep": 5, "Name": "a\"b" })");
  EXPECT_EQ(LiteralToJson(R"({'a': True, 'b': [False, None,],})"),
            R"({"a": true, "b": [false, null]})");
  EXPECT_EQ(LiteralToJson(R"({'r': '\d+\'s\\ \x41'})"), R"({"r": "\\d+'s\\ \u0041"})");
  EXPECT_EQ(LiteralToJson("{'a"), "{\"a");
  EXPECT_EQ(LiteralToJson("'\\"), "\"\\\\");
}

TEST(ProfilerConfigTest, FindsKeysInAnyCaseAndKeepsTheCaseOfValues) {
  const Read read = Parse(R"({"profilingPARAMETERS": {"localpath": "/data/MyDir/Out",
      "ROTATEMAXFILESIZEINBYTES": "10485760.0", "rotateFileCloseIntervalInSeconds": "2.5"}})");
  EXPECT_EQ(read.problems, "");
  EXPECT_TRUE(read.config.is_enabled);
  EXPECT_EQ(read.config.local_path, "/data/MyDir/Out");
  EXPECT_EQ(read.config.rotate_bytes, 10485760u);
  EXPECT_EQ(read.config.rotate_seconds, 2.5);
}

TEST(ProfilerConfigTest, IsOffUnlessParametersAreGiven) {
  EXPECT_FALSE(Parse("{}").config.is_enabled);
  EXPECT_FALSE(Parse(R"({"ProfilingParameters": {}})").config.is_enabled);
  EXPECT_FALSE(Parse(R"({"ProfilingParameters": null})").config.is_enabled);
  EXPECT_FALSE(Parse(R"({"DisableProfiler": "True", "ProfilingParameters": {"LocalPath": "/p"}})")
                   .config.is_enabled);
  EXPECT_TRUE(Parse(R"({"DisableProfiler": false, "ProfilingParameters": {"LocalPath": "/p"}})")
                  .config.is_enabled);
}

TEST(ProfilerConfigTest, ReadsWindowsOfSteps) {
  const auto steps = [](std::string_view literal) {
    const Read read = ParsePart("DetailedProfilingConfig", literal);
    EXPECT_EQ(read.problems, "") << literal;
    return StepsOf(WindowOf(read, Feature::kDetailed));
  };
  EXPECT_EQ(steps(R"({"StartStep": 5, "NumSteps": 3, })"), "5 6 7 ");
  EXPECT_EQ(steps(R"({'startstep': '5'})"), "5 ");
  EXPECT_EQ(steps(R"({'NumSteps': 2})"), "0 1 ");
  EXPECT_EQ(steps(R"({'StartStep': 0})"), "0 ");
  EXPECT_EQ(steps("{}"), "");
  EXPECT_EQ(steps(""), "");
}

TEST(ProfilerConfigTest, ReadsWindowsOfTime) {
  const auto window = [](std::string_view literal) {
    return WindowOf(ParsePart("PythonProfilingConfig", literal), Feature::kPython);
  };
  for (const char *key : {"DurationInSeconds", "Duration"}) {
    const std::string literal = StrCat("{'StartTimeInSecSinceEpoch': 100, '", key,
                                       "': 10, 'ProfilerName': 'pyinstrument'}");
    EXPECT_EQ(StepsOf(window(literal), 99.9), "");
    EXPECT_EQ(StepsOf(window(literal), 109.9).size(), 50u);
    EXPECT_EQ(StepsOf(window(literal), 110), "");
  }
  EXPECT_EQ(StepsOf(window("{'StartTimeInSecSinceEpoch': 100}"), 200), "0 ");
  ProfileWindow open = window("{'Duration': 10}");
  EXPECT_TRUE(open.Has(3, 1000));
  EXPECT_TRUE(open.Has(4, 1009));
  EXPECT_FALSE(open.Has(5, 1010));
}

TEST(ProfilerConfigTest, NamesWhatIsWrong) {
  const Read read = Parse(R"({"ProfilingParameter": {}, "ProfilingParameters": {
      "LocalPath": 5, "RotateMaxFileSizeInBytes": "many", "RotateFileCloseIntervalInSecond": 1,
      "ProfilingIntervalInMilliseconds": 300, "DetailedProfilingConfig": "[1]",
      "DataloaderProfilingConfig": "{'StartStep': 1, 'Duration': 1}",
      "PythonProfilingConfig": "{'StartStep': 'x', 'ProfilerName': 'yappi'}"}})");
  EXPECT_EQ(read.problems,
            "the document has the unknown key 'ProfilingParameter'; did you mean "
            "'ProfilingParameters'?\n"
            "ProfilingParameters has the unknown key 'RotateFileCloseIntervalInSecond'; did you "
            "mean 'RotateFileCloseIntervalInSeconds'?\n"
            "ProfilingParameters.LocalPath: expected text, found a number: 5\n"
            "ProfilingParameters.RotateMaxFileSizeInBytes: expected a number, found 'many'\n"
            "ProfilingIntervalInMilliseconds is 300; it must be 0, 100, 200, 500, 1000, 5000 or "
            "60000\n"
            "DetailedProfilingConfig is '[1]', which is no dictionary of names, numbers and texts\n"
            "DataloaderProfilingConfig has both steps and times\n"
            "PythonProfilingConfig: StartStep: expected a whole number, found 'x'\n"
            "PythonProfilingConfig: ProfilerName is 'yappi'; it must be cprofile, pyinstrument\n");
  EXPECT_EQ(StepsOf(WindowOf(read, Feature::kPython)), "");
  EXPECT_EQ(StepsOf(WindowOf(read, Feature::kDataloader)), "");
}

TEST(ProfilerConfigTest, EvaluatesNothing) {
  const Read read =
      ParsePart("DetailedProfilingConfig", "__import__('os').system('touch /tmp/evaluated')");
  EXPECT_NE(read.problems.find("DetailedProfilingConfig is '__import__('os')"), std::string::npos);
  EXPECT_TRUE(read.config.is_enabled);
}

TEST(ProfilerConfigTest, SelectsMetricsByTheirBeginning) {
  const Read read = ParsePart("DataloaderProfilingConfig",
                              R"({'StartStep': 1, 'MetricsRegex': 'DataLoader\w+', })");
  EXPECT_EQ(read.problems, "");
  EXPECT_EQ(read.config.metrics_regex, R"(DataLoader\w+)");
  EXPECT_TRUE(*read.config.metrics->IsFoundIn("dataloaderIter"));
  EXPECT_FALSE(*read.config.metrics->IsFoundIn("MyDataLoaderIter"));
  EXPECT_NE(ParsePart("DataloaderProfilingConfig", "{'MetricsRegex': '('}")
                .problems.find("DataloaderProfilingConfig: MetricsRegex: "),
            std::string::npos);
}

class ConfiguredProfilerTest : public testing::Test {
 protected:
  void Write(std::string_view text) { folder_.Write("config.json", text); }
  std::shared_ptr<ConfiguredProfiler> Follow(ProfilerOptions options = {}) {
    options.logger = Logger(LogLevel::kInfo,
                            [this](LogLevel, const std::string &line) { lines_ += line + "\n"; });
    auto opened = ConfiguredProfiler::Follow(folder_.Path() + "/config.json", options);
    EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
    return opened.IsOk() ? *opened : nullptr;
  }
  std::string Enabled(std::string_view part = "") {
    return StrCat(R"({"ProfilingParameters": {"LocalPath": ")", folder_.Path(), "/out\"", part,
                  "}}");
  }
  static Event Step() {
    Event event;
    event.name = event.phase = "Step:ModeKeys.TRAIN";
    event.begin_us = 1'706'745'596'000'000;
    return event;
  }

  storage::TemporaryFolder folder_;
  std::string lines_;
};

TEST_F(ConfiguredProfilerTest, FollowsTheFile) {
  const auto profiler = Follow();
  EXPECT_FALSE(profiler->Update());
  EXPECT_TRUE(profiler->Add(Step()).IsOk());
  Write(Enabled(R"(, "DetailedProfilingConfig": "{'StartStep': 2}")"));
  EXPECT_TRUE(profiler->Update());
  EXPECT_TRUE(profiler->Add(Step()).IsOk());
  EXPECT_TRUE(profiler->IsActive(Feature::kDetailed, 2, ""));
  EXPECT_FALSE(profiler->IsActive(Feature::kDetailed, 3, ""));
  EXPECT_FALSE(profiler->IsActive(Feature::kPython, 2, ""));
  Write(R"({"DisableProfiler": true, "ProfilingParameters": {"LocalPath": "/p"}})");
  EXPECT_FALSE(profiler->Update());
  EXPECT_TRUE(profiler->Add(Step()).IsOk());
  EXPECT_FALSE(profiler->IsActive(Feature::kDetailed, 2, ""));
  Write(Enabled());
  EXPECT_TRUE(profiler->Update());
  EXPECT_EQ(lines_.find("LocalPath"), std::string::npos) << lines_;
  EXPECT_TRUE(profiler->Close().IsOk());
  EXPECT_EQ(profiler->Count("events_written"), 1);
  EXPECT_FALSE(profiler->Add(Step()).IsOk());
  EXPECT_FALSE(profiler->Update());
}

TEST_F(ConfiguredProfilerTest, LooksAtTheFileAsOftenAsAsked) {
  FakeClock clock;
  ProfilerOptions options;
  options.clock = &clock;
  ASSERT_TRUE(options.Set("update_seconds", "0.25").IsOk());
  const auto profiler = Follow(options);
  EXPECT_FALSE(profiler->Update());
  Write(Enabled());
  clock.Pass(std::chrono::milliseconds(249));
  EXPECT_FALSE(profiler->Update());
  clock.Pass(std::chrono::milliseconds(1));
  EXPECT_TRUE(profiler->Update());
  Write(R"({"DisableProfiler": true})");
  EXPECT_TRUE(profiler->Update());
  clock.Pass(std::chrono::milliseconds(250));
  EXPECT_FALSE(profiler->Update());
}

TEST_F(ConfiguredProfilerTest, SaysThatItKeepsItsFolder) {
  Write(Enabled());
  const auto profiler = Follow();
  Write(R"({"DisableProfiler": true})");
  EXPECT_FALSE(profiler->Update());
  Write(R"({"ProfilingParameters": {"LocalPath": "/p"}})");
  EXPECT_TRUE(profiler->Update());
  EXPECT_NE(lines_.find(StrCat("LocalPath is now '/p'; the running profiler keeps '",
                               folder_.Path(), "/out'")),
            std::string::npos)
      << lines_;
}

TEST_F(ConfiguredProfilerTest, KeepsRunningIfTheFileIsHalfWritten) {
  Write(Enabled());
  const auto profiler = Follow();
  Write(R"({"ProfilingParameters": {"Local)");
  EXPECT_TRUE(profiler->Update());
  EXPECT_TRUE(profiler->Update());
  EXPECT_EQ(lines_.find("not valid JSON"), lines_.rfind("not valid JSON"));
  EXPECT_NE(lines_.find(folder_.Path() + "/config.json: not valid JSON"), std::string::npos);
}

TEST_F(ConfiguredProfilerTest, RefusesAFileThatIsNoJson) {
  Write("profile: yes");
  const auto opened = ConfiguredProfiler::Follow(folder_.Path() + "/config.json", {});
  ASSERT_EQ(opened.GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_NE(opened.GetStatus().Message().find("/config.json: "), std::string::npos);
}

}  // namespace profiler_config_test
}  // namespace smdebug::profile
