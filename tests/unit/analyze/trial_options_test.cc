#include "analyze/trial_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace smdebug::analyze::trial_options_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(TrialOptions, HaveTheDefaultsThatTheHeaderPromises) {
  const auto options = TrialOptions::FromEnvironment();
  ASSERT_TRUE(options.IsOk());
  EXPECT_EQ(options->name, "");
  EXPECT_EQ(options->range.first, 0);
  EXPECT_FALSE(options->range.end);
  EXPECT_EQ(options->wait, seconds(600));
  EXPECT_EQ(options->incomplete_window, 1000);
  EXPECT_EQ(options->end_delay, seconds(1));
  EXPECT_EQ(options->missing_file_retries, 100);
}

TEST(TrialOptions, AreSetByName) {
  TrialOptions options;
  const auto set = [&](std::string_view name, std::string_view value) {
    const Status status = options.Set(name, value);
    EXPECT_TRUE(status.IsOk()) << status.Message();
  };
  set("name", "my trial");
  set("first_step", "10");
  set("end_step", "20");
  set("wait_seconds", "0.5");
  set("incomplete_window", "7");
  set("end_delay_seconds", "0");
  set("missing_file_retries", "3");
  set("index_numbers", "false");
  EXPECT_EQ(options.name, "my trial");
  EXPECT_EQ(options.range.first, 10);
  EXPECT_EQ(options.range.end, 20);
  EXPECT_EQ(options.wait, milliseconds(500));
  EXPECT_EQ(options.incomplete_window, 7);
  EXPECT_EQ(options.end_delay, seconds(0));
  EXPECT_EQ(options.missing_file_retries, 3);
  EXPECT_FALSE(options.uses_index_numbers);
  EXPECT_TRUE(options.Check().IsOk());
}

TEST(TrialOptions, NameWhatIsWrong) {
  TrialOptions options;
  EXPECT_EQ(options.Set("first_step", "-1").GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(options.Set("end_step", "x").GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(options.Set("wait_seconds", "-1").GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(options.Set("wait_seconds", "nan").GetCode(), Code::kInvalidConfig);
  EXPECT_TRUE(options.Set("wait_seconds", "1e300").IsOk()) << "for ever";
  EXPECT_THAT(options.Set("incomplete_window", "many").Message(),
              HasSubstr("incomplete_window is 'many'"));
  EXPECT_THAT(options.Set("index_numbers", "maybe").Message(),
              HasSubstr("index_numbers is 'maybe'; it must be true or false"));
  const Status unknown = options.Set("wait_second", "1");
  EXPECT_EQ(unknown.GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(unknown.Message(), HasSubstr("did you mean 'wait_seconds'?"));
}

TEST(TrialOptions, ARangeHoldsAStepAtLeast) {
  TrialOptions options;
  options.range = {10, 10};
  EXPECT_EQ(options.Check().GetCode(), Code::kInvalidConfig);
  options.range = {10, 11};
  EXPECT_TRUE(options.Check().IsOk());
}

TEST(TrialOptions, TakeTheEnvironmentsDefaults) {
  setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "5", 1);
  setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "6", 1);
  setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "7", 1);
  setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "8", 1);
  const auto options = TrialOptions::FromEnvironment();
  setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "soon", 1);
  const Status refused = TrialOptions::FromEnvironment().GetStatus();
  for (const char *name :
       {"SMDEBUG_TRIAL_WAIT_SECONDS", "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW",
        "SMDEBUG_TRAINING_END_DELAY_REFRESH", "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT"}) {
    unsetenv(name);
  }
  ASSERT_TRUE(options.IsOk());
  EXPECT_EQ(options->wait, seconds(5));
  EXPECT_EQ(options->incomplete_window, 6);
  EXPECT_EQ(options->end_delay, seconds(7));
  EXPECT_EQ(options->missing_file_retries, 8);
  EXPECT_EQ(refused.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(refused.Message(), HasSubstr("SMDEBUG_TRAINING_END_DELAY_REFRESH"));
}

}  // namespace
}  // namespace smdebug::analyze::trial_options_test
