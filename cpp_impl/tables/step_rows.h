// Reads what a trial recorded, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/index_scanner.h"
#include "base/bytes.h"
#include "base/result.h"
#include "format/event_reader.h"
#include "format/index_json.h"
#include "format/record_head.h"
#include "format/scalar_record.h"
#include "storage/store.h"
#include "storage/versions.h"
#include "tables/table.h"
#include "tables/tensor_names.h"

namespace smdebug::tables {

// An index file.
struct StepFile {
  int64_t step;
  std::string worker;
  std::string name;
};

// An index file in a listing, as storage::ListedFile.
struct ListedStep {
  StepFile file;
  std::string version;
  double modified_at = 0;
};

// Selects what the reader reads of each tensor.  Names and steps are always known.
struct Reads {
  uint32_t statistics = 0;  // a bit for each column of statistics
  bool computes = false;    // those that were not saved, from the elements
  bool time = false;
  bool type = false;  // and the shape
  bool elements = false;

  bool NeedsElements() const { return elements || (computes && statistics != 0); }
};

// A tensor at one step of one worker.
struct StepRow {
  const NamedTensor *tensor = nullptr;
  std::vector<const format::TensorLocation *> raw;  // the record of its elements, or their parts
  std::vector<std::pair<size_t, const format::TensorLocation *>> reductions;  // by statistic
  const format::SavedShape *saved_shape = nullptr;
  uint32_t recorded = 0;  // a bit for each statistic in `reductions`
  uint32_t given = 0;     // a bit for each statistic that is known
  std::array<double, kStatistics> statistics{};
  std::optional<int64_t> time;   // in microseconds since 1970
  std::optional<double> scalar;  // the only element, if the reader has decoded it alone
  // The elements and their type, or the type alone.  The elements are valid during a visit.
  std::unique_ptr<format::TensorEvent> elements;
  std::unique_ptr<format::RecordHead> head;
  std::vector<std::byte> joined;  // the parts

  void Clear();
  void Set(size_t statistic, double number) {
    statistics[statistic] = number;
    given |= 1U << statistic;
  }
};

// Returns true if the record holds one number.
bool IsOfOne(const format::TensorEvent &event);

// Rows of one index file, in the order in which they were recorded.
struct StepRows {
  const StepFile *file = nullptr;
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  std::span<StepRow> rows;
};

// Reads the rows of index files.  For one thread at a time.
class StepRowReader {
 public:
  using Visit = std::function<Status(const StepRows &rows)>;
  // Receives what cannot be read.  Returns success if the reader is to go on without it.
  using Damage = std::function<Status(const Status &damage)>;

  StepRowReader(std::shared_ptr<storage::Store> store, std::shared_ptr<TensorNames> names,
                Reads reads, std::set<Mode> modes);
  ~StepRowReader();

  // Omits rows without elements, and those whose records have more bytes than a tensor of one
  // element needs.
  void OnlyScalars() { only_scalars_ = true; }
  // Returns how many files are worth reading at a time.
  size_t AtOnce() const { return static_cast<size_t>(store_->ReadsAtOnce()); }
  // Reads the files, and visits their rows in order, those of a file at once unless they are large.
  Status Read(std::span<const StepFile> files, const Visit &visit, const Damage &damage);

 private:
  struct Open;
  struct Run;

  Status Take(const StepFile &file, const Result<std::string> &text, Open *open);
  Status AddRows(Open *open);
  Result<StepRow *> RowOf(const NamedTensor &tensor, Open *open);
  bool IsScalar(const StepRow &row) const;
  // Returns true if the index has the scalar itself, in a table of scalars.
  bool HasScalar(const StepRow &row) const;
  // Returns true if the first bytes of its record are wanted, and no more.
  bool NeedsHead(const StepRow &row) const;
  // Adds the row's records to the plan.  Returns the number of bytes.
  uint64_t Plan(const StepRow &row, Open *open);
  // Reads what is planned, and visits its rows.
  Status Flush(const Visit &visit, const Damage &damage);
  void ReadPlanned();
  // Fails if a large range lies beyond the end of the file: a damaged index may name any length,
  // and memory for it is not to be allocated.
  Status CheckEnd(const std::string &file, uint64_t begin, uint64_t end);
  Status Fill(Open *open, StepRow *row);
  Status FillReductions(Open *open, StepRow *row);
  Status FillStatistic(const Open *open, const format::TensorLocation &location, size_t statistic,
                       ByteSpan bytes, StepRow *row);
  Status FillElements(Open *open, StepRow *row);
  Status JoinParts(Open *open, StepRow *row);
  void FillHead(Open *open, StepRow *row);
  // Returns the path of the event file, for messages.
  std::string PathOf(const Open *open) const;
  // Returns the bytes of a record, or its first ones.
  Result<ByteSpan> BytesOf(Open *open, const format::TensorLocation &location, uint64_t length);
  Status Compute(StepRow *row) const;

  const std::shared_ptr<storage::Store> store_;
  const std::shared_ptr<TensorNames> names_;
  const Reads reads_;
  const std::set<Mode> modes_;
  bool only_scalars_ = false;
  format::ScalarReader scalars_;
  uint64_t stamp_ = 0;                         // grows with each file
  std::vector<std::unique_ptr<Open>> open_;    // reused from call to call
  std::vector<Run> runs_;                      // planned
  uint64_t planned_ = 0;                       // bytes
  AlignedBuffer memory_;                       // for what is planned
  std::vector<const NamedRecord *> expected_;  // of the last file: the next one has mostly the same
};

// Returns the trial's index files that are wanted, by step, then by worker.
Result<std::vector<StepFile>> ListStepFiles(storage::Store &store, const analyze::StepRange &range,
                                            const std::set<std::string, std::less<>> &workers);

// Returns all index files in the folders that ListStepFiles() would look into, in the same order.
Result<std::vector<ListedStep>> ListStepVersions(storage::VersionStore &store,
                                                 const analyze::StepRange &range);

}  // namespace smdebug::tables
