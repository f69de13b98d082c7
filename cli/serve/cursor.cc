#include "serve/cursor.h"

#include <algorithm>

#include "serve/request.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::string_view kList = "list";
constexpr size_t kIdDigits = 16;

// Removes the text before the next separator and returns it.
std::string_view Take(std::string_view *text, char separator) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return taken;
}

bool IsId(std::string_view text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string Cursor::ToText() const {
  std::string text = std::string(kList) + ":" + std::to_string(list);
  for (const auto &[id, place] : runs) {
    text += "," + id + ":" + std::to_string(place.step) + ":" + std::to_string(place.findings) +
            ":" + std::to_string(place.job);
  }
  return text;
}

std::optional<Cursor> Cursor::Parse(std::string_view text) {
  Cursor cursor;
  while (!text.empty()) {
    std::string_view item = Take(&text, ',');
    const std::string_view name = Take(&item, ':');
    const std::string_view first = Take(&item, ':');
    int64_t number = 0;
    if (!ParseWhole(first, &number) || number < -1) return std::nullopt;
    if (name == kList) {
      if (!item.empty()) return std::nullopt;
      cursor.list = number;
      continue;
    }
    Place place{number};
    const std::string_view second = Take(&item, ':');
    if (!IsId(name) || !ParseWhole(second, &place.findings) || place.findings < 0)
      return std::nullopt;
    if (!ParseWhole(item, &place.job) || place.job < 0) return std::nullopt;
    cursor.runs[std::string(name)] = place;
    if (cursor.runs.size() > kMostRuns) return std::nullopt;
  }
  return cursor;
}

}  // namespace smdebug::cli::serve
