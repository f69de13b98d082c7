// What the time of a job's steps is spent on, worker by worker.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "profile_rules/name_table.h"
#include "profile_rules/span.h"

namespace smdebug::profile_rules {

// The parts of a cycle.  Those before kDeviceBusy add up to the cycle: each moment counts for the
// innermost span of the main thread.
enum class Part : uint8_t {
  kDataWait,
  kForward,
  kBackward,
  kOptimizer,
  kCommunication,
  kCheckpoint,
  kHost,            // other named spans
  kRest,            // inside the step, in no other span
  kIdle,            // between steps, in no span
  kDeviceBusy,      // at least one kernel runs; overlaps the other parts
  kExchange,        // communication beside the main thread; overlaps the other parts
  kExposedExchange  // of that, what no computation overlaps
};
inline constexpr size_t kPartCount = 12;
inline constexpr size_t kExclusiveParts = 9;

// Returns, for example, "data wait".
std::string_view PartName(Part part);

// From the beginning of a step to that of the next one.  Times are in microseconds.
struct Cycle {
  int64_t step = -1;
  double start = 0;  // since 1970
  float length = 0;
  float step_length = 0;  // of the step's own span
  std::array<float, kPartCount> parts{};
  NameId phase = 0;  // of the step's span

  float Of(Part part) const { return parts[static_cast<size_t>(part)]; }
  float Compute() const { return Of(Part::kForward) + Of(Part::kBackward) + Of(Part::kOptimizer); }
};

struct PhaseTime {
  Category category = Category::kHost;
  int64_t count = 0;
  double self = 0;   // microseconds that no inner span has
  double total = 0;  // microseconds, with inner spans
};

// Keeps the cycles of one worker, every second of them if they become too many.  For one thread at
// a time.
class WorkerSteps {
 public:
  void Add(const Span &span) { pending_.push_back(span); }
  // Closes the cycles that later spans cannot change.  Keeps at most `most` cycles.
  void Settle(size_t most);
  // Closes the last cycle.
  void Finish(size_t most);

  const std::vector<Cycle> &Cycles() const { return cycles_; }
  int64_t CycleCount() const { return cycle_count_; }
  // Sums over all cycles, in microseconds.
  double Length() const { return length_; }
  double Sum(Part part) const { return sums_[static_cast<size_t>(part)]; }
  double ShareOf(Part part) const { return length_ > 0 ? Sum(part) / length_ : 0; }
  const std::map<NameId, PhaseTime> &Phases() const { return phases_; }
  // When the first span began, the last one ended, and the first step began, in microseconds; 0:
  // never.
  double FirstSpan() const { return first_span_; }
  double LastSpan() const { return last_span_; }
  double FirstStep() const { return first_step_; }

 private:
  void CloseUntil(size_t end, size_t most);
  void Close(const Span &step, std::span<const Span> spans, double end, size_t most);
  void Sweep(const Span &step, std::span<const Span> spans, double end, Cycle *cycle);
  void Credit(const Span &span, double time, Cycle *cycle);
  void Keep(const Cycle &cycle, size_t most);

  std::vector<Span> pending_;
  std::vector<Cycle> cycles_;
  int64_t cycle_count_ = 0;
  int64_t stride_ = 1;  // one of so many cycles is kept
  double length_ = 0;
  std::array<double, kPartCount> sums_{};
  std::map<NameId, PhaseTime> phases_;
  double first_span_ = 0;
  double last_span_ = 0;
  double first_step_ = 0;
  double last_start_ = 0;  // when the last step began
};

}  // namespace smdebug::profile_rules
