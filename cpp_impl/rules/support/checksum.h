// Computes checksums of tensors, to find equal ones.
#pragma once

#include <cstdint>
#include <optional>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Returns a checksum of the shape and of about `most` elements in row-major order, or of all if
// `most` is 0.  Returns nothing without elements, or if all elements are equal: such tensors may be
// alike by design.
std::optional<uint64_t> ChecksumOf(const Sample &sample, int64_t most);

}  // namespace smdebug::rules
