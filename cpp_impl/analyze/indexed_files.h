// Keeps what the index files list, without the names of the tensors.  No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/entry.h"
#include "analyze/per_file.h"
#include "analyze/sorted_entries.h"
#include "base/mode.h"

namespace smdebug::analyze {

// A step of a mode at which a tensor was saved.
struct SavedStep {
  int64_t step;
  int64_t global_step;
};

// A job lists the same tensors in the same order at each of its steps: files share that list, a
// layout.  Nearly always their records also have the same lengths, an arrangement.  So a further
// file adds little more than its checksums and its known numbers.  A trial has very many entries:
// they are made when they are read.  For one thread at a time, including readers.
class IndexedFiles {
 public:
  IndexedFiles();
  IndexedFiles(const IndexedFiles &) = delete;  // its orders refer to it
  IndexedFiles &operator=(const IndexedFiles &) = delete;

  // An index file: the worker's step `step` of `mode`.
  struct File {
    Mode mode;
    int64_t step;
    int64_t global_step;
    uint16_t worker;
    int64_t time = 0;  // see Entry
  };
  // A record, or a shape, in an index file.
  struct Row {
    uint32_t tensor;  // any number that the caller chooses; they should be dense
    EntryKind kind;
    bool has_crc32c;
    uint32_t crc32c;
    uint32_t length;
    uint64_t start;
    uint32_t parts;  // see Entry
    KnownNumber number = {};
  };

  // Adds what a file lists.  Of a tensor and kind that is listed twice, in the file or in files of
  // the same step and worker, the last counts.
  void Add(const File &file, std::span<const Row> rows);

  // Returns every entry of a tensor at a mode's step, by worker and kind.  Valid until the next
  // call.
  std::span<const Entry> At(uint32_t tensor, Mode mode, int64_t step) const;
  // Appends the tensors with an entry at a mode's step, ascending, each once.  It does not look at
  // the other tensors: a step may have few of very many.
  void AppendTensorsAt(Mode mode, int64_t step, std::vector<uint32_t> *tensors) const;
  bool Has(uint32_t tensor, Mode mode) const;
  // Returns the steps at which a tensor was saved, ascending; a step may be repeated.
  std::vector<SavedStep> Steps(uint32_t tensor, Mode mode) const;

  // Frees the memory that Add() works with.  Add() may be called again.
  void Settle();

  size_t Layouts() const { return layouts_.size(); }

 private:
  // A row that all files of a layout share.
  struct SharedRow {
    uint32_t tensor;
    EntryKind kind;
    bool has_crc32c;
    tensor::DType dtype;  // kInvalid: the number is not known
    uint8_t rank;
    bool operator==(const SharedRow &) const = default;
  };
  // Where the record of a row lies.
  struct Extent {
    uint64_t start;  // relative to the file's first record; for a shape, as in Entry
    uint32_t length;
    uint32_t parts;
    bool operator==(const Extent &) const = default;
  };
  struct Arrangement {
    uint64_t start;  // of the first record
    uint32_t layout;
    uint32_t block;  // of the layout's extents
    bool operator==(const Arrangement &) const = default;
  };
  struct Layout {
    Mode mode;
    uint16_t worker;
    std::vector<SharedRow> rows;       // as listed
    std::vector<uint32_t> order = {};  // the rows by tensor and kind, each once
    std::vector<Extent> extents = {};  // block by block, row by row
    std::vector<uint32_t> arrangements = {};
    std::vector<uint32_t> files = {};  // that have the layout
    PerFile<uint32_t> crcs = {};       // of each row, if any row has one
    // For each row whose number is known, its place among the floats or the other numbers.
    std::vector<uint32_t> known = {};
    PerFile<float> floats = {};    // known numbers of float32; there may be very many
    PerFile<double> numbers = {};  // other known numbers
  };
  struct StoredFile {
    int64_t step;
    int64_t global_step;
    uint32_t arrangement;
    uint32_t place;  // among the files of the layout
    int64_t time;
  };
  struct FileOrder {
    const IndexedFiles *files;
    auto operator()(uint32_t file) const {
      return std::tuple(files->files_[file].step, files->WorkerOf(file), file);
    }
  };
  using FilesByStep = SortedEntries<uint32_t, FileOrder, Kept::kLast>;
  // Where a tensor's rows are in the order of a layout.
  struct Place {
    uint32_t layout;
    uint32_t begin;
    uint32_t count;
  };
  struct Found {
    // The tensor, the step, and the number of files then.
    std::optional<std::tuple<uint32_t, int64_t, size_t>> of;
    std::vector<Entry> entries;
  };
  struct Range {
    int64_t step = -1;
    size_t begin = 0;
    size_t end = 0;
    size_t of = 0;  // the number of files when it was found
  };

  void Split(std::span<const Row> rows, uint64_t start);
  uint32_t FindLayout(const File &file);
  uint32_t MakeLayout(const File &file);
  uint32_t FindExtents(Layout *layout) const;
  uint32_t FindArrangement(const Arrangement &wanted);
  uint32_t LayoutOf(const StoredFile &file) const { return arrangements_[file.arrangement].layout; }
  uint16_t WorkerOf(uint32_t file) const { return layouts_[LayoutOf(files_[file])].worker; }
  size_t FirstAt(const std::vector<uint32_t> &files, int64_t step) const;
  std::span<const uint32_t> FilesAt(Mode mode, int64_t step) const;
  const Place *Find(uint32_t tensor, uint32_t layout) const;
  void Collect(uint32_t tensor, Mode mode, int64_t step, std::vector<Entry> *entries) const;
  void AppendEntries(const Place &place, const StoredFile &file, std::vector<Entry> *entries) const;
  static void AddNumbers(std::span<const Row> rows, Layout *layout);

  std::vector<Layout> layouts_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;  // layouts
  std::vector<Arrangement> arrangements_;                // of all layouts
  std::vector<StoredFile> files_;                        // in the order of their addition
  std::array<FilesByStep, kModes.size()> by_step_;
  std::vector<std::vector<Place>> places_;          // by tensor, then by layout
  std::vector<SharedRow> shared_;                   // of the file that is added
  std::vector<Extent> extents_;                     // of the file that is added
  mutable std::array<Found, kModes.size()> found_;  // by the last call of At() for each mode
  mutable std::array<Range, kModes.size()> last_{};
};

}  // namespace smdebug::analyze
