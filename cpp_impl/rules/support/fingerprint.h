// Recognises the elements of a tensor without keeping them.
#pragma once

#include <compare>
#include <optional>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Equal elements have equal fingerprints.  Different elements almost never do.  A figure that is
// not known is 0.
struct Fingerprint {
  double sum = 0;
  double l1 = 0;
  double l2 = 0;
  double least = 0;
  double largest = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm
  auto operator<=>(const Fingerprint &) const = default;
};

// Returns nothing if no figure of the tensor is known.
std::optional<Fingerprint> FingerprintOf(const Sample &sample);

// Reports whether the fingerprint tells tensors apart: many weights begin as zeros, or as ones.
bool IsTelling(const Fingerprint &first);

}  // namespace smdebug::rules
