#include "storage/store_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/aws_environment.h"

namespace smdebug::storage::store_options_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class StoreOptionsTest : public testing::Test {
 protected:
  Code Set(std::string_view name, std::string_view value) {
    const Status status = options_.Set(name, value);
    message_ = status.Message();
    return status.GetCode();
  }

  AwsEnvironment environment_;
  StoreOptions options_;
  std::string message_;
};

TEST_F(StoreOptionsTest, KnowsItsNames) {
  EXPECT_THAT(StoreOptions::Names(),
              ElementsAre("s3_access_key", "s3_secret_key", "s3_session_token", "s3_profile",
                          "s3_region", "s3_endpoint", "s3_addressing", "s3_ca_bundle",
                          "s3_sign_payload", "s3_max_attempts", "s3_connect_seconds",
                          "s3_first_byte_seconds", "s3_stall_seconds"));
  for (const std::string_view name : StoreOptions::Names()) {
    EXPECT_TRUE(StoreOptions::IsName(name)) << name;
  }
  EXPECT_TRUE(StoreOptions::IsName("s3_unknown"));
  EXPECT_FALSE(StoreOptions::IsName("save_interval"));
}

TEST_F(StoreOptionsTest, TakesTexts) {
  const std::pair<const char *, std::string StoreOptions::*> texts[] = {
      {"s3_access_key", &StoreOptions::access_key},
      {"s3_secret_key", &StoreOptions::secret_key},
      {"s3_session_token", &StoreOptions::session_token},
      {"s3_profile", &StoreOptions::profile},
      {"s3_region", &StoreOptions::region},
      {"s3_endpoint", &StoreOptions::endpoint},
      {"s3_ca_bundle", &StoreOptions::ca_bundle}};
  for (const auto &[name, member] : texts) {
    EXPECT_EQ(options_.*member, "");
    EXPECT_EQ(Set(name, name), Code::kOk);
    EXPECT_EQ(options_.*member, name);
    EXPECT_EQ(Set(name, ""), Code::kOk);
    EXPECT_EQ(options_.*member, "");
  }
}

TEST_F(StoreOptionsTest, TakesTheKindsOfAddressing) {
  for (const char *kind : {"auto", "virtual", "path"}) {
    EXPECT_EQ(Set("s3_addressing", kind), Code::kOk);
    EXPECT_EQ(options_.addressing, kind);
  }
  for (const char *kind : {"", "Path", "paths"}) {
    EXPECT_EQ(Set("s3_addressing", kind), Code::kInvalidConfig) << kind;
  }
  EXPECT_EQ(message_, "s3_addressing is 'paths'; it must be 'auto', 'virtual' or 'path'");
  EXPECT_EQ(options_.addressing, "path");
}

TEST_F(StoreOptionsTest, TakesTrueAndFalse) {
  EXPECT_TRUE(options_.signs_payload);
  EXPECT_EQ(Set("s3_sign_payload", "false"), Code::kOk);
  EXPECT_FALSE(options_.signs_payload);
  EXPECT_EQ(Set("s3_sign_payload", "maybe"), Code::kInvalidConfig);
  EXPECT_THAT(message_, HasSubstr("true or false"));
  EXPECT_EQ(Set("s3_sign_payload", "True"), Code::kOk);
  EXPECT_TRUE(options_.signs_payload);
}

TEST_F(StoreOptionsTest, TakesANumberOfAttempts) {
  EXPECT_EQ(options_.max_attempts, 0);
  for (const int number : {1, 100}) {
    EXPECT_EQ(Set("s3_max_attempts", std::to_string(number)), Code::kOk);
    EXPECT_EQ(options_.max_attempts, number);
  }
  for (const char *number : {"", "0", "-1", "101", "2.5", "x", "99999999999999999999"}) {
    EXPECT_EQ(Set("s3_max_attempts", number), Code::kInvalidConfig) << number;
  }
}

TEST_F(StoreOptionsTest, TakesSeconds) {
  const std::pair<const char *, Clock::Duration StoreOptions::*> times[] = {
      {"s3_connect_seconds", &StoreOptions::connect_time},
      {"s3_first_byte_seconds", &StoreOptions::first_byte_time},
      {"s3_stall_seconds", &StoreOptions::stall_time}};
  for (const auto &[name, member] : times) {
    EXPECT_EQ(options_.*member, Clock::Duration::zero());
    EXPECT_EQ(Set(name, "0.25"), Code::kOk);
    EXPECT_EQ(options_.*member, milliseconds(250));
    EXPECT_EQ(Set(name, "3600"), Code::kOk);
    for (const char *time : {"", "0", "-1", "3600.1", "nan", "inf", "-inf", "1s", "1e300"}) {
      EXPECT_EQ(Set(name, time), Code::kInvalidConfig) << time;
    }
    EXPECT_EQ(options_.*member, seconds(3600));
  }
}

TEST_F(StoreOptionsTest, SuggestsANameForOneThatIsUnknown) {
  EXPECT_EQ(Set("s3_regoin", "x"), Code::kInvalidArgument);
  EXPECT_EQ(message_, "there is no option 's3_regoin'; did you mean 's3_region'?");
  EXPECT_EQ(Set(std::string(1 << 20, 'x'), "x"), Code::kInvalidArgument);
  EXPECT_LT(message_.size(), 200U);
}

TEST_F(StoreOptionsTest, SaysNoSecret) {
  EXPECT_EQ(Set("s3_secretkey", "HUSH"), Code::kInvalidArgument);
  EXPECT_THAT(message_, Not(HasSubstr("HUSH")));
}

TEST_F(StoreOptionsTest, HasTheEnvironmentForWhatWasNotGiven) {
  environment_.Set("SMDEBUG_S3_REGION", "eu-west-1");
  environment_.Set("SMDEBUG_S3_ENDPOINT", "http://environment");
  environment_.Set("SMDEBUG_S3_SIGN_PAYLOAD", "false");
  environment_.Set("SMDEBUG_S3_MAX_ATTEMPTS", "7");
  environment_.Set("SMDEBUG_S3_FIRST_BYTE_SECONDS", "2");
  environment_.Set("SMDEBUG_S3_PROFILE", "");
  EXPECT_EQ(Set("s3_endpoint", "http://given"), Code::kOk);
  EXPECT_EQ(Set("s3_sign_payload", "true"), Code::kOk);
  const auto all = options_.WithEnvironment();
  ASSERT_TRUE(all.IsOk());
  EXPECT_EQ(all->region, "eu-west-1");
  EXPECT_EQ(all->endpoint, "http://given");
  EXPECT_TRUE(all->signs_payload) << "given, although it is the default";
  EXPECT_EQ(all->max_attempts, 7);
  EXPECT_EQ(all->first_byte_time, seconds(2));
  EXPECT_EQ(all->profile, "");
  EXPECT_EQ(options_.region, "") << "the options themselves stay";
}

TEST_F(StoreOptionsTest, NamesTheVariableThatIsWrong) {
  environment_.Set("SMDEBUG_S3_STALL_SECONDS", "soon");
  const auto all = options_.WithEnvironment();
  EXPECT_EQ(all.GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(all.GetStatus().Message(), HasSubstr("SMDEBUG_S3_STALL_SECONDS is 'soon'"));
  EXPECT_EQ(Set("s3_stall_seconds", "1"), Code::kOk);
  EXPECT_TRUE(options_.WithEnvironment().IsOk()) << "it is not looked at";
}

}  // namespace
}  // namespace smdebug::storage::store_options_test
