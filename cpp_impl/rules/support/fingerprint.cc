#include "rules/support/fingerprint.h"

namespace smdebug::rules {

std::optional<Fingerprint> FingerprintOf(const Sample &sample) {
  using tensor::ReductionKind;
  bool has_any = false;
  const auto figure_of = [&](ReductionKind kind) {
    const std::optional<double> figure = sample.Reduce({kind, false});
    has_any |= figure.has_value();
    return figure.value_or(0);
  };
  const Fingerprint fingerprint{figure_of(ReductionKind::kSum), figure_of(ReductionKind::kL1),
                                figure_of(ReductionKind::kL2), figure_of(ReductionKind::kMin),
                                figure_of(ReductionKind::kMax)};
  return has_any ? std::optional(fingerprint) : std::nullopt;
}

bool IsTelling(const Fingerprint &first) {
  return first.least != first.largest || (first.least != 0 && first.least != 1);
}

}  // namespace smdebug::rules
