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

// Global steps first <= s < end.
struct StepRange {
  int64_t first = 0;
  std::optional<int64_t> end;

  bool Holds(int64_t step) const { return step >= first && (!end || step < *end); }
};

// For one thread at a time.
class IndexScanner {
 public:
  struct Found {
    int64_t step;
    std::string worker;
    format::IndexFile index;
  };
  using IsKnown = std::function<bool(int64_t step, const std::string &worker)>;
  // May take out of it what it keeps.
  using Take = std::function<void(Found &)>;

  IndexScanner(std::shared_ptr<storage::Store> store, StepRange range);

  // Reads the index files of steps in range that are not known, and gives each to `take`
  // in the order of their names: many would not fit into memory side by side.  One that
  // cannot be read, or holds something else, is tried again at every call until it can;
  // `failure` gets the first one's status the first time that it fails.
  Status Next(const IsKnown &is_known, const Take &take, Status *failure);

  // Says that no file of an earlier step is of interest any more, but those that
  // could not be read so far.
  void Settle(int64_t step);

  // Has the next call look at every file again: what the last one found was lost.
  void StartOver() { must_start_over_ = true; }

  // Says that there will be no further call.
  void Finish() { listing_.reset(); }

 private:
  Result<format::IndexFile> Parse(const std::string &name, const Result<std::string> &text,
                                  format::IndexFile spare) const;
  // Leaves only the files of steps in range that are not known, each once, sorted; returns
  // what their names say.
  std::vector<format::StepFile> Choose(std::vector<std::string> *names,
                                       const IsKnown &is_known) const;
  void NoteFailure(const std::string &name, const Status &status, Status *failure);

  const std::shared_ptr<storage::Store> store_;
  const StepRange range_;
  std::unique_ptr<storage::Listing> listing_;
  bool must_start_over_ = false;
  std::map<std::string, Code> failed_;  // files to be tried again, and why
};

}  // namespace smdebug::analyze
