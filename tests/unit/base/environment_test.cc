#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace smdebug::environment_test {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr const char *kName = "SMDEBUG_ENVIRONMENT_TEST";

class EnvironmentTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
  static void Set(const char *value) { setenv(kName, value, 1); }
};

TEST_F(EnvironmentTest, ReturnsTheText) {
  Set(" a b ");
  EXPECT_THAT(Environment(kName), Optional(std::string(" a b ")));
}

TEST_F(EnvironmentTest, EmptyCountsAsUnset) {
  EXPECT_EQ(Environment(kName), std::nullopt);
  Set("");
  EXPECT_EQ(Environment(kName), std::nullopt);
  EXPECT_EQ(*EnvironmentNumber(kName, 7), 7);
}

TEST_F(EnvironmentTest, NumbersAreWholeAndNotNegative) {
  EXPECT_EQ(*EnvironmentNumber(kName, 7), 7);
  Set("0");
  EXPECT_EQ(*EnvironmentNumber(kName, 7), 0);
  Set(" 600 ");
  EXPECT_EQ(*EnvironmentNumber(kName, 7), 600);
}

TEST_F(EnvironmentTest, RefusesOtherTextAndReportsTheVariable) {
  for (const char *value : {"-1", "1.5", "ten", "1e3", "99999999999999999999"}) {
    Set(value);
    const Status status = EnvironmentNumber(kName, 7).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << value;
    EXPECT_THAT(status.Message(), HasSubstr(kName));
    EXPECT_THAT(status.Message(), HasSubstr(value));
  }
}

}  // namespace
}  // namespace smdebug::environment_test
