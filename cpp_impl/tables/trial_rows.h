// Reads the rows of one trial.
#pragma once

#include <memory>
#include <vector>

#include "analyze/trial.h"
#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/row_writer.h"
#include "tables/step_rows.h"

namespace smdebug::tables {

// For one thread at a time.  What cannot be read is logged, or ends the reading, as the request
// says.
class TrialRows {
 public:
  static Result<std::unique_ptr<TrialRows>> Open(std::shared_ptr<const Request> request,
                                                 const FoundTrial &trial);

  bool IsAtEnd() const { return next_ >= files_.size(); }
  // Reads a few files.
  Status Read(RowWriter *writer);

 private:
  TrialRows(std::shared_ptr<const Request> request, const FoundTrial &trial,
            std::shared_ptr<storage::Store> store)
      : request_(std::move(request)), trial_(trial), store_(std::move(store)) {}

  Status Begin();
  Status LoadCollections();

  const std::shared_ptr<const Request> request_;
  const FoundTrial trial_;
  const std::shared_ptr<storage::Store> store_;
  std::shared_ptr<analyze::Trial> known_;  // for its collections
  std::vector<StepFile> files_;
  size_t next_ = 0;
  size_t at_once_ = 1;  // files
  std::unique_ptr<StepRowReader> reader_;
};

}  // namespace smdebug::tables
