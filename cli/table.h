// Prints rows in columns that fit their contents and the terminal.
#pragma once

#include <string>
#include <vector>

#include "output.h"

namespace smdebug::cli {

class Table {
 public:
  enum class Kind {
    kText,    // left-aligned; shortened if the terminal is too narrow
    kWord,    // left-aligned
    kNumber,  // right-aligned
  };
  struct Column {
    std::string heading;
    Kind kind = Kind::kText;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row with one text per column; `style` applies to the first.
  void Add(std::vector<std::string> cells, Style style = Style::kPlain);
  bool IsEmpty() const { return rows_.empty(); }

  // Prints the table, with `indent` blanks before each row.
  void Print(size_t indent = 0) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };
  // Returns the width below which a column is not shortened.
  size_t NarrowestOf(size_t column) const;
  // Returns the widths of the visible columns, such that rows have at most `limit` characters.
  std::vector<size_t> Widths(size_t limit) const;
  std::string Line(const std::vector<std::string> &cells, const std::vector<size_t> &widths,
                   size_t limit) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace smdebug::cli
