// Writes the rows of a job's steps beside its index files, so that a first scan costs a fraction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "format/step_listener.h"
#include "format/stored_rows.h"
#include "tables/request.h"
#include "tables/row_grouper.h"
#include "tables/row_recorder.h"
#include "tables/step_row.h"

namespace smdebug::tables {

// A row file holds steps of one worker in one folder of index files.  It is written when the
// folder's last step is over, when its rows take kMostBytes, and at the end.  One that cannot be
// written is not: scans then read the index files.  Safe from any thread.
//
// Invariants:
//   1. Nothing is written with the lock held.
//   2. A step whose rows are not all known is in no row file.
class RowFileWriter final : public format::StepListener {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;
  static constexpr size_t kMostNames = 50'000;
  // Writes a text under a name in the trial.
  using Put = std::function<Status(const std::string &name, const std::string &text)>;

  explicit RowFileWriter(Put put);

  void OnWritten(const format::WrittenStep &step) noexcept override SMD_EXCLUDES(mutex_);
  void OnEnd() noexcept override SMD_EXCLUDES(mutex_);

 private:
  struct File {
    std::string name;  // in the trial, and its key for EncodeRows()
    format::StoredRows rows;
  };

  void Add(const format::WrittenStep &step) SMD_REQUIRES(mutex_);
  // Ends the file that is being collected.  Returns nothing if it has no steps.
  std::optional<File> Take() SMD_REQUIRES(mutex_);
  void Drop() SMD_REQUIRES(mutex_);
  void Write(const std::optional<File> &file) const;

  const Put put_;
  const Request request_{Table::kTensors};  // of all tensors
  Mutex mutex_;
  RowGrouper grouper_ SMD_GUARDED_BY(mutex_);
  std::vector<StepRow> rows_ SMD_GUARDED_BY(mutex_);  // of one step
  std::string worker_ SMD_GUARDED_BY(mutex_);
  std::vector<format::StoredStep> steps_ SMD_GUARDED_BY(mutex_);  // in `recorder_`
  std::unique_ptr<RowRecorder> recorder_ SMD_GUARDED_BY(mutex_);
  uint64_t recorders_ SMD_GUARDED_BY(mutex_) = 0;
};

}  // namespace smdebug::tables
