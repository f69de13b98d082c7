#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace smdebug::log_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void LogOneOfEach(const Logger &logger) {
  logger.Error("e");
  logger.Warning("w");
  logger.Info("i");
  logger.Debug("d");
}

std::vector<std::string> LinesAt(LogLevel level) {
  std::vector<std::string> lines;
  LogOneOfEach(
      Logger(level, [&](LogLevel, const std::string &message) { lines.push_back(message); }));
  return lines;
}

TEST(Logger, PassesLinesUpToItsLevel) {
  EXPECT_THAT(LinesAt(LogLevel::kOff), IsEmpty());
  EXPECT_THAT(LinesAt(LogLevel::kError), ElementsAre("e"));
  EXPECT_THAT(LinesAt(LogLevel::kWarning), ElementsAre("e", "w"));
  EXPECT_THAT(LinesAt(LogLevel::kInfo), ElementsAre("e", "w", "i"));
  EXPECT_THAT(LinesAt(LogLevel::kDebug), ElementsAre("e", "w", "i", "d"));
}

TEST(Logger, PassesTheLevelToTheSink) {
  std::vector<LogLevel> levels;
  LogOneOfEach(Logger(LogLevel::kDebug,
                      [&](LogLevel level, const std::string &) { levels.push_back(level); }));
  EXPECT_THAT(levels,
              ElementsAre(LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug));
}

TEST(Logger, CopiesShareTheSink) {
  int lines = 0;
  const Logger logger(LogLevel::kError, [&](LogLevel, const std::string &) { ++lines; });
  const Logger copy = logger;  // NOLINT(performance-unnecessary-copy-initialization)
  logger.Error("a");
  copy.Error("b");
  EXPECT_EQ(lines, 2);
}

TEST(Logger, WithoutASinkIsSilent) { LogOneOfEach(Logger(LogLevel::kDebug, nullptr)); }

std::string StandardErrorAt(const char *level) {
  if (level == nullptr) {
    unsetenv("SMDEBUG_LOG_LEVEL");
  } else {
    setenv("SMDEBUG_LOG_LEVEL", level, 1);
  }
  testing::internal::CaptureStderr();
  LogOneOfEach(Logger());
  unsetenv("SMDEBUG_LOG_LEVEL");
  return testing::internal::GetCapturedStderr();
}

TEST(Logger, WritesWarningsToStandardErrorByDefault) {
  EXPECT_EQ(StandardErrorAt(nullptr), "smdebug error: e\nsmdebug warning: w\n");
  EXPECT_EQ(StandardErrorAt("nonsense"), "smdebug error: e\nsmdebug warning: w\n");
  EXPECT_EQ(StandardErrorAt("off"), "");
  EXPECT_EQ(StandardErrorAt("CRITICAL"), "smdebug error: e\n");
  EXPECT_EQ(StandardErrorAt("Info"), "smdebug error: e\nsmdebug warning: w\nsmdebug info: i\n");
}

}  // namespace
}  // namespace smdebug::log_test
