#include "analyze/tensor_table.h"

#include <algorithm>
#include <utility>

namespace smdebug::analyze {
namespace {

using Locations = std::vector<format::TensorLocation>;

// Returns the record whose parts begin at `first`.
PartedRecord PartedFrom(Locations::const_iterator first, Locations::const_iterator end) {
  PartedRecord record{first->part->shape, {}};
  for (auto at = first; at != end && at->part && at->part->number == record.parts.size(); ++at) {
    record.parts.push_back({at->start, at->length, at->crc32c});
  }
  return record;
}

// Returns when the first record with a known number was made, or 0.
int64_t TimeOf(const format::IndexFile &index) {
  const auto first = std::find_if(
      index.tensors.begin(), index.tensors.end(),
      [](const format::TensorLocation &location) { return location.number.has_value(); });
  return first == index.tensors.end() ? 0 : first->number->time;
}

}  // namespace

// Nearly always the tensor's shape is one of the last ones.
uint64_t TensorEntries::AddShape(const format::SavedShape &shape) {
  if (original_name_ != shape.original_name) original_name_ = shape.original_name;
  constexpr size_t kRecent = 8;
  for (size_t i = shapes_.size(); i > 0 && shapes_.size() - i < kRecent; --i) {
    if (shapes_[i - 1] == shape.shape) return i - 1;
  }
  shapes_.push_back(shape.shape);
  return shapes_.size() - 1;
}

uint32_t TensorEntries::AddParted(PartedRecord record) {
  parted_.push_back(std::make_shared<const PartedRecord>(std::move(record)));
  return static_cast<uint32_t>(parted_.size());
}

// A job lists its tensors in the same order at every step, and each tensor's reductions together.
// Then no lookup is necessary.
TensorEntries &TensorTable::GetOrCreate(std::string_view name) {
  for (Tensor *expected : {last_, last_ == nullptr ? nullptr : last_->next}) {
    if (expected == nullptr || expected->entries.Name() != name) continue;
    last_ = expected;
    return expected->entries;
  }
  auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    sorted_.clear();
    auto tensor = std::make_unique<Tensor>(name, static_cast<uint32_t>(by_number_.size()), files_);
    const std::string_view key = tensor->entries.Name();
    by_number_.push_back(&tensor->entries);
    found = tensors_.emplace(key, std::move(tensor)).first;
  }
  if (last_ != nullptr) last_->next = found->second.get();
  last_ = found->second.get();
  return last_->entries;
}

void TensorTable::AddRecords(const format::IndexFile &index) {
  for (auto at = index.tensors.begin(); at != index.tensors.end(); ++at) {
    const format::TensorLocation &location = *at;
    IndexedFiles::Row row{0,
                          EntryKind::Raw(),
                          location.crc32c.has_value(),
                          location.crc32c.value_or(0),
                          static_cast<uint32_t>(location.length),
                          location.start,
                          0};
    if (location.part) {
      if (location.part->number > 0) continue;
      TensorEntries &tensor = GetOrCreate(location.part->tensor);
      row.tensor = tensor.Number();
      row.parts = tensor.AddParted(PartedFrom(at, index.tensors.end()));
      rows_.push_back(row);
      continue;
    }
    std::string_view name = location.name;
    const auto saved = tensor::ParseReductionTensorName(name);
    if (saved && !saved->tensor.empty()) {
      row.kind = EntryKind::Of(saved->reduction);
      name = saved->tensor;
    }
    if (location.number && keeps_numbers_) {
      row.number = {location.number->number, location.number->dtype, location.number->rank};
    }
    row.tensor = GetOrCreate(name).Number();
    rows_.push_back(row);
  }
}

void TensorTable::Add(int64_t global_step, uint16_t worker, const format::IndexFile &index) {
  rows_.clear();
  AddRecords(index);
  for (const format::SavedShape &shape : index.shapes) {
    TensorEntries &tensor = GetOrCreate(shape.name);
    const uint64_t start = tensor.AddShape(shape);
    rows_.push_back({tensor.Number(), EntryKind::Shape(), false, 0, 0, start, 0});
  }
  files_.Add({index.mode, index.mode_step, global_step, worker, TimeOf(index)}, rows_);
}

void TensorTable::Settle() {
  rows_ = {};
  files_.Settle();
}

const TensorEntries *TensorTable::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second->entries;
}

std::vector<const TensorEntries *> TensorTable::At(std::span<const ModeStep> places) const {
  std::vector<uint32_t> numbers;
  for (const ModeStep &place : places) files_.AppendTensorsAt(place.mode, place.step, &numbers);
  if (places.size() > 1) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }
  std::vector<const TensorEntries *> tensors;
  tensors.reserve(numbers.size());
  for (const uint32_t number : numbers) tensors.push_back(by_number_[number]);
  return tensors;
}

const std::vector<const TensorEntries *> &TensorTable::Sorted() const {
  if (sorted_.empty() && !tensors_.empty()) {
    sorted_.reserve(tensors_.size());
    for (const auto &[name, tensor] : tensors_) sorted_.push_back(&tensor->entries);
    std::sort(sorted_.begin(), sorted_.end(),
              [](const auto *a, const auto *b) { return a->Name() < b->Name(); });
  }
  return sorted_;
}

}  // namespace smdebug::analyze
