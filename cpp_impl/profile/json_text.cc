#include "profile/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/strings.h"

namespace smdebug::profile {
namespace {

constexpr int kMostLevels = 16;
constexpr std::string_view kBlank = " \t\r\n";

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool IsHex(char letter) {
  return IsDigit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}
bool IsPlain(char letter) {
  return letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\';
}

bool IsBeyondAscii(char letter) { return static_cast<unsigned char>(letter) >= 0x7f; }
bool IsControl(char letter) { return static_cast<unsigned char>(letter) < 0x20; }
bool IsAscii(char letter) { return !IsBeyondAscii(letter) && !IsControl(letter); }

// Returns the letters at the beginning that are all of one kind, and the rest.
std::pair<std::string_view, std::string_view> Split(std::string_view text, bool (*is_kind)(char)) {
  size_t count = 0;
  while (count < text.size() && is_kind(text[count])) ++count;
  return {text.substr(0, count), text.substr(count)};
}

// Moves through the text while it follows the grammar.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool IsObject() {
    SkipBlank();
    if (!rest_.starts_with('{') || !Value(kMostLevels)) return false;
    SkipBlank();
    return rest_.empty();
  }

 private:
  void SkipBlank() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size())); }

  bool Take(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool Word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool Digits() {
    const size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('-')) Take('+');
    return Digits();
  }

  bool Escape() {
    if (Take('u')) {
      const bool is_hex = rest_.size() >= 4 && std::all_of(rest_.begin(), rest_.begin() + 4, IsHex);
      if (is_hex) rest_.remove_prefix(4);
      return is_hex;
    }
    const bool is_known =
        !rest_.empty() && std::string_view("\"\\/bfnrt").find(rest_[0]) != std::string_view::npos;
    if (is_known) rest_.remove_prefix(1);
    return is_known;
  }

  bool Text() {
    if (!Take('"')) return false;
    while (!Take('"')) {
      if (rest_.empty() || static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      const bool is_escape = rest_[0] == '\\';
      rest_.remove_prefix(1);
      if (is_escape && !Escape()) return false;
    }
    return true;
  }

  bool Member(int levels) {
    SkipBlank();
    if (!Text()) return false;
    SkipBlank();
    return Take(':') && Value(levels);
  }

  // The opening bracket was taken.
  template <class Item>
  bool List(char end, Item item) {
    SkipBlank();
    if (Take(end)) return true;
    while (item()) {
      SkipBlank();
      if (Take(end)) return true;
      if (!Take(',')) return false;
    }
    return false;
  }

  bool Value(int levels) {
    SkipBlank();
    if (levels == 0 || rest_.empty()) return false;
    if (Take('{')) return List('}', [&] { return Member(levels - 1); });
    if (Take('[')) return List(']', [&] { return Value(levels - 1); });
    if (rest_[0] == '"') return Text();
    return Word("true") || Word("false") || Word("null") || Number();
  }

  std::string_view rest_;
};

}  // namespace

bool IsJsonObject(std::string_view text) { return IsUtf8(text) && Scanner(text).IsObject(); }

void AppendMembers(std::string *out, std::string_view object) {
  object = Trim(object);
  if (object.size() < 2) return;
  object = Trim(object.substr(1, object.size() - 2));
  while (!object.empty()) {
    const auto [plain, rest] = Split(object, IsAscii);
    out->append(plain);
    // Control characters stand between values, others beyond ASCII in texts.
    const auto [blank, after] = Split(rest, IsControl);
    out->append(blank.size(), ' ');
    const auto [special, next] = Split(after, IsBeyondAscii);
    JsonWriter escaped;
    escaped.Text(special);
    out->append(std::string_view(escaped.Written()).substr(1, escaped.Written().size() - 2));
    object = next;
  }
}

void AppendQuoted(std::string *out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    out->push_back('"');
    out->append(text);
    out->push_back('"');
    return;
  }
  JsonWriter escaped;
  escaped.Text(text);
  out->append(escaped.Written());
}

void AppendNumber(std::string *out, int64_t number) {
  std::array<char, 24> digits;
  out->append(digits.data(), std::to_chars(digits.data(), digits.end(), number).ptr);
}

}  // namespace smdebug::profile
