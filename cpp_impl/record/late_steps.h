// Holds the steps that ended but wait: for late tensors, or for earlier steps that do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "record/open_step.h"
#include "record/pending_values.h"

namespace smdebug::record {

struct LateStep {
  std::unique_ptr<OpenStep> step;  // open
  PendingValues values;            // the scalars and custom tensors that belong to it
};

// Thread safety: one thread at a time.
class LateSteps {
 public:
  // A job whose tensors never come must not fill the memory.
  static constexpr size_t kMost = 16;

  bool IsEmpty() const { return steps_.empty(); }
  bool IsFull() const { return steps_.size() >= kMost; }
  // Requires !IsEmpty().
  LateStep &Oldest() { return steps_.front(); }
  // Returns NULL if that step does not wait.
  OpenStep *Find(int64_t global_step);

  // Adds the step that is open in `*open`, which gets an object without a step.  If it throws
  // std::bad_alloc, changes nothing.
  LateStep &Add(std::unique_ptr<OpenStep> *open);
  void RemoveOldest() noexcept;

 private:
  std::deque<LateStep> steps_;                    // in their order
  std::vector<std::unique_ptr<OpenStep>> spare_;  // without steps, kept for their memory
};

}  // namespace smdebug::record
