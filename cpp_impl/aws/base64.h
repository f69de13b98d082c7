// Base64 (RFC 4648), which S3 uses for checksums.
#pragma once

#include <string>

#include "base/bytes.h"

namespace smdebug::aws {

std::string ToBase64(ByteSpan bytes);

// Returns a CRC-32C in the form of x-amz-checksum-crc32c: Base64 of its four bytes, big-endian.
std::string ChecksumText(uint32_t crc32c);

}  // namespace smdebug::aws
