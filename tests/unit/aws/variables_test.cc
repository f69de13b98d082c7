#include "aws/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace smdebug::aws::variables_test {
namespace {

using testing::Optional;

TEST(VariablesTest, CopiesTheEnvironment) {
  setenv("AWS_SMDEBUG_TEST", "a=b", 1);
  const Variables variables = Variables::OfProcess();
  unsetenv("AWS_SMDEBUG_TEST");
  EXPECT_THAT(variables.Find("AWS_SMDEBUG_TEST"), Optional(std::string("a=b")));
  EXPECT_EQ(variables.Find("PATH"), std::nullopt);
}

TEST(VariablesTest, EmptyCountsAsUnset) {
  const Variables variables = Variables::Of({{"AWS_REGION", ""}});
  EXPECT_EQ(variables.Find("AWS_REGION"), std::nullopt);
  EXPECT_EQ(variables.Find("AWS_PROFILE"), std::nullopt);
}

TEST(VariablesTest, SwitchesAreTheWordTrue) {
  const Variables variables =
      Variables::Of({{"A", "TRUE"}, {"B", "1"}, {"C", " true "}, {"D", "truely"}});
  EXPECT_TRUE(variables.IsTrue("A"));
  EXPECT_FALSE(variables.IsTrue("B"));
  EXPECT_TRUE(variables.IsTrue("C"));
  EXPECT_FALSE(variables.IsTrue("D"));
  EXPECT_FALSE(variables.IsTrue("E"));
}

TEST(VariablesTest, TheHomeFolder) {
  EXPECT_EQ(Variables::Of({{"HOME", "/h"}}).ExpandHome("~/.aws/config"), "/h/.aws/config");
  EXPECT_EQ(Variables::Of({{"HOME", "/h"}}).ExpandHome("~x/y"), "~x/y");
  EXPECT_EQ(Variables().ExpandHome("~/x"), "~/x");
}

}  // namespace
}  // namespace smdebug::aws::variables_test
