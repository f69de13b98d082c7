#include "aws/retry.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>

#include "base/strings.h"

namespace smdebug::aws {
namespace {

constexpr int kTransientCost = 14;
constexpr int kThrottlingCost = 5;
constexpr int kRefundWithoutRetry = 1;
constexpr Clock::Duration kMostBeyond = std::chrono::seconds(5);
constexpr int kMostAttempts = 100;

constexpr std::string_view kThrottlingCodes[] = {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
};

constexpr std::string_view kTransientCodes[] = {
    "IDPCommunicationError",   "InternalError",      "RequestTimeout",
    "RequestTimeoutException", "ServiceUnavailable",
};

bool Holds(std::span<const std::string_view> codes, std::string_view code) {
  return std::ranges::find(codes, code) != codes.end();
}

int CostOf(RetryKind kind) {
  return kind == RetryKind::kThrottling ? kThrottlingCost : kTransientCost;
}

}  // namespace

RetryKind Classify(int http_status, std::string_view service_code) {
  if (Holds(kThrottlingCodes, service_code)) return RetryKind::kThrottling;
  if (Holds(kTransientCodes, service_code)) return RetryKind::kTransient;
  switch (http_status) {
    case 429: return RetryKind::kThrottling;
    case 500:
    case 502:
    case 503:
    case 504: return RetryKind::kTransient;
    default: return RetryKind::kNone;
  }
}

RetryKind Classify(const Status &status) {
  switch (status.GetCode()) {
    case Code::kNetwork:
    case Code::kTimeout: return RetryKind::kTransient;
    case Code::kThrottled: return RetryKind::kThrottling;
    default: return RetryKind::kNone;
  }
}

std::optional<Clock::Duration> RetryAfter(const net::Response &response) {
  const std::string *text = response.Find("x-amz-retry-after");
  if (text == nullptr) return {};
  const std::optional<int64_t> milliseconds = ParseInt(*text);
  constexpr int64_t kOneHour = 3'600'000;
  if (!milliseconds || *milliseconds < 0 || *milliseconds > kOneHour) return {};
  return std::chrono::milliseconds(*milliseconds);
}

bool RetryBudget::Take(RetryKind kind) {
  const MutexLock lock(mutex_);
  if (left_ < CostOf(kind)) return false;
  left_ -= CostOf(kind);
  return true;
}

void RetryBudget::Refund(RetryKind last_retry) {
  const int refund = last_retry == RetryKind::kNone ? kRefundWithoutRetry : CostOf(last_retry);
  const MutexLock lock(mutex_);
  left_ = std::min(left_ + refund, kCapacity);
}

int RetryBudget::Left() const {
  const MutexLock lock(mutex_);
  return left_;
}

Result<RetryPolicy> RetryPolicyFrom(const Variables &variables) {
  RetryPolicy policy;
  const std::optional<std::string> text = variables.Find("AWS_MAX_ATTEMPTS");
  if (!text) return policy;
  const std::optional<int64_t> number = ParseInt(*text);
  if (!number || *number < 1 || *number > kMostAttempts) {
    return InvalidConfig(StrCat("environment variable AWS_MAX_ATTEMPTS: '", *text,
                                "' is not a whole number from 1 to ", kMostAttempts));
  }
  policy.max_attempts = static_cast<int>(*number);
  return policy;
}

RandomSource SystemRandom() {
  struct State {
    Mutex mutex;
    std::minstd_rand generator{std::random_device()()};
  };
  return [state = std::make_shared<State>()] {
    const MutexLock lock(state->mutex);
    return std::uniform_real_distribution<double>()(state->generator);
  };
}

std::optional<Clock::Duration> Retries::Next(RetryKind kind, std::optional<Clock::Duration> asked) {
  if (kind == RetryKind::kNone || attempts_ >= policy_.max_attempts) return {};
  if (!budget_.Take(kind)) return {};
  const Clock::Duration base =
      kind == RetryKind::kThrottling ? policy_.throttling_base : policy_.transient_base;
  // After 20 doublings any base exceeds the longest delay; more would overflow.
  const int doublings = std::min(attempts_ - 1, 20);
  const Clock::Duration most = std::min(base * (int64_t{1} << doublings), policy_.longest);
  const auto delay = std::chrono::duration_cast<Clock::Duration>(
      std::chrono::duration<double, std::nano>(most) * random_());
  ++attempts_;
  last_ = kind;
  return asked ? std::clamp(*asked, delay, delay + kMostBeyond) : delay;
}

void Pause(Clock &clock, Clock::Duration time) {
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  const Deadline end = Deadline::After(clock, time);
  while (!end.IsOver(clock)) clock.WaitFor(never, mutex, end.Left(clock));
}

}  // namespace smdebug::aws
