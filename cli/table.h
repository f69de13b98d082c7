// Rows in columns that are as wide as they must be, and fit the terminal.
#pragma once

#include <string>
#include <vector>

#include "output.h"

namespace smdebug::cli {

class Table {
 public:
  enum class Kind {
    kText,    // at the left; gives way where the terminal is too narrow
    kWord,    // at the left
    kNumber,  // at the right
  };
  struct Column {
    std::string heading;
    Kind kind = Kind::kText;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One text a column; `style` is that of the first.
  void Add(std::vector<std::string> cells, Style style = Style::kPlain);
  bool IsEmpty() const { return rows_.empty(); }

  // Prints it, with `indent` blanks before each row.
  void Print(size_t indent = 0) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };
  // Below which a column is not shortened.
  size_t NarrowestOf(size_t column) const;
  // Of the columns that are shown, so that rows have at most `limit` characters.
  std::vector<size_t> Widths(size_t limit) const;
  std::string Line(const std::vector<std::string> &cells, const std::vector<size_t> &widths,
                   size_t limit) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace smdebug::cli
