#include "tables/batch_builder.h"

#include <utility>

namespace smdebug::tables {

BatchBuilder::BatchBuilder(const Request &request) {
  const auto all = ColumnsOf(request.table);
  for (const size_t column : request.Columns()) schema_.push_back(all[column]);
  Begin();
}

void BatchBuilder::Begin() {
  batch_.rows = 0;
  batch_.columns.clear();
  for (const ColumnSpec &column : schema_) batch_.columns.emplace_back(column.type);
}

Batch BatchBuilder::Take() {
  Batch batch = std::exchange(batch_, {});
  Begin();
  // The next batch is mostly as large as the last.
  for (size_t i = 0; i < schema_.size(); ++i) batch_.columns[i].ReserveLike(batch.columns[i]);
  return batch;
}

}  // namespace smdebug::tables
