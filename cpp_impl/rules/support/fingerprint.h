// Recognises the elements of a tensor without keeping them.
#pragma once

#include <array>
#include <optional>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Sum, two norms, least and largest element.  Equal elements have equal fingerprints.  Different
// elements almost never do.
using Fingerprint = std::array<double, 5>;

// Returns nothing if no figure of the tensor is known.
std::optional<Fingerprint> FingerprintOf(const Sample &sample);

// Reports whether the fingerprint tells tensors apart: many weights begin as zeros, or as ones.
bool IsTelling(const Fingerprint &first);

}  // namespace smdebug::rules
