// Streams rows that belong to whole trials.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tables/batch_builder.h"
#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Fills batches with the rows of some trials at a time, which a subclass writes.
class TrialByTrial : public BatchStream {
 public:
  const std::vector<ColumnSpec> &Schema() const override { return builder_.Schema(); }

  Result<std::optional<Batch>> Next() override {
    while (!builder_.IsFull() && next_ < trials_.size()) SMD_RETURN_IF_ERROR(Advance());
    if (builder_.Rows() == 0) return std::optional<Batch>();
    return std::optional<Batch>(builder_.Take());
  }

 protected:
  TrialByTrial(std::shared_ptr<const Request> request, std::vector<FoundTrial> trials)
      : request_(std::move(request)),
        trials_(std::move(trials)),
        columns_(request_->Columns()),
        builder_(*request_) {}

  // Writes the rows of at least one trial, and moves `next_` behind the trials it has written.
  virtual Status Advance() = 0;

  const std::shared_ptr<const Request> request_;
  const std::vector<FoundTrial> trials_;
  const std::vector<size_t> columns_;
  size_t next_ = 0;
  BatchBuilder builder_;
};

}  // namespace smdebug::tables
