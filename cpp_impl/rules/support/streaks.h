// Counts the records of a tensor, one after the other, that a rule objects to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "rules/support/batches_per_update.h"
#include "rules/support/parameters.h"
#include "rules/support/roles.h"
#include "rules/support/sample.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_states.h"

namespace smdebug::rules {

// kUpdated: a weight or bias, which stays as it was made until the first update.
enum StreakRole : size_t { kSummed, kJudged, kUpdated };

// Tells what a rule that counts streaks needs.  Any thread.
class StreakRoles {
 public:
  // Those are the tensors that the parameters select, and `kBatchesPerUpdate` unless the rule tells
  // of the first record.  Errors: those of RequiredTensors().
  static Result<StreakRoles> Make(const Parameters &parameters, int64_t patience);

  std::optional<size_t> Of(std::string_view tensor, const Membership &membership) const;

 private:
  explicit StreakRoles(Roles roles) : roles_(std::move(roles)) {}

  Roles roles_;
};

// An update of a weight may take many records.  For one thread.
class Streaks {
 public:
  explicit Streaks(int64_t patience) : patience_(patience) {}

  // Takes a record of `kBatchesPerUpdate`.
  void AddBatches(const Sample &sample) { summed_.Of(sample.Worker(), {}).Add(sample); }

  // Takes a record of a tensor.  Returns true if it is at least the `patience`-th in a row that is
  // wrong; of a weight, if these are of as many updates.
  bool Add(const Sample &sample, bool is_wrong) {
    Streak &streak = streaks_.Of(sample);
    const int64_t step = sample.Place().step;
    const int64_t steps = step - std::exchange(streak.last, step);
    streak.records = is_wrong ? streak.records + 1 : 0;
    if (streak.records == 0 || streak.records < patience_) return false;
    if (sample.Role() != kUpdated) return true;
    return streak.records >= patience_ * summed_.Of(sample.Worker(), {}).Records(steps);
  }

 private:
  struct Streak {
    int64_t records = 0;
    int64_t last = -1;  // step
  };

  const int64_t patience_;
  SampleStates<Streak> streaks_;
  TensorStates<BatchesPerUpdate> summed_;  // by worker
};

}  // namespace smdebug::rules
