// Keeps the positions of each tensor's records.  No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/sorted_entries.h"
#include "analyze/step_table.h"
#include "base/mode.h"
#include "format/index_json.h"
#include "tensor/reduction.h"

namespace smdebug::analyze {

// The kind of an entry: the tensor, its shape, or one of its reductions.
class EntryKind {
 public:
  static EntryKind Raw() { return EntryKind(0); }
  static EntryKind Shape() { return EntryKind(1); }
  static EntryKind Of(tensor::Reduction reduction) {
    return EntryKind(static_cast<uint8_t>(2 + reduction.Index()));
  }
  std::optional<tensor::Reduction> AsReduction() const {
    if (number_ < 2) return {};
    return tensor::Reduction::FromIndex(number_ - size_t{2});
  }
  bool operator==(const EntryKind &other) const { return number_ == other.number_; }
  bool operator<(const EntryKind &other) const { return number_ < other.number_; }

 private:
  explicit EntryKind(uint8_t number) : number_(number) {}
  uint8_t number_;
};

// One record, or one saved shape, of a tensor.  A trial has very many of these.
struct Entry {
  int64_t step;  // of the mode that the entry is stored under
  int64_t global_step;
  uint64_t start;  // the record's start; for a shape, its index among the tensor's shapes
  uint32_t length;
  uint32_t crc32c;
  uint16_t worker;
  EntryKind kind;
  bool has_crc32c;
  // If it is not 0, the tensor's elements are in several records: one more than their index among
  // those of the tensor, and the entry describes the first one.
  uint32_t parts = 0;
};

// The records of a tensor that was too large for one, in order.
struct PartedRecord {
  struct Part {
    uint64_t start;
    uint64_t length;
    std::optional<uint32_t> crc32c;
  };
  std::vector<int64_t> shape;  // of the tensor
  std::vector<Part> parts;
};
using PartedRecordPtr = std::shared_ptr<const PartedRecord>;

struct EntryKey {
  auto operator()(const Entry &entry) const {
    return std::tuple(entry.step, entry.worker, entry.kind);
  }
};

// The entries of one tensor.  For one thread at a time.
class TensorEntries {
 public:
  explicit TensorEntries(std::string name) : name_(std::move(name)) {}

  const std::string &Name() const { return name_; }
  const std::string &OriginalName() const { return original_name_; }

  // Replaces an entry of the same step, worker and kind.
  void Add(Mode mode, const Entry &entry) { entries_[ModeIndex(mode)].Add(entry); }
  void AddShape(Mode mode, Entry entry, const format::SavedShape &shape);
  const std::vector<int64_t> &ShapeOf(const Entry &entry) const { return shapes_[entry.start]; }
  void AddParted(Mode mode, Entry entry, PartedRecord record);
  // Returns NULL for an entry of one record.
  PartedRecordPtr PartsOf(const Entry &entry) const {
    return entry.parts == 0 ? nullptr : parted_[entry.parts - 1];
  }

  // Returns every entry of a mode's step, by worker and kind.
  std::span<const Entry> At(Mode mode, int64_t step) const;
  // Returns every entry of a mode, by step.
  const std::vector<Entry> &Of(Mode mode) const { return entries_[ModeIndex(mode)].All(); }

 private:
  const std::string name_;
  std::string original_name_;
  std::array<SortedEntries<Entry, EntryKey, Kept::kLast>, kModes.size()> entries_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<PartedRecordPtr> parted_;
  // For each mode, where the entries that `At` found last end: steps are mostly read in order.
  mutable std::array<size_t, kModes.size()> end_{};
};

// For one thread at a time.
class TensorTable {
 public:
  // Stores all entries of the index file of that worker and step.
  void Add(int64_t global_step, uint16_t worker, const format::IndexFile &index);

  // Returns NULL if no tensor has that name.  The pointer stays valid as the table grows.
  const TensorEntries *Find(std::string_view name) const;
  // Returns all tensors, sorted by name.
  const std::vector<const TensorEntries *> &Sorted() const;

 private:
  struct Tensor {
    explicit Tensor(std::string_view name) : entries(std::string(name)) {}
    TensorEntries entries;
    Tensor *next = nullptr;  // the tensor that followed last time
  };
  TensorEntries &GetOrCreate(std::string_view name);

  std::unordered_map<std::string_view, std::unique_ptr<Tensor>> tensors_;  // by name
  Tensor *last_ = nullptr;                             // the last tensor found or created
  mutable std::vector<const TensorEntries *> sorted_;  // empty if it must be rebuilt
};

}  // namespace smdebug::analyze
