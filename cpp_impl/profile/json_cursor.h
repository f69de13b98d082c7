// Reads JSON values one after the other, without building a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::profile {

// A text, which points into the JSON, or into `decoded` if it has escapes or bytes that are not
// UTF-8.
struct JsonText {
  std::string_view view;
  std::string decoded;
};

// Compares with a text whose length is known when this is compiled: a few instructions, no call.
template <size_t N>
bool BeginsWith(std::string_view text, const char (&begin)[N]) {
  return text.size() >= N - 1 && std::memcmp(text.data(), begin, N - 1) == 0;
}
template <size_t N>
bool Equals(std::string_view text, const char (&other)[N]) {
  return text.size() == N - 1 && BeginsWith(text, other);
}

// Each reader returns false if there is no such value at the position; the position is then
// undefined.  For one thread at a time.
class JsonCursor {
 public:
  static constexpr int kMostLevels = 64;

  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Returns what is not read.
  std::string_view Rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  size_t Offset() const { return static_cast<size_t>(at_ - begin_); }
  // Returns true if the text ended where more was expected: a longer text may be right.
  bool RanOut() const { return ran_out_; }

  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  // Returns the next character after white space, or NUL at the end.
  char Peek() {
    SkipSpace();
    if (at_ != end_) return *at_;
    ran_out_ = true;
    return '\0';
  }
  // Skips white space and this character.
  bool Take(char wanted) {
    // Writers put one space, or none, before it.
    if (at_ != end_ && *at_ == ' ') ++at_;
    if (at_ == end_ || *at_ != wanted) return TakeLater(wanted);
    ++at_;
    return true;
  }
  // Skips the key of a member, given with its quotes, and the colon.  Stays if another key is next.
  template <size_t N>
  bool Key(const char (&quoted)[N]) {
    SkipSpace();
    if (!BeginsWith(Rest(), quoted)) return false;
    const char *const begin = at_;
    at_ += N - 1;
    if (Take(':')) return true;
    at_ = begin;
    return false;
  }

  bool Text(JsonText *out);
  // Also takes NaN and Infinity, as Python writes them.
  bool Number(double *out);
  // Skips a value, and returns its text.
  bool Value(std::string_view *raw);

  // Calls `member(key)` at each value of an object; it reads the value and returns true.
  template <class Member>
  bool Object(Member member) {
    if (!Take('{')) return false;
    if (Peek() == '}') return Take('}');
    JsonText key;
    do {
      if (!Text(&key) || !Take(':') || !member(key.view)) return false;
      if (Peek() != ',') return Take('}');
    } while (Take(','));
    return false;
  }

 private:
  bool RunOut() {
    ran_out_ = true;
    return false;
  }
  bool TakeLater(char wanted);
  bool Word(std::string_view word);
  bool Decode(JsonText *out);
  bool DecodeEscape(std::string *out);
  bool Hex(uint32_t *out);
  bool SlowNumber(const char *begin, double *out);
  bool SkipText();

  const char *begin_;
  const char *at_;
  const char *end_;
  bool ran_out_ = false;
};

// Returns the number as an integer if it is one and is exact, else nothing.
std::optional<int64_t> WholeNumber(double number);
// Returns the integer of a JSON number or of a text of digits, else nothing.
std::optional<int64_t> WholeNumber(std::string_view raw);

}  // namespace smdebug::profile
