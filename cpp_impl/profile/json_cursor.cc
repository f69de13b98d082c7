#include "profile/json_cursor.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/strings.h"

namespace smdebug::profile {
namespace {

// The largest number below which each integer is a double.
constexpr double kMostExact = 9007199254740992.0;
constexpr int kMostDigits = 18;

constexpr std::array kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Characters of texts that need no decoding.
bool IsPlain(char c) { return static_cast<signed char>(c) >= ' ' && c != '"' && c != '\\'; }

// Returns a number whose lowest bit is that of the first of eight characters that is not plain, or
// 0.
uint64_t SpecialBits(const char *eight) {
  constexpr uint64_t kEach = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x80 * kEach;
  uint64_t all = 0;
  std::memcpy(&all, eight, sizeof(all));
  const auto has_zero = [](uint64_t bytes) { return (bytes - kEach) & ~bytes & kHigh; };
  return has_zero(all ^ '"' * kEach) | has_zero(all ^ '\\' * kEach) |
         ((all - ' ' * kEach) & ~all & kHigh) | (all & kHigh);
}

const char *FindSpecial(const char *at, const char *end) {
  static_assert(std::endian::native == std::endian::little);
  for (; end - at >= 8; at += 8) {
    const uint64_t special = SpecialBits(at);
    if (special != 0) return at + std::countr_zero(special) / 8;
  }
  while (at != end && IsPlain(*at)) ++at;
  return at;
}

// Characters of numbers, true, false and null.
constexpr auto kWordCharacters = [] {
  std::array<bool, 256> is_one{};
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.")) {
    is_one[static_cast<unsigned char>(c)] = true;
  }
  return is_one;
}();
bool IsOfWord(char c) { return kWordCharacters[static_cast<unsigned char>(c)]; }

void AppendUtf8(uint32_t code, std::string *out) {
  constexpr uint32_t kLow = 0x3F;
  constexpr uint32_t kMark = 0x80;
  const auto add = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(kMark | (code & kLow));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(kMark | (code >> 6 & kLow));
    add(kMark | (code & kLow));
  } else {
    add(0xF0 | code >> 18);
    add(kMark | (code >> 12 & kLow));
    add(kMark | (code >> 6 & kLow));
    add(kMark | (code & kLow));
  }
}

}  // namespace

bool JsonCursor::TakeLater(char wanted) {
  if (Peek() != wanted || at_ == end_) return false;
  ++at_;
  return true;
}

bool JsonCursor::Text(JsonText *out) {
  if (!Take('"')) return false;
  const char *const begin = at_;
  at_ = FindSpecial(at_, end_);
  if (at_ == end_) return RunOut();
  if (*at_ != '"') {
    out->decoded.assign(begin, at_);
    return Decode(out);
  }
  out->view = {begin, static_cast<size_t>(at_ - begin)};
  ++at_;
  return true;
}

bool JsonCursor::Decode(JsonText *out) {
  while (at_ != end_ && *at_ != '"') {
    const char c = *at_++;
    if (c == '\\') {
      if (!DecodeEscape(&out->decoded)) return false;
    } else if (static_cast<unsigned char>(c) < ' ') {
      return false;
    } else {
      out->decoded.push_back(c);
    }
  }
  if (at_ == end_) return RunOut();
  ++at_;
  if (!IsUtf8(out->decoded)) out->decoded = WellFormed(out->decoded);
  out->view = out->decoded;
  return true;
}

bool JsonCursor::Hex(uint32_t *out) {
  constexpr ptrdiff_t kDigits = 4;
  constexpr int kBase = 16;
  if (end_ - at_ < kDigits) return RunOut();
  const auto [rest, error] = std::from_chars(at_, at_ + kDigits, *out, kBase);
  at_ += kDigits;
  return error == std::errc{} && rest == at_;
}

bool JsonCursor::DecodeEscape(std::string *out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  constexpr uint32_t kHigh = 0xD800;
  constexpr uint32_t kLow = 0xDC00;
  constexpr uint32_t kReplacement = 0xFFFD;
  constexpr uint32_t kHalf = 0x400;
  if (at_ == end_) return RunOut();
  const char letter = *at_++;
  const size_t known = kLetters.find(letter);
  if (known != std::string_view::npos) {
    out->push_back(kMeanings[known]);
    return true;
  }
  uint32_t code = 0;
  if (letter != 'u' || !Hex(&code)) return false;
  if (code >= kHigh && code < kLow && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
    uint32_t low = 0;
    at_ += 2;
    if (!Hex(&low)) return false;
    const bool is_pair = low >= kLow && low < kLow + kHalf;
    AppendUtf8(is_pair ? 0x10000 + (code - kHigh) * kHalf + (low - kLow) : kReplacement, out);
    return true;
  }
  const bool is_half = code >= kHigh && code < kLow + kHalf;
  AppendUtf8(is_half ? kReplacement : code, out);
  return true;
}

