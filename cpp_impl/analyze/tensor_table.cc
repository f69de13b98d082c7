#include "analyze/tensor_table.h"

#include <algorithm>
#include <tuple>

namespace smdebug::analyze {
namespace {

auto Key(const Entry &entry) { return std::tuple(entry.step, entry.worker, entry.kind); }

}  // namespace

void TensorEntries::Add(Mode mode, const Entry &entry) {
  std::vector<Entry> &entries = entries_[ModeIndex(mode)];
  if (entries.empty() || Key(entries.back()) < Key(entry)) {
    entries.push_back(entry);
    return;
  }
  const auto at = std::lower_bound(entries.begin(), entries.end(), entry,
                                   [](const Entry &a, const Entry &b) { return Key(a) < Key(b); });
  if (at != entries.end() && Key(*at) == Key(entry)) {
    *at = entry;
  } else {
    entries.insert(at, entry);
  }
}

void TensorEntries::AddShape(Mode mode, Entry entry, format::SavedShape shape) {
  entry.start = shapes_.size();
  shapes_.push_back(std::move(shape.shape));
  original_name_ = std::move(shape.original_name);
  Add(mode, entry);
}

std::span<const Entry> TensorEntries::At(Mode mode, int64_t step) const {
  const std::vector<Entry> &entries = entries_[ModeIndex(mode)];
  const auto begin = std::lower_bound(entries.begin(), entries.end(), step,
                                      [](const Entry &a, int64_t b) { return a.step < b; });
  auto end = begin;
  while (end != entries.end() && end->step == step) ++end;
  return {begin, end};
}

TensorEntries &TensorTable::GetOrCreate(std::string_view name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return *found->second;
  sorted_.clear();
  std::string key(name);
  auto entries = std::make_unique<TensorEntries>(key);
  return *tensors_.emplace(std::move(key), std::move(entries)).first->second;
}

void TensorTable::Add(int64_t global_step, uint16_t worker, format::IndexFile index) {
  for (const format::TensorLocation &location : index.tensors) {
    Entry entry{index.mode_step,
                global_step,
                location.start,
                static_cast<uint32_t>(location.length),
                location.crc32c.value_or(0),
                worker,
                EntryKind::Raw(),
                location.crc32c.has_value()};
    std::string_view name = location.name;
    if (const auto saved = tensor::ParseReductionTensorName(name)) {
      entry.kind = EntryKind::Of(saved->reduction);
      name = saved->tensor;
    }
    GetOrCreate(name).Add(index.mode, entry);
  }
  for (format::SavedShape &shape : index.shapes) {
    const Entry entry{index.mode_step, global_step, 0, 0, 0, worker, EntryKind::Shape(), false};
    TensorEntries &tensor = GetOrCreate(shape.name);
    tensor.AddShape(index.mode, entry, std::move(shape));
  }
}

const TensorEntries *TensorTable::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second.get();
}

const std::vector<const TensorEntries *> &TensorTable::Sorted() const {
  if (sorted_.empty() && !tensors_.empty()) {
    sorted_.reserve(tensors_.size());
    for (const auto &[name, entries] : tensors_) sorted_.push_back(entries.get());
    std::sort(sorted_.begin(), sorted_.end(),
              [](const auto *a, const auto *b) { return a->Name() < b->Name(); });
  }
  return sorted_;
}

}  // namespace smdebug::analyze
