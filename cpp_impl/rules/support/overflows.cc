#include "rules/support/overflows.h"

#include "base/strings.h"
#include "rules/support/tensor_names.h"

namespace smdebug::rules {
namespace {

// PyTorch's scaler begins with 2^16 and halves that at each skipped step: after 16 of them, the
// loss is not scaled any more.  With accumulation, each may be recorded as several steps.
constexpr int64_t kMostSkipped = 32;

}  // namespace

std::optional<Finding> Overflows::Note(const Sample &sample, Finding finding) {
  if (!is_tolerant_) return finding;
  const bool is_gradient = WeightOfGradient(sample.Tensor()) != sample.Tensor();
  const auto known = workers_.find(sample.Worker());
  if (is_gradient) {
    Worker &worker =
        known != workers_.end() ? known->second : workers_[std::string(sample.Worker())];
    worker.last_step = sample.Place().step;
    if (!worker.suspect) {
      worker.suspect = std::move(finding);
      worker.first_step = worker.last_step;
    }
    return std::nullopt;
  }
  if (known == workers_.end() || !known->second.suspect) return finding;
  std::optional<Finding> cause = std::exchange(known->second.suspect, std::nullopt);
  cause->message += StrCat(", from step ", known->second.first_step, " on; '", sample.Tensor(),
                           "' followed at step ", sample.Place().step);
  return cause;
}

std::vector<Finding> Overflows::EndStep(const StepPlace &place) {
  std::vector<Finding> released;
  if (!IsTraining(place.mode)) return released;
  for (auto &[name, worker] : workers_) {
    const bool is_now = worker.last_step == place.step;
    worker.steps = is_now ? worker.steps + 1 : 0;
    if (!is_now) worker.suspect.reset();
    if (!worker.suspect || worker.steps < kMostSkipped) continue;
    released.push_back(*std::exchange(worker.suspect, std::nullopt));
    released.back().message +=
        StrCat("; gradients have not been finite for ", worker.steps, " steps in a row");
  }
  return released;
}

}  // namespace smdebug::rules
