// Small helpers for text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace smdebug {

namespace strings_internal {
inline void Append(std::string &out, std::string_view piece) { out.append(piece); }
template <class Number>
requires std::is_arithmetic_v<Number>
void Append(std::string &out, Number number) { out.append(std::to_string(number)); }
inline void Append(std::string &out, char letter) { out.push_back(letter); }
}  // namespace strings_internal

// Concatenates texts, characters and numbers.
template <class... Pieces>
std::string StrCat(const Pieces &...pieces) {
  std::string out;
  (strings_internal::Append(out, pieces), ...);
  return out;
}

// Returns the text without leading and trailing white space.
std::string_view Trim(std::string_view text);

// Returns the trimmed parts between separators; omits empty parts.
std::vector<std::string> SplitList(std::string_view text, char separator = ',');

std::string Join(const std::vector<std::string> &parts, std::string_view separator);

std::string ToLower(std::string_view text);

// Return the whole (trimmed) text as a decimal number, or nothing.
std::optional<int64_t> ParseInt(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

// Parses "true", "1", "yes", "on" or their opposites in any case; else returns nothing.
std::optional<bool> ParseBool(std::string_view text);

// Returns the decimal number with at least `width` digits, padded with leading zeros.
std::string ZeroPadded(int64_t number, int width);

// Returns "; did you mean 'x'?" for the candidate most similar to `text`, or "" if none is
// similar.
std::string DidYouMean(std::string_view text, const std::vector<std::string_view> &candidates);

// Returns true if the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

// Returns the text with U+FFFD for each byte that is not part of UTF-8.
std::string WellFormed(std::string_view text);

}  // namespace smdebug
