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

// Returns the first entry of a step, or of a later one.  Most jobs save at equal intervals, so that
// its index can be guessed, which costs fewer cache misses than a search.
std::vector<Entry>::const_iterator FirstOf(const std::vector<Entry> &entries, int64_t step) {
  const auto is_before = [](const Entry &a, int64_t b) { return a.step < b; };
  auto begin = entries.begin();
  auto end = entries.end();
  if (entries.empty() || step <= begin->step) return begin;
  if (step > entries.back().step) return end;
  const double length = static_cast<double>(entries.back().step) - static_cast<double>(begin->step);
  const double part = (static_cast<double>(step) - static_cast<double>(begin->step)) / length;
  const auto last = static_cast<std::ptrdiff_t>(entries.size()) - 1;
  const auto guess = std::min(last, static_cast<std::ptrdiff_t>(part * static_cast<double>(last)));
  constexpr std::ptrdiff_t kAround = 16;
  const auto low = begin + std::max<std::ptrdiff_t>(guess - kAround, 0);
  const auto high = begin + std::min(guess + kAround, last);
  if (low->step < step) begin = low;
  if (high->step >= step) end = high;
  return std::lower_bound(begin, end, step, is_before);
}

}  // namespace

void TensorEntries::AddShape(Mode mode, Entry entry, const format::SavedShape &shape) {
  entry.start = shapes_.size();
  shapes_.push_back(shape.shape);
  original_name_ = shape.original_name;
  Add(mode, entry);
}

void TensorEntries::AddParted(Mode mode, Entry entry, PartedRecord record) {
  parted_.push_back(std::make_shared<const PartedRecord>(std::move(record)));
  entry.parts = static_cast<uint32_t>(parted_.size());
  Add(mode, entry);
}

std::span<const Entry> TensorEntries::At(Mode mode, int64_t step) const {
  const std::vector<Entry> &entries = Of(mode);
  size_t &last_end = end_[ModeIndex(mode)];
  const bool is_next = last_end > 0 && last_end < entries.size() &&
                       entries[last_end].step == step && entries[last_end - 1].step < step;
  const auto begin =
      is_next ? entries.begin() + static_cast<std::ptrdiff_t>(last_end) : FirstOf(entries, step);
  // Usually there are only a few.
  constexpr std::ptrdiff_t kFew = 8;
  auto end = begin;
  while (end != entries.end() && end->step == step && end - begin < kFew) ++end;
  if (end - begin == kFew) {
    end = std::upper_bound(end, entries.end(), step,
                           [](int64_t a, const Entry &b) { return a < b.step; });
  }
  last_end = static_cast<size_t>(end - entries.begin());
  return {begin, end};
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
    auto tensor = std::make_unique<Tensor>(name);
    const std::string_view key = tensor->entries.Name();
    found = tensors_.emplace(key, std::move(tensor)).first;
  }
  if (last_ != nullptr) last_->next = found->second.get();
  last_ = found->second.get();
  return last_->entries;
}

void TensorTable::Add(int64_t global_step, uint16_t worker, const format::IndexFile &index) {
  for (auto at = index.tensors.begin(); at != index.tensors.end(); ++at) {
    const format::TensorLocation &location = *at;
    Entry entry{index.mode_step,
                global_step,
                location.start,
                static_cast<uint32_t>(location.length),
                location.crc32c.value_or(0),
                worker,
                EntryKind::Raw(),
                location.crc32c.has_value()};
    if (location.part) {
      if (location.part->number > 0) continue;
      GetOrCreate(location.part->tensor)
          .AddParted(index.mode, entry, PartedFrom(at, index.tensors.end()));
      continue;
    }
    std::string_view name = location.name;
    const auto saved = tensor::ParseReductionTensorName(name);
    if (saved && !saved->tensor.empty()) {
      entry.kind = EntryKind::Of(saved->reduction);
      name = saved->tensor;
    }
    GetOrCreate(name).Add(index.mode, entry);
  }
  for (const format::SavedShape &shape : index.shapes) {
    const Entry entry{index.mode_step, global_step, 0, 0, 0, worker, EntryKind::Shape(), false};
    TensorEntries &tensor = GetOrCreate(shape.name);
    tensor.AddShape(index.mode, entry, shape);
  }
}

const TensorEntries *TensorTable::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second->entries;
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
