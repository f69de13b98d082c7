#include "aws/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/fake_clock.h"

namespace smdebug::aws::retry_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Optional;

const RandomSource kAlmostOne = [] { return 1.0; };

TEST(ClassifyTest, AnswersByCodeThenStatus) {
  for (const int status : {500, 502, 503, 504}) {
    EXPECT_EQ(Classify(status, ""), RetryKind::kTransient);
  }
  EXPECT_EQ(Classify(503, "SlowDown"), RetryKind::kThrottling);
  EXPECT_EQ(Classify(400, "ThrottlingException"), RetryKind::kThrottling);
  EXPECT_EQ(Classify(400, "RequestLimitExceeded"), RetryKind::kThrottling);
  EXPECT_EQ(Classify(429, ""), RetryKind::kThrottling);
  EXPECT_EQ(Classify(400, "RequestTimeout"), RetryKind::kTransient);
  EXPECT_EQ(Classify(200, "InternalError"), RetryKind::kTransient);
  for (const int status : {200, 301, 400, 403, 404, 409, 412, 501}) {
    EXPECT_EQ(Classify(status, ""), RetryKind::kNone);
  }
  EXPECT_EQ(Classify(403, "AccessDenied"), RetryKind::kNone);
  EXPECT_EQ(Classify(400, "ExpiredToken"), RetryKind::kNone);
}

TEST(ClassifyTest, ExchangesWithoutAnAnswer) {
  EXPECT_EQ(Classify(Status(Code::kNetwork, "")), RetryKind::kTransient);
  EXPECT_EQ(Classify(Status(Code::kTimeout, "")), RetryKind::kTransient);
  EXPECT_EQ(Classify(Status(Code::kThrottled, "")), RetryKind::kThrottling);
  for (const Code code : {Code::kTls, Code::kCorruptData, Code::kAfterFork, Code::kCredentials}) {
    EXPECT_EQ(Classify(Status(code, "")), RetryKind::kNone);
  }
  EXPECT_EQ(Classify(Status::Ok()), RetryKind::kNone);
}

TEST(RetryAfterTest, MillisecondsOrNothing) {
  const auto asked = [](const char *text) {
    net::Response response;
    response.headers.push_back({"x-amz-retry-after", text});
    return RetryAfter(response);
  };
  EXPECT_THAT(asked("1500"), Optional(milliseconds(1500)));
  for (const char *text :
       {"", "-1", "soon", "1.5", "9223372036854775807", "99999999999999999999"}) {
    EXPECT_EQ(asked(text), std::nullopt) << text;
  }
  EXPECT_EQ(RetryAfter({}), std::nullopt);
}

TEST(RetriesTest, ThreeAttemptsWithDoublingDelays) {
  const RetryPolicy policy;
  RetryBudget budget;
  Retries retries(policy, budget, kAlmostOne);
  EXPECT_THAT(retries.Next(RetryKind::kTransient), Optional(milliseconds(50)));
  EXPECT_THAT(retries.Next(RetryKind::kThrottling), Optional(seconds(2)));
  EXPECT_EQ(retries.Next(RetryKind::kTransient), std::nullopt);
  EXPECT_EQ(retries.Attempts(), 3);
}

TEST(RetriesTest, NoDelayIsLongerThanTwentySeconds) {
  RetryPolicy policy;
  policy.max_attempts = 100;
  RetryBudget budget;
  Retries retries(policy, budget, kAlmostOne);
  std::optional<Clock::Duration> delay;
  for (int i = 0; i < 35; ++i) delay = retries.Next(RetryKind::kTransient);
  EXPECT_THAT(delay, Optional(seconds(20)));
}

TEST(RetriesTest, TheDelayIsRandom) {
  const RetryPolicy policy;
  RetryBudget budget;
  const RandomSource quarter = [] { return 0.25; };
  Retries retries(policy, budget, quarter);
  EXPECT_THAT(retries.Next(RetryKind::kThrottling), Optional(milliseconds(250)));
}

TEST(RetriesTest, DoesNotRetryPermanentFailures) {
  const RetryPolicy policy;
  RetryBudget budget;
  Retries retries(policy, budget, kAlmostOne);
  EXPECT_EQ(retries.Next(RetryKind::kNone), std::nullopt);
  EXPECT_EQ(budget.Left(), RetryBudget::kCapacity);
}

TEST(RetriesTest, TheServerExtendsTheDelayByAtMostFiveSeconds) {
  const RetryPolicy policy;
  RetryBudget budget;
  const auto delay = [&](Clock::Duration asked) {
    return *Retries(policy, budget, kAlmostOne).Next(RetryKind::kTransient, asked);
  };
  EXPECT_EQ(delay(milliseconds(0)), milliseconds(50));
  EXPECT_EQ(delay(milliseconds(700)), milliseconds(700));
  EXPECT_EQ(delay(seconds(60)), milliseconds(5050));
}

TEST(RetryBudgetTest, CostsAndRefunds) {
  const RetryPolicy policy;
  RetryBudget budget;
  Retries transient(policy, budget, kAlmostOne);
  ASSERT_TRUE(transient.Next(RetryKind::kTransient));
  EXPECT_EQ(budget.Left(), 486);
  transient.Succeeded();
  EXPECT_EQ(budget.Left(), 500);

  Retries throttled(policy, budget, kAlmostOne);
  ASSERT_TRUE(throttled.Next(RetryKind::kTransient));
  ASSERT_TRUE(throttled.Next(RetryKind::kThrottling));
  EXPECT_EQ(budget.Left(), 481);
  throttled.Succeeded();
  EXPECT_EQ(budget.Left(), 486);

  Retries at_once(policy, budget, kAlmostOne);
  at_once.Succeeded();
  EXPECT_EQ(budget.Left(), 487);
}

// In a total outage the budget bounds the retries of all requests together.
TEST(RetryBudgetTest, IsUsedUpInAnOutage) {
  const RetryPolicy policy;
  RetryBudget budget;
  int retried = 0;
  for (int request = 0; request < 1000; ++request) {
    Retries retries(policy, budget, kAlmostOne);
    while (retries.Next(RetryKind::kTransient)) ++retried;
  }
  EXPECT_EQ(retried, 500 / 14);
  EXPECT_LT(budget.Left(), 14);
}

TEST(RetryPolicyTest, AttemptsFromTheEnvironment) {
  EXPECT_EQ(RetryPolicyFrom(Variables())->max_attempts, 3);
  EXPECT_EQ(RetryPolicyFrom(Variables::Of({{"AWS_MAX_ATTEMPTS", " 7 "}}))->max_attempts, 7);
  for (const char *text : {"0", "-1", "101", "x", "99999999999999999999"}) {
    const Status status = RetryPolicyFrom(Variables::Of({{"AWS_MAX_ATTEMPTS", text}})).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << text;
    EXPECT_THAT(status.Message(), HasSubstr("AWS_MAX_ATTEMPTS"));
  }
}

TEST(PauseTest, BlocksForTheGivenTime) {
  FakeClock clock;
  const Clock::Duration before = clock.Monotonic();
  Pause(clock, milliseconds(30));
  EXPECT_EQ(clock.Monotonic() - before, milliseconds(30));
}

TEST(RandomTest, IsBelowOneAndVaries) {
  const RandomSource random = SystemRandom();
  const double first = random();
  bool varies = false;
  for (int i = 0; i < 100; ++i) {
    const double number = random();
    EXPECT_GE(number, 0);
    EXPECT_LT(number, 1);
    varies = varies || number != first;
  }
  EXPECT_TRUE(varies);
}

}  // namespace
}  // namespace smdebug::aws::retry_test
