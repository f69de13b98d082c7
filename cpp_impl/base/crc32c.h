// CRC-32C (Castagnoli), which the tfevents format uses.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace smdebug {

// Returns the CRC of the bytes with the CRC `crc` (0 at the start), followed by `bytes`.
uint32_t ExtendCrc32c(uint32_t crc, ByteSpan bytes);

inline uint32_t Crc32c(ByteSpan bytes) { return ExtendCrc32c(0, bytes); }

// Returns the CRC of the bytes with the CRC `first`, followed by `size` bytes with the CRC
// `second`.
uint32_t JoinCrc32c(uint32_t first, uint32_t second, uint64_t size);

// Returns the form in which record frames store a CRC.
inline uint32_t MaskedCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

// Returns the implementations that this machine can run, fastest first.  They omit the
// inversions before and after.  For tests.
using ExtendCrc32cFunction = uint32_t (*)(uint32_t crc, ByteSpan bytes);
std::span<const ExtendCrc32cFunction> Crc32cImplementations();

}  // namespace smdebug
