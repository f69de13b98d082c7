// Reads a table of trials, or divides it into partitions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Finds the trials, then reads rows as the caller asks for them.  Fails as Request::Check() and
// FindTrials().
Result<std::unique_ptr<BatchStream>> OpenScan(std::shared_ptr<const Request> request);

// A part of a scan.  The rows of all parts are those of the scan.
struct Partition {
  std::string path;    // of the trial
  std::string name;    // of the trial
  std::string worker;  // empty: all
  int64_t first = 0;   // global steps
  int64_t end = -1;    // -1: no end
};

// For tensors and scalars, a partition is what a worker recorded in a thousand steps; for findings
// and trials, it is a trial.  A trial that cannot be listed is one partition, whose scan says why.
// Fails as OpenScan().
Result<std::vector<Partition>> PartitionsOf(const Request &request);

}  // namespace smdebug::tables
