// SHA-256, HMAC-SHA256 and, for names of files, SHA-1.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace smdebug::aws {

using Sha256Digest = std::array<std::byte, 32>;

// These functions fail with INTERNAL if the machine's OpenSSL offers no SHA-256.  Safe from
// any thread.

// Computes the digest of the concatenated pieces.
Result<Sha256Digest> Sha256(std::span<const ByteSpan> pieces);
Result<Sha256Digest> Sha256(std::string_view text);

// Computes the HMAC of RFC 2104.
Result<Sha256Digest> HmacSha256(ByteSpan key, std::string_view text);

using Sha1Digest = std::array<std::byte, 20>;

// Computes the digest that names a file of the AWS command line; it protects nothing.  Fails with
// INTERNAL if the machine's OpenSSL offers no SHA-1.
Result<Sha1Digest> Sha1(std::string_view text);

// Returns lower-case hexadecimal digits.
std::string ToHex(ByteSpan bytes);

}  // namespace smdebug::aws
