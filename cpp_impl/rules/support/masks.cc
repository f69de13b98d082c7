#include "rules/support/masks.h"

#include <cmath>
#include <utility>

#include "rules/support/tensor_names.h"

namespace smdebug::rules {
namespace {

constexpr size_t kMostNames = 10'000;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsOfModule(std::string_view tensor) {
  return (Contains(tensor, "input") || Contains(tensor, "output")) &&
         WeightOfGradient(tensor) == tensor;
}

// Reports whether minus infinity is all that is not finite, and something else is.
bool HasOnlyMinusInfinity(const Sample &sample) {
  if (const tensor::Statistics *statistics = sample.GetStatistics()) {
    return statistics->nan_count == 0 && statistics->count > 1 &&
           std::isfinite(statistics->plain.max);
  }
  const auto least = sample.Reduce({tensor::ReductionKind::kMin, false});
  const auto most = sample.Reduce({tensor::ReductionKind::kMax, false});
  return least && most && std::isinf(*least) && std::isfinite(*most);
}

}  // namespace

std::optional<Finding> Masks::Note(const Sample &sample, bool is_first, Finding finding) {
  const std::string_view tensor = sample.Tensor();
  auto at = workers_.find(sample.Worker());
  if (IsOfModule(tensor) && HasOnlyMinusInfinity(sample)) {
    if (Contains(tensor, "mask")) return std::nullopt;
    if (at == workers_.end()) at = workers_.emplace(sample.Worker(), Worker()).first;
    Worker &worker = at->second;
    if (worker.known.find(tensor) != worker.known.end()) return std::nullopt;
    if (is_first && worker.known.size() + worker.now.size() < kMostNames) {
      worker.now.emplace(tensor);
      if (!worker.suspect) worker.suspect = std::move(finding);
      return std::nullopt;
    }
  }
  if (at == workers_.end() || !at->second.suspect) return finding;
  at->second.now.clear();
  return std::exchange(at->second.suspect, std::nullopt);
}

void Masks::EndStep() {
  for (auto &[name, worker] : workers_) {
    worker.known.merge(worker.now);
    worker.now.clear();
    worker.suspect.reset();
  }
}

}  // namespace smdebug::rules
