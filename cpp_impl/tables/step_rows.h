// Reads what a trial recorded, row by row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyze/index_scanner.h"
#include "base/bytes.h"
#include "base/result.h"
#include "format/index_json.h"
#include "format/scalar_record.h"
#include "storage/store.h"
#include "storage/versions.h"
#include "tables/row_grouper.h"
#include "tables/step_row.h"

namespace smdebug::tables {

// An index file in a listing, as storage::ListedFile.
struct ListedStep {
  StepFile file;
  std::string version;
  double modified_at = 0;
  uint64_t size = 0;
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
  RowGrouper grouper_;
  const Reads reads_;
  const std::set<Mode> modes_;
  bool only_scalars_ = false;
  format::ScalarReader scalars_;
  std::vector<std::unique_ptr<Open>> open_;  // reused from call to call
  std::vector<Run> runs_;                    // planned
  uint64_t planned_ = 0;                     // bytes
  AlignedBuffer memory_;                     // for what is planned
};

// Returns the trial's index files that are wanted, by step, then by worker.
Result<std::vector<StepFile>> ListStepFiles(storage::Store &store, const analyze::StepRange &range,
                                            const std::set<std::string, std::less<>> &workers);

// A file of rows that a worker wrote beside its index files.
struct RowFile {
  int64_t first = 0;  // of its steps, which are of one thousand
  std::string worker;
  std::string name;
  std::string version;     // as ListedStep's
  double modified_at = 0;  // seconds since 1970
  uint64_t size = 0;       // bytes
};

// Returns the trial's row files in the folders that the range needs, by their first steps.
Result<std::vector<RowFile>> ListRowFiles(storage::VersionStore &store,
                                          const analyze::StepRange &range);

// Returns all index files in the folders that ListStepFiles() would look into, in the same order.
Result<std::vector<ListedStep>> ListStepVersions(storage::VersionStore &store,
                                                 const analyze::StepRange &range);

}  // namespace smdebug::tables
