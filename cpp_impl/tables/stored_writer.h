// Writes cached rows into columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/stored_rows.h"
#include "tables/batch_builder.h"
#include "tables/request.h"

namespace smdebug::tables {

// What a request makes of a tensor's name.
struct StoredName {
  bool is_wanted = false;
  std::string collection;
};

// Consecutive rows of one step.
struct StoredPiece {
  const format::StoredRows *rows;
  const std::vector<StoredName> *names;
  const format::StoredStep *step;
  const std::string *worker;
  size_t first_of_step;  // its first row among all
  size_t first;          // in the step
  size_t count;
  std::vector<uint32_t> chosen = {};  // the rows of the step that are wanted, if not all are
  bool has_all = true;

  const format::StoredList &List() const { return rows->lists[step->list]; }
  size_t Count() const { return has_all ? count : chosen.size(); }
};

// For one thread at a time.
class StoredWriter {
 public:
  StoredWriter(const Request &request, BatchBuilder *builder);

  void Write(const std::string &trial, std::span<const StoredPiece> pieces);

 private:
  void WriteColumn(size_t column, const std::string &trial, const StoredPiece &piece, Column *out);
  // Writes columns of texts and shapes.  `last` is the piece before, or NULL.
  void WriteNames(size_t column, const StoredPiece &piece, const StoredPiece *last, Column *out);
  // Returns the values of the piece's rows, of a column that begins with those of its step.
  template <class T>
  std::span<const T> Of(std::span<const T> column, const StoredPiece &piece,
                        std::vector<T> *memory) const;
  // The same, of a column that begins with the first step.
  template <class T>
  std::span<const T> OfAll(const std::vector<T> &all, const StoredPiece &piece,
                           std::vector<T> *memory) const;
  void WriteNumbers(const format::StoredRows::Numbers &numbers, const StoredPiece &piece,
                    Column *out);

  const bool is_scalars_;
  const std::vector<size_t> columns_;
  const uint32_t statistics_;  // a bit for each that the cache has
  BatchBuilder *const builder_;
  // Memory for chosen rows.
  std::vector<uint32_t> positions_;
  std::vector<uint8_t> flags_;
  std::vector<int64_t> times_;
  std::vector<double> values_;
};

}  // namespace smdebug::tables
