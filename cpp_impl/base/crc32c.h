// CRC-32C (Castagnoli), as the tfevents format uses it.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace smdebug {

// The CRC of the bytes that gave `crc` (0 at the start) followed by `bytes`.
uint32_t ExtendCrc32c(uint32_t crc, ByteSpan bytes);

inline uint32_t Crc32c(ByteSpan bytes) { return ExtendCrc32c(0, bytes); }

// The form in which record frames store a CRC.
inline uint32_t MaskedCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace smdebug
