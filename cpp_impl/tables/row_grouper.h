// Groups the records of an index file by tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "format/index_json.h"
#include "tables/step_row.h"
#include "tables/tensor_names.h"

namespace smdebug::tables {

// For one thread at a time.
class RowGrouper {
 public:
  explicit RowGrouper(std::shared_ptr<TensorNames> names) : names_(std::move(names)) {}

  // Fills the first of `rows`, one for each tensor that is wanted, in the order of the index; adds
  // rows if there are too few.  Returns their number.  They point into `index`, and are valid until
  // Trim().  Fails as TensorNames.
  Result<size_t> Group(const format::IndexFile &index, std::vector<StepRow> *rows);
  // If there are more names than that, forgets them.
  void Trim(size_t most = TensorNames::kMost);

 private:
  StepRow *RowOf(const NamedTensor &tensor, std::vector<StepRow> *rows);

  const std::shared_ptr<TensorNames> names_;
  uint64_t stamp_ = 0;                         // grows with each index
  size_t count_ = 0;                           // rows of this index
  std::vector<const NamedRecord *> expected_;  // of the last one: the next one has mostly the same
};

}  // namespace smdebug::tables
