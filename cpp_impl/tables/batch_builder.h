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
  size_t Size() const { return batch_.Size(); }
  // A column by its position in the schema.  The caller adds as many rows to each as it notes.
  Column &At(size_t position) { return batch_.columns[position]; }
  void NoteRows(size_t count) { batch_.rows += count; }
  // Returns the batch, and begins the next.
  Batch Take();

 private:
  void Begin();

  std::vector<ColumnSpec> schema_;
  Batch batch_;
};

}  // namespace smdebug::tables
