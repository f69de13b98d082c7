#include "tables/row_grouper.h"

#include <string>

namespace smdebug::tables {
namespace {

// Of several records of a statistic, the last one counts.
void AddReduction(const NamedRecord &record, const format::TensorLocation &location, StepRow *row) {
  const size_t statistic = *record.statistic;
  const uint32_t bit = 1U << statistic;
  if ((row->recorded & bit) == 0) {
    row->recorded |= bit;
    row->reductions.emplace_back(statistic, &location);
    return;
  }
  // The original computes norms of absolute values in another way; those of the elements are meant.
  if (record.is_absolute_norm) return;
  for (auto &[known, place] : row->reductions) {
    if (known == statistic) place = &location;
  }
}

}  // namespace

StepRow *RowGrouper::RowOf(const NamedTensor &tensor, std::vector<StepRow> *rows) {
  if (tensor.row_of != stamp_) {
    tensor.row_of = stamp_;
    tensor.row = count_++;
    if (rows->size() < count_) rows->emplace_back();
    (*rows)[tensor.row].Clear();
    (*rows)[tensor.row].tensor = &tensor;
  }
  return &(*rows)[tensor.row];
}

Result<size_t> RowGrouper::Group(const format::IndexFile &index, std::vector<StepRow> *rows) {
  ++stamp_;
  count_ = 0;
  size_t position = 0;
  for (const format::TensorLocation &location : index.tensors) {
    const std::string &name = location.part ? location.part->tensor : location.name;
    const size_t at = position++;
    const NamedRecord *record = at < expected_.size() ? expected_[at] : nullptr;
    if (record == nullptr || record->name != name) {
      SMD_ASSIGN_OR_RETURN(record, names_->Record(name));
      if (expected_.size() <= at) expected_.resize(at + 1, nullptr);
      expected_[at] = record;
    }
    if (!record->tensor->is_wanted) continue;
    StepRow *const row = RowOf(*record->tensor, rows);
    if (record->statistic) {
      AddReduction(*record, location, row);
    } else if (!location.part) {
      row->raw.assign(1, &location);  // the last one counts, as for a trial
    } else if (location.part->number == row->raw.size()) {
      row->raw.push_back(&location);
    }
  }
  for (const format::SavedShape &shape : index.shapes) {
    SMD_ASSIGN_OR_RETURN(const NamedTensor *const tensor, names_->Tensor(shape.name));
    if (tensor->is_wanted) RowOf(*tensor, rows)->saved_shape = &shape;
  }
  return count_;
}

void RowGrouper::Trim(size_t most) {
  if (names_->Trim(most)) expected_.clear();
}

}  // namespace smdebug::tables
