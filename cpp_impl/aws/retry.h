// When to try again, and after how long: AWS's "standard" retry mode.
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

// Of an answer; `service_code` is the <Code> of its body, or empty.
RetryKind Classify(int http_status, std::string_view service_code);
// Of an exchange that gave no answer, or of an answer made into a Status.
RetryKind Classify(const Status &status);

// What the server asks for in x-amz-retry-after, if it does.
std::optional<Clock::Duration> RetryAfter(const net::Response &response);

// How many retries all requests of one client may make together.  When a service is
// down, the budget is soon used up and its clients stop adding to the load.  Safe from
// any thread.
class RetryBudget {
 public:
  static constexpr int kCapacity = 500;

  // False if too little is left.
  bool Take(RetryKind kind);
  // After a success: gives back what its last retry took; a little, if it had none.
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

// With AWS_MAX_ATTEMPTS.  Fails with INVALID_CONFIG if that is no number from 1 to 100.
Result<RetryPolicy> RetryPolicyFrom(const Variables &variables);

// Numbers in [0, 1), from any thread.
using RandomSource = std::function<double()>;
RandomSource SystemRandom();

// The attempts of one request.  For one thread; what it is given must outlive it.
class Retries {
 public:
  Retries(const RetryPolicy &policy, RetryBudget &budget, const RandomSource &random)
      : policy_(policy), budget_(budget), random_(random) {}

  // After a failed attempt: how long to wait before the next, or nothing if there shall
  // be none.  The delay of retry i (from 0) is random * min(base * 2^i, longest); what
  // the server asked for makes it longer, by at most 5 s.
  std::optional<Clock::Duration> Next(RetryKind kind, std::optional<Clock::Duration> asked = {});
  void Succeeded() { budget_.Refund(last_); }

  int Attempts() const { return attempts_; }  // begun so far

 private:
  const RetryPolicy &policy_;
  RetryBudget &budget_;
  const RandomSource &random_;
  RetryKind last_ = RetryKind::kNone;
  int attempts_ = 1;
};

// Blocks for so long.
void Pause(Clock &clock, Clock::Duration time);

}  // namespace smdebug::aws
