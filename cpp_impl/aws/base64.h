// Base64 (RFC 4648), as S3 writes checksums.
#pragma once

#include <string>

#include "base/bytes.h"

namespace smdebug::aws {

std::string ToBase64(ByteSpan bytes);

// A CRC-32C as x-amz-checksum-crc32c has it: its four bytes, the highest first.
std::string ChecksumText(uint32_t crc32c);

}  // namespace smdebug::aws
