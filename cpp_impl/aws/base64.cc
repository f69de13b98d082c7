#include "aws/base64.h"

#include <algorithm>
#include <array>

namespace smdebug::aws {

std::string ToBase64(ByteSpan bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(3, bytes.size()))) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < bytes.size() ? std::to_integer<uint32_t>(bytes[i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= bytes.size() ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string ChecksumText(uint32_t crc32c) {
  std::array<std::byte, 4> bytes;
  for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(crc32c >> (24 - 8 * i));
  return ToBase64(bytes);
}

}  // namespace smdebug::aws
