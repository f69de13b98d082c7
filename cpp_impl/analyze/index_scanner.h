// Finds and reads index files that were not read before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/index_json.h"
#include "format/paths.h"
#include "storage/store.h"

namespace smdebug::analyze {

// A range of global steps: first <= s < end.
struct StepRange {
  int64_t first = 0;
  std::optional<int64_t> end;

  bool Holds(int64_t step) const { return step >= first && (!end || step < *end); }
};

// Reads index text as format::IndexFromJson() does.  Also fails if a record is longer than any can
// be.
Result<format::IndexFile> ParseIndexFile(std::string_view text, const std::string &path,
                                         format::IndexFile spare = {});

// For one thread at a time.
class IndexScanner {
 public:
  struct Found {
    int64_t step;
    std::string worker;
    format::IndexFile index;
  };
  using IsKnown = std::function<bool(int64_t step, const std::string &worker)>;
  // May move out of it the parts that it keeps.
  using Take = std::function<void(Found &)>;

  IndexScanner(std::shared_ptr<storage::Store> store, StepRange range);

  // Reads the index files of unknown steps in range, and passes each to `take` in the order of
  // their steps: many would not fit into memory together.  If a file cannot be read, or is not an
  // index, every later call tries it again until it can be read.  `failures` gets its status the
  // first time that it fails this way.
  Status Next(const IsKnown &is_known, const Take &take, std::vector<Status> *failures);

  // Declares that files of earlier steps are no longer of interest, except those that could not be
  // read so far.
  void Settle(int64_t step);

  // Makes the next call check every file again: the last call's findings were lost.
  void StartOver() { must_start_over_ = true; }

  // Declares that no further call will follow.
  void Finish() { listing_.reset(); }

 private:
  Result<format::IndexFile> Parse(const std::string &name, const Result<std::string> &text,
                                  format::IndexFile spare) const;
  // Keeps only the files of unknown steps in range, each once, sorted by step and worker.  Returns
  // the steps and workers in their names.
  std::vector<format::StepFile> Choose(std::vector<std::string> *names, const IsKnown &is_known,
                                       std::vector<Status> *failures);
  void NoteFailure(const std::string &name, const Status &status, std::vector<Status> *failures);

  const std::shared_ptr<storage::Store> store_;
  const StepRange range_;
  std::unique_ptr<storage::Listing> listing_;
  bool must_start_over_ = false;
  std::map<std::string, Code> failed_;  // files to be tried again, with the last error
};

}  // namespace smdebug::analyze
