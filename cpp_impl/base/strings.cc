#include "base/strings.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

namespace smdebug {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

bool IsContinuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// Returns the length of the well-formed sequence at the start of `text`, or 0.
size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(at(i))) return 0;
  }
  const bool overlong = (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xF0 && at(1) < 0x90);
  const bool outside = (lead == 0xED && at(1) > 0x9F) || (lead == 0xF4 && at(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> SplitList(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    const std::string_view part = Trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Join(const std::vector<std::string> &parts, std::string_view separator) {
  std::string out;
  for (const std::string &part : parts) {
    if (&part != &parts.front()) out.append(separator);
    out.append(part);
  }
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out(text);
  for (char &letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

std::optional<int64_t> ParseInt(std::string_view text) {
  text = Trim(text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

std::optional<double> ParseDouble(std::string_view text) {
  text = Trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

std::optional<bool> ParseBool(std::string_view text) {
  const std::string lower = ToLower(Trim(text));
  if (lower == "true" || lower == "1" || lower == "yes" || lower == "on") return true;
  if (lower == "false" || lower == "0" || lower == "no" || lower == "off") return false;
  return {};
}

std::string ZeroPadded(int64_t number, int width) {
  std::string digits = std::to_string(number);
  const auto wanted = static_cast<size_t>(width);
  if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
  return digits;
}

std::string DidYouMean(std::string_view text, const std::vector<std::string_view> &candidates) {
  // A hostile name may be huge, and no candidate is that long.
  if (candidates.empty() || text.size() > 64) return {};
  constexpr size_t kShortestPart = 4;  // a shorter text is a part of too many candidates
  const std::string wanted = ToLower(text);
  const auto distance = [&wanted](std::string_view candidate) {
    const std::string lower = ToLower(candidate);
    const size_t edits = EditDistance(wanted, lower);
    const bool is_part = wanted.size() >= kShortestPart && lower.find(wanted) != std::string::npos;
    return std::pair(is_part ? std::min<size_t>(edits, 2) : edits, edits);
  };
  const auto nearest = std::min_element(
      candidates.begin(), candidates.end(),
      [&](std::string_view a, std::string_view b) { return distance(a) < distance(b); });
  const size_t tolerated = std::max<size_t>(2, nearest->size() / 3);
  if (distance(*nearest).first > tolerated) return {};
  return StrCat("; did you mean '", *nearest, "'?");
}

[[gnu::hot]] bool IsUtf8(std::string_view text) {
  // This is on the recording path, and nearly all names are ASCII.
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  for (uint64_t word = 0; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string WellFormed(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  constexpr size_t kLongest = 4;
  std::string out;
  while (!text.empty()) {
    size_t size = 1;
    while (size < kLongest && size < text.size() && !IsUtf8(text.substr(0, size))) ++size;
    const bool is_character = IsUtf8(text.substr(0, size));
    out += is_character ? text.substr(0, size) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(is_character ? size : 1);
  }
  return out;
}

}  // namespace smdebug
