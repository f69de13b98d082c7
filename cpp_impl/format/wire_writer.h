// Writes protobuf's wire format.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "format/wire_format.h"

namespace smdebug::format {

inline uint64_t VarintSize(uint64_t number) {
  return (static_cast<uint64_t>(std::bit_width(number | 1)) + 6) / 7;
}
// These return the size of a field with its tag.  Numbers that are 0 are omitted.
inline uint64_t NumberSize(uint64_t number) { return number == 0 ? 0 : 1 + VarintSize(number); }
inline uint64_t BytesSize(uint64_t length) { return 1 + VarintSize(length) + length; }

// Writes fields into memory that is known to be large enough.
class WireWriter {
 public:
  explicit WireWriter(char *at) : at_(at) {}

  void Number(uint32_t field, uint64_t number) {
    if (number == 0) return;
    Tag(field, WireType::kVarint);
    Varint(number);
  }
  void Double(uint32_t field, double number) {
    if (number == 0) return;
    Tag(field, WireType::kFixed64);
    Raw(number);
  }
  void Float(uint32_t field, float number) {
    Tag(field, WireType::kFixed32);
    Raw(number);
  }
  // Writes the beginning of a field whose bytes follow.
  void Header(uint32_t field, uint64_t length) {
    Tag(field, WireType::kBytes);
    Varint(length);
  }
  void Bytes(uint32_t field, std::string_view bytes) {
    Header(field, bytes.size());
    Raw(bytes);
  }
  void Raw(std::string_view bytes) { at_ += bytes.copy(at_, bytes.size()); }
  // Writes a number's bytes.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void Raw(Number number) {
    std::memcpy(at_, &number, sizeof number);
    at_ += sizeof number;
  }

 private:
  // All written fields have numbers below 16, so a tag is one byte.
  void Tag(uint32_t field, WireType type) {
    *at_++ = static_cast<char>(field << 3 | static_cast<uint32_t>(type));
  }
  void Varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) *at_++ = static_cast<char>(number | 0x80);
    *at_++ = static_cast<char>(number);
  }

  char *at_;
};

}  // namespace smdebug::format