bool JsonCursor::Word(std::string_view word) {
  for (const char c : word) {
    if (at_ == end_) return RunOut();
    if (*at_++ != c) return false;
  }
  return true;
}

// A number of few digits is the exact quotient of two doubles, which rounds as it must.
bool JsonCursor::Number(double *out) {
  SkipSpace();
  const char *const begin = at_;
  const bool is_negative = at_ != end_ && *at_ == '-';
  if (is_negative) ++at_;
  uint64_t digits = 0;
  const char *const first = at_;
  while (at_ != end_ && IsDigit(*at_)) digits = digits * 10 + static_cast<uint64_t>(*at_++ - '0');
  ptrdiff_t count = at_ - first;
  if (count == 0) {
    if (at_ == end_) return RunOut();
    if (*at_ == 'N' && !is_negative) {
      *out = std::numeric_limits<double>::quiet_NaN();
      return Word("NaN");
    }
    *out = is_negative ? -HUGE_VAL : HUGE_VAL;
    return Word("Infinity");
  }
  if (count > 1 && *first == '0') return false;
  ptrdiff_t decimals = 0;
  if (at_ != end_ && *at_ == '.') {
    const char *const point = at_++;
    while (at_ != end_ && IsDigit(*at_)) {
      digits = digits * 10 + static_cast<uint64_t>(*at_++ - '0');
    }
    decimals = at_ - point - 1;
    if (decimals == 0) return at_ == end_ ? RunOut() : false;
    count += decimals;
  }
  if (at_ == end_) return RunOut();
  const bool is_simple = count <= kMostDigits && static_cast<double>(digits) < kMostExact &&
                         *at_ != 'e' && *at_ != 'E';
  if (!is_simple) return SlowNumber(begin, out);
  const double number = static_cast<double>(digits) / kPowers[static_cast<size_t>(decimals)];
  *out = is_negative ? -number : number;
  return true;
}

bool JsonCursor::SlowNumber(const char *begin, double *out) {
  const auto [rest, error] = std::from_chars(begin, end_, *out);
  if (rest == end_) return RunOut();
  at_ = rest;
  // Python reads what is too large as infinite, and what is too small as 0.
  if (error == std::errc::result_out_of_range) {
    *out = std::strtod(std::string(begin, rest).c_str(), nullptr);
    return true;
  }
  return error == std::errc{};
}

bool JsonCursor::SkipText() {
  at_ = FindSpecial(at_ + 1, end_);
  while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
  if (at_ == end_) return RunOut();
  ++at_;
  return true;
}

// The caller keeps the text, so it is checked only as far as its end must be found.
bool JsonCursor::Value(std::string_view *raw) {
  SkipSpace();
  const char *const begin = at_;
  int level = 0;
  do {
    const char next = Peek();
    if (at_ == end_) return RunOut();
    if (next == '"') {
      if (!SkipText()) return false;
    } else if (next == '{' || next == '[') {
      if (++level > kMostLevels) return false;
      ++at_;
    } else if (next == '}' || next == ']') {
      if (--level < 0) return false;
      ++at_;
    } else if (next == ',' || next == ':') {
      if (level == 0) return false;
      ++at_;
    } else {
      const char *const word = at_;
      while (at_ != end_ && IsOfWord(*at_)) ++at_;
      if (at_ == word) return false;
      if (at_ == end_) return RunOut();
    }
  } while (level > 0);
  *raw = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

std::optional<int64_t> WholeNumber(double number) {
  const bool is_whole = std::abs(number) < kMostExact && number == std::trunc(number);
  if (!is_whole) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<int64_t> WholeNumber(std::string_view raw) {
  if (raw.size() >= 2 && raw.front() == '"') raw = raw.substr(1, raw.size() - 2);
  if (raw.empty()) return std::nullopt;
  int64_t number = 0;
  const char *const end = raw.data() + raw.size();
  if (raw.size() <= kMostDigits) {
    const char *at = raw.data();
    while (at != end && IsDigit(*at)) number = number * 10 + (*at++ - '0');
    if (at == end) return number;
  }
  const auto [rest, error] = std::from_chars(raw.data(), end, number);
  if (error == std::errc{} && rest == end) return number;
  const auto parsed = ParseDouble(raw);
  return parsed ? WholeNumber(*parsed) : std::nullopt;
}

}  // namespace smdebug::profile
