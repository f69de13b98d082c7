#include "tables/batch_builder.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace smdebug::tables {

namespace {

// The pages of this memory cost nothing until someone reads what null numbers are.
std::shared_ptr<const double> Zeros(size_t count) {
  void *const memory = std::calloc(std::max<size_t>(count, 1), sizeof(double));
  if (memory == nullptr) throw std::bad_alloc();
  return {static_cast<const double *>(memory), [memory](const double *) { std::free(memory); }};
}

}  // namespace

BatchBuilder::BatchBuilder(const Request &request)
    : most_rows_(static_cast<size_t>(request.batch_rows)), schema_(request.Schema()) {
  Begin();
}

void BatchBuilder::Begin() {
  batch_.rows = 0;
  batch_.columns.clear();
  for (const ColumnSpec &column : schema_) batch_.columns.emplace_back(column.type);
}

Batch BatchBuilder::Take() {
  Batch batch = std::exchange(batch_, {});
  std::shared_ptr<const double> zeros;
  for (Column &column : batch.columns) {
    if (column.HasNoNumber() && !zeros) zeros = Zeros(batch.rows);
    column.Finish(zeros);
  }
  Begin();
  // The next batch is mostly as large as the last.
  for (size_t i = 0; i < schema_.size(); ++i) batch_.columns[i].ReserveLike(batch.columns[i]);
  return batch;
}

}  // namespace smdebug::tables
