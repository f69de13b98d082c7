// Small helpers on text.
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

// The pieces (texts, characters, numbers) in a row.
template <class... Pieces>
std::string StrCat(const Pieces &...pieces) {
  std::string out;
  (strings_internal::Append(out, pieces), ...);
  return out;
}

// Without white space at both ends.
std::string_view Trim(std::string_view text);

// The parts between `separator`s, trimmed; empty parts are left out.
std::vector<std::string> SplitList(std::string_view text, char separator = ',');

std::string Join(const std::vector<std::string> &parts, std::string_view separator);

std::string ToLower(std::string_view text);

// The whole (trimmed) text as a decimal number, or nothing.
std::optional<int64_t> ParseInt(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

// "true", "1", "yes", "on" or their opposites in any case, or nothing.
std::optional<bool> ParseBool(std::string_view text);

// The decimal number with at least `width` digits, zeros in front.
std::string ZeroPadded(int64_t number, int width);

// "; did you mean 'x'?" for the candidate nearest to `text`, or "" if none is near.
std::string DidYouMean(std::string_view text, const std::vector<std::string_view> &candidates);

// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);

}  // namespace smdebug
