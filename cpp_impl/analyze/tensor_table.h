// Keeps the positions of each tensor's records.  No I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/entry.h"
#include "analyze/indexed_files.h"
#include "analyze/step_table.h"
#include "base/mode.h"
#include "format/index_json.h"

namespace smdebug::analyze {

// The entries of one tensor.  For one thread at a time, as all tensors of a table.
class TensorEntries {
 public:
  // `files` must outlive this, and knows the tensor by `number`.
  TensorEntries(std::string name, uint32_t number, const IndexedFiles &files)
      : name_(std::move(name)), number_(number), files_(files) {}

  const std::string &Name() const { return name_; }
  const std::string &OriginalName() const { return original_name_; }
  uint32_t Number() const { return number_; }

  // Returns the `start` of the entry for a shape.
  uint64_t AddShape(const format::SavedShape &shape);
  const std::vector<int64_t> &ShapeOf(const Entry &entry) const { return shapes_[entry.start]; }
  // Returns the `parts` of the entry for the record.
  uint32_t AddParted(PartedRecord record);
  // Returns NULL for an entry of one record.
  PartedRecordPtr PartsOf(const Entry &entry) const {
    return entry.parts == 0 ? nullptr : parted_[entry.parts - 1];
  }

  // Returns every entry of a mode's step, by worker and kind.  Valid until the next call for any
  // tensor of the table.
  std::span<const Entry> At(Mode mode, int64_t step) const {
    return files_.At(number_, mode, step);
  }
  bool Has(Mode mode) const { return files_.Has(number_, mode); }
  // Returns the steps of a mode, ascending; a step may be repeated.
  std::vector<SavedStep> Steps(Mode mode) const { return files_.Steps(number_, mode); }

 private:
  const std::string name_;
  const uint32_t number_;
  const IndexedFiles &files_;
  std::string original_name_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<PartedRecordPtr> parted_;
};

// For one thread at a time.
class TensorTable {
 public:
  // Without `keeps_numbers`, forgets the numbers that index files have.
  explicit TensorTable(bool keeps_numbers = true) : keeps_numbers_(keeps_numbers) {}
  TensorTable(const TensorTable &) = delete;  // its tensors refer to it
  TensorTable &operator=(const TensorTable &) = delete;

  // Stores all entries of the index file of that worker and step.
  void Add(int64_t global_step, uint16_t worker, const format::IndexFile &index);

  // Frees the memory that Add() works with.  Add() may be called again.
  void Settle();

  // Returns NULL if no tensor has that name.  The pointer stays valid as the table grows.
  const TensorEntries *Find(std::string_view name) const;
  // Returns the tensors with an entry at a step of any of these modes, each once, in no order.
  std::vector<const TensorEntries *> At(std::span<const ModeStep> places) const;
  // Returns all tensors, sorted by name.
  const std::vector<const TensorEntries *> &Sorted() const;

 private:
  struct Tensor {
    Tensor(std::string_view name, uint32_t number, const IndexedFiles &files)
        : entries(std::string(name), number, files) {}
    TensorEntries entries;
    Tensor *next = nullptr;  // the tensor that followed last time
  };
  TensorEntries &GetOrCreate(std::string_view name);
  void AddRecords(const format::IndexFile &index);

  const bool keeps_numbers_;
  IndexedFiles files_;
  std::vector<IndexedFiles::Row> rows_;  // of the file that is added
  std::unordered_map<std::string_view, std::unique_ptr<Tensor>> tensors_;  // by name
  std::vector<const TensorEntries *> by_number_;
  Tensor *last_ = nullptr;                             // the last tensor found or created
  mutable std::vector<const TensorEntries *> sorted_;  // empty if it must be rebuilt
};

}  // namespace smdebug::analyze
