// Collects rows into batches.
#pragma once

#include <vector>

#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// For one thread at a time.
class BatchBuilder {
 public:
  explicit BatchBuilder(const Request &request);

  const std::vector<ColumnSpec> &Schema() const { return schema_; }
  size_t Rows() const { return batch_.rows; }
  // Returns true if the batch has the rows that the request asks for, or takes many bytes.
  bool IsFull() const { return batch_.rows >= most_rows_ || batch_.Size() >= kMostBytes; }
  // A column by its position in the schema.  The caller adds as many rows to each as it notes.
  Column &At(size_t position) { return batch_.columns[position]; }
  void NoteRows(size_t count) { batch_.rows += count; }
  // Returns the batch, and begins the next.
  Batch Take();

 private:
  static constexpr size_t kMostBytes = size_t{8} << 20;

  void Begin();

  const size_t most_rows_;
  std::vector<ColumnSpec> schema_;
  Batch batch_;
};

}  // namespace smdebug::tables
