#include "rules/support/fingerprint.h"

namespace smdebug::rules {

std::optional<Fingerprint> FingerprintOf(const Sample &sample) {
  using tensor::ReductionKind;
  Fingerprint fingerprint{};
  bool has_any = false;
  size_t i = 0;
  for (const ReductionKind kind : {ReductionKind::kSum, ReductionKind::kL1, ReductionKind::kL2,
                                   ReductionKind::kMin, ReductionKind::kMax}) {
    const std::optional<double> figure = sample.Reduce({kind, false});
    has_any = has_any || figure;
    fingerprint[i++] = figure.value_or(0);
  }
  return has_any ? std::optional(fingerprint) : std::nullopt;
}

bool IsTelling(const Fingerprint &first) {
  const auto [sum, l1, l2, least, largest] = first;
  return least != largest || (least != 0 && least != 1);
}

}  // namespace smdebug::rules
