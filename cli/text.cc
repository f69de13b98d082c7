#include "text.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cwchar>

namespace smdebug::cli {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; }

// Returns the length of the UTF-8 character at the start of `text`; 0 if there is none.
size_t CharacterSize(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return is_overlong || is_no_character ? 0 : size;
}

bool IsControl(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

// Returns true for characters that break lines (U+2028, U+2029) or change the text direction
// (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069): they can make a name look like
// another.
bool IsLayoutControl(std::string_view character) {
  if (character == "\xD8\x9C") return true;
  if (!character.starts_with("\xE2\x80") && !character.starts_with("\xE2\x81")) return false;
  const auto last = static_cast<unsigned char>(character[2]);
  if (character[1] == '\x81') return last >= 0xA6 && last <= 0xA9;
  return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
}

// Knows the columns that characters take on a terminal, whatever the locale of the program is.
class Columns {
 public:
  Columns() : before_(uselocale(Unicode())) {}
  ~Columns() { uselocale(before_); }
  Columns(const Columns &) = delete;
  Columns &operator=(const Columns &) = delete;

  // Removes the first character from `text`, and returns its columns: 2 for those of East Asia, 0
  // for marks that combine with the one before.
  static size_t Take(std::string_view *text) {
    const size_t size = std::max<size_t>(CharacterSize(*text), 1);
    std::mbstate_t state{};
    wchar_t character = 0;
    const bool is_known = std::mbrtowc(&character, text->data(), size, &state) <= size;
    text->remove_prefix(size);
    const int columns = is_known ? wcwidth(character) : 1;
    return columns < 0 ? 1 : static_cast<size_t>(columns);
  }

 private:
  static locale_t Unicode() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }

  const locale_t before_;
};

// Returns the size of the longest beginning of `text` that takes at most so many columns.
size_t SizeWithin(std::string_view text, size_t columns) {
  const Columns known;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view after = rest;
    const size_t more = Columns::Take(&after);
    if (more > columns) break;
    columns -= more;
    rest = after;
  }
  return text.size() - rest.size();
}

// Returns the size of the shortest beginning of `text` after which at most so many columns follow.
size_t SizeBefore(std::string_view text, size_t columns) {
  size_t left = WidthOf(text);
  const Columns known;
  std::string_view rest = text;
  while (!rest.empty() && left > columns) left -= Columns::Take(&rest);
  return text.size() - rest.size();
}

// Returns the size of the first word.  A number and "%" are one.
size_t EndOfWord(std::string_view text) {
  size_t end = text.find(' ');
  while (end != std::string_view::npos && text.substr(end + 1).starts_with('%')) {
    end = text.find(' ', end + 1);
  }
  return std::min(end, text.size());
}

// Returns the size of the part of a long word, such as a tensor's name, that fits a line: up to a
// separator in its second half, if there is one.
size_t PartOfWord(std::string_view word, size_t width) {
  const size_t first = std::max<size_t>(CharacterSize(word), 1);
  const size_t most = std::max(SizeWithin(word, width), first);
  const size_t separator = word.substr(0, most).find_last_of("./_");
  return separator == std::string_view::npos || separator < most / 2 ? most : separator + 1;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const std::string_view character = text.substr(0, size == 0 ? 1 : size);
    if (size != 0 && !IsControl(character) && !IsLayoutControl(character)) {
      out += character;
    } else {
      for (const char byte : character) {
        std::array<char, 5> code{};
        static_cast<void>(
            std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(byte)));
        out += code.data();
      }
    }
    text.remove_prefix(character.size());
  }
  return out;
}

size_t WidthOf(std::string_view text) {
  const Columns known;
  size_t columns = 0;
  while (!text.empty()) columns += Columns::Take(&text);
  return columns;
}

std::string Shortened(std::string_view text, size_t width) {
  const size_t has = WidthOf(text);
  if (has <= width) return std::string(text);
  if (width == 0) return "";
  const size_t tail = (width - 1) / 2;
  const std::string_view head = text.substr(0, SizeWithin(text, width - 1 - tail));
  return std::string(head) + "…" + std::string(text.substr(SizeBefore(text, tail)));
}

std::string Padded(std::string_view text, size_t width, bool to_the_right) {
  const size_t has = WidthOf(text);
  const std::string blanks(has < width ? width - has : 0, ' ');
  return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::string Join(const std::vector<std::string> &texts, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += between;
    out += texts[i];
  }
  return out;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> Lines(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.empty()) return {};
  return Split(text, '\n');
}

std::vector<std::string> Wrap(std::string_view text, size_t width, LongWords long_words) {
  std::vector<std::string> lines;
  for (const std::string &paragraph : Lines(text)) {
    std::string line;
    std::string_view rest = paragraph;
    while (!rest.empty()) {
      std::string_view word = rest.substr(0, EndOfWord(rest));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!line.empty() && WidthOf(line) + 1 + WidthOf(word) > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      while (long_words == LongWords::kSplit && width > 0 && WidthOf(word) > width) {
        const std::string_view part = word.substr(0, PartOfWord(word, width));
        if (part.size() == word.size()) break;  // a single wide character
        lines.emplace_back(part);
        word.remove_prefix(part.size());
      }
      line += (line.empty() ? "" : " ") + std::string(word);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Count(size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string BytesText(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  std::array<char, 32> out{};
  static_cast<void>(std::snprintf(out.data(), out.size(), number < 9.95 ? "%.1f %s" : "%.0f %s",
                                  number, kUnits.at(unit)));
  return out.data();
}

}  // namespace smdebug::cli
