// Decides whether and when to retry: the "standard" retry mode of AWS.
// Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "aws/variables.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/http.h"

namespace smdebug::aws {

enum class RetryKind { kNone, kTransient, kThrottling };

// Classifies an answer; `service_code` is the <Code> of its body, or empty.
RetryKind Classify(int http_status, std::string_view service_code);
// Classifies an exchange without an answer, or an answer converted to a Status.
RetryKind Classify(const Status &status);

// Returns the delay that the server requests in x-amz-retry-after, if any.
std::optional<Clock::Duration> RetryAfter(const net::Response &response);

// Limits the retries of all requests of one client together.  When a service is down, the
// budget is soon used up, and its clients stop adding to the load.  Safe from any thread.
class RetryBudget {
 public:
  static constexpr int kCapacity = 500;

  // Returns false if too little is left.
  bool Take(RetryKind kind);
  // Call after a success.  Returns to the budget the cost of the request's last retry, or a
  // small amount if it had no retry.
  void Refund(RetryKind last_retry);
  int Left() const;

 private:
  mutable Mutex mutex_;
  int left_ SMD_GUARDED_BY(mutex_) = kCapacity;
};

struct RetryPolicy {
  int max_attempts = 3;
  Clock::Duration transient_base = std::chrono::milliseconds(50);
  Clock::Duration throttling_base = std::chrono::seconds(1);
  Clock::Duration longest = std::chrono::seconds(20);
};

// Returns the policy with AWS_MAX_ATTEMPTS applied.  Fails with INVALID_CONFIG if that is not
// a number from 1 to 100.
Result<RetryPolicy> RetryPolicyFrom(const Variables &variables);

// Returns numbers in [0, 1).  Safe from any thread.
using RandomSource = std::function<double()>;
RandomSource SystemRandom();

// The attempts of one request.  Only one thread may use it.  The constructor's arguments must
// outlive it.
class Retries {
 public:
  Retries(const RetryPolicy &policy, RetryBudget &budget, const RandomSource &random)
      : policy_(policy), budget_(budget), random_(random) {}

  // Call after a failed attempt.  Returns the delay before the next attempt, or nothing if
  // there must be none.  The delay of retry i (from 0) is random * min(base * 2^i, longest).
  // A delay that the server `asked` for extends it, by at most 5 s.
  std::optional<Clock::Duration> Next(RetryKind kind, std::optional<Clock::Duration> asked = {});
  void Succeeded() { budget_.Refund(last_); }

  int Attempts() const { return attempts_; }  // started so far

 private:
  const RetryPolicy &policy_;
  RetryBudget &budget_;
  const RandomSource &random_;
  RetryKind last_ = RetryKind::kNone;
  int attempts_ = 1;
};

// Blocks the thread for `time`.
void Pause(Clock &clock, Clock::Duration time);

}  // namespace smdebug::aws
