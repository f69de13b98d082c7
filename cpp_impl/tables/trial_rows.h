// Reads the rows of one trial.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyze/trial.h"
#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/row_writer.h"
#include "tables/step_rows.h"
#include "tables/stored_units.h"
#include "tables/stored_writer.h"

namespace smdebug::tables {

// Where the rows go.
struct RowWriters {
  RowWriter of_steps;
  StoredWriter of_stored;

  RowWriters(const Request &request, BatchBuilder *builder)
      : of_steps(request, builder), of_stored(request, builder) {}
};

// For one thread at a time.  What cannot be read is logged, or ends the reading, as the request
// says.
class TrialRows {
 public:
  // `cache` may be NULL; it outlives the rows.
  static Result<std::unique_ptr<TrialRows>> Open(std::shared_ptr<const Request> request,
                                                 RowCache *cache, const FoundTrial &trial);

  bool IsAtEnd() const { return next_ >= files_.size(); }
  // Reads a few files.
  Status Read(RowWriters *writers);

 private:
  TrialRows(std::shared_ptr<const Request> request, const FoundTrial &trial,
            std::shared_ptr<storage::Store> store)
      : request_(std::move(request)), trial_(trial), store_(std::move(store)) {}

  Status Begin(RowCache *cache);
  Status LoadCollections();
  Status ReadStored(StoredWriter *writer);
  // Returns how many of the next files are to be read, at most `at_once_`.
  Result<size_t> CountUnstored();
  Status ReadFiles(size_t count, RowWriter *writer);
  Status NoteDamage(const Status &damage);

  const std::shared_ptr<const Request> request_;
  const FoundTrial trial_;
  const std::shared_ptr<storage::Store> store_;
  std::shared_ptr<analyze::Trial> known_;  // for its collections
  std::vector<StepFile> files_;
  std::unique_ptr<StoredUnits> units_;  // NULL: only index files are read
  size_t next_ = 0;
  std::set<std::string, std::less<>> told_;  // damage that was logged
  size_t served_ = 0;                        // rows of the next file that are stored
  size_t at_once_ = 1;                       // files
  std::unique_ptr<StepRowReader> reader_;
};

}  // namespace smdebug::tables
