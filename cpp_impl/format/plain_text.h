// Recognizes names that need no full check: nearly all of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace smdebug::format {

namespace plain_text_internal {

inline constexpr uint64_t kEach = 0x0101010101010101U;  // times a byte: repeats the byte 8 times
inline constexpr uint64_t kHighBits = kEach * 0x80;

// Each returns a word with a high bit set if a byte has the property.
inline constexpr uint64_t AnyIs(uint64_t bytes, uint8_t wanted) {
  const uint64_t zero_where = bytes ^ (kEach * wanted);
  return (zero_where - kEach) & ~zero_where & kHighBits;
}
inline constexpr uint64_t AnyBelow(uint64_t bytes, uint8_t limit) {
  return (bytes - kEach * limit) & ~bytes & kHighBits;
}

// Calls `look(word)` for 8 bytes at a time, and combines the results.  Pads the last word with
// blanks.
template <class Look>
uint64_t ForWords(std::string_view text, Look look) {
  uint64_t seen = 0;
  uint64_t word = 0;
  while (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    seen |= look(word);
    text.remove_prefix(sizeof word);
  }
  word = kEach * ' ';
  std::memcpy(&word, text.data(), text.size());
  return seen | look(word);
}

}  // namespace plain_text_internal

// Returns true if all bytes are ASCII, and so UTF-8.
inline bool IsAscii(std::string_view text) {
  using namespace plain_text_internal;
  return (ForWords(text, [](uint64_t word) { return word; }) & kHighBits) == 0;
}

// Returns true if JSON text holds `text` unescaped: printable ASCII except the quote and "\".
inline bool IsPlainText(std::string_view text) {
  using namespace plain_text_internal;
  return ForWords(text, [](uint64_t word) {
           return (word & kHighBits) | AnyBelow(word, ' ') | AnyIs(word, 0x7F) | AnyIs(word, '"') |
                  AnyIs(word, '\\');
         }) == 0;
}

}  // namespace smdebug::format
