#include "table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kBetween = 2;          // blanks between columns
constexpr size_t kNarrowest = 6;        // the least width of a shortened text
constexpr size_t kNarrowestFirst = 16;  // the same for the first column

}  // namespace

void Table::Add(std::vector<std::string> cells, Style style) {
  for (std::string &cell : cells) cell = Printable(cell);
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), style});
}

size_t Table::NarrowestOf(size_t column) const {
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  if (columns_[column].kind != Kind::kText) return kNever;
  return column == 0 ? kNarrowestFirst : kNarrowest;
}

std::vector<size_t> Table::Widths(size_t limit) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = WidthOf(columns_[i].heading);
    for (const Row &row : rows_) width = std::max(width, WidthOf(row.cells[i]));
    widths.push_back(width);
  }
  // If shortening is not enough, columns at the right are omitted.
  const auto least = [&](size_t count) {
    size_t sum = kBetween * (count - 1);
    for (size_t i = 0; i < count; ++i) sum += std::min(widths[i], NarrowestOf(i));
    return sum;
  };
  while (widths.size() > 2 && least(widths.size()) > limit) widths.pop_back();

  size_t needed = std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
  for (; needed > limit; --needed) {
    // Shortens the widest text by one character at a time.
    size_t *widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= NarrowestOf(i)) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string Table::Line(const std::vector<std::string> &cells, const std::vector<size_t> &widths,
                        size_t limit) const {
  std::string line;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) line.append(kBetween, ' ');
    line += Padded(Shortened(cells[i], widths[i]), widths[i], columns_[i].kind == Kind::kNumber);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return Shortened(line, limit);
}

void Table::Print(size_t indent) const {
  const size_t width = Stdout().width;
  const size_t limit =
      width == 0 ? std::numeric_limits<size_t>::max() : std::max(width, indent + 1) - indent;
  const std::vector<size_t> widths = Widths(limit);
  const std::string before(indent, ' ');
  std::vector<std::string> headings;
  for (const Column &column : columns_) headings.push_back(column.heading);
  cli::Print(before + Styled(Line(headings, widths, limit), Style::kHeading) + "\n");
  for (const Row &row : rows_) {
    std::string line = Line(row.cells, widths, limit);
    if (row.style != Style::kPlain) {
      const size_t end = std::min(line.size(), Shortened(row.cells[0], widths[0]).size());
      line = Styled(line.substr(0, end), row.style) + line.substr(end);
    }
    cli::Print(before + line + "\n");
  }
}

}  // namespace smdebug::cli
