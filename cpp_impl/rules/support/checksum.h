// Computes checksums of tensors, to find equal ones.
#pragma once

#include <cstdint>
#include <optional>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Returns a number in which each bit depends on all bits of the given one (the finaliser of
// SplitMix64).
constexpr uint64_t MixBits(uint64_t bits) {
  bits ^= bits >> 30;
  bits *= 0xbf58476d1ce4e5b9;
  bits ^= bits >> 27;
  bits *= 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// Returns a checksum of the shape and of about `most` elements in row-major order, or of all if
// `most` is 0.  Returns nothing without elements, or if all elements are equal: such tensors may be
// alike by design.
std::optional<uint64_t> ChecksumOf(const Sample &sample, int64_t most);

}  // namespace smdebug::rules
