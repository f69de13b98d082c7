// Reads the row files of a trial.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/record.h"
#include "base/result.h"
#include "format/stored_rows.h"
#include "storage/store.h"
#include "storage/versions.h"
#include "tables/request.h"
#include "tables/row_cache.h"
#include "tables/step_row.h"
#include "tables/step_rows.h"

namespace smdebug::tables {

// Returns what a row file knows of each row: all but the elements.
Reads AllReads();
// Returns the version of an index file in a row file.
std::string VersionOf(uint64_t index_size);

// Returns those rows of a row file that belong to a request's table, with the columns that `reads`
// names, as the row cache has them.  Returns nothing if they are not those of a row file.
std::optional<format::StoredRows> SelectRows(format::StoredRows rows, Table table,
                                             const Reads &reads);

// For one thread at a time.
class RowFiles {
 public:
  // `store` is also its VersionStore.  The cache, if it is not NULL, keeps the files of buckets.
  RowFiles(std::shared_ptr<storage::Store> store, const analyze::StepRange &range, RowCache *cache);

  // Returns a worker's files of a thousand steps, by their first steps.
  std::vector<RowFile> Of(std::string_view worker, int64_t thousand);
  // Returns what a file holds.  Returns nothing if it is damaged, too large or cannot be read.
  std::optional<format::StoredRows> Read(const RowFile &file);

 private:
  const std::shared_ptr<storage::Store> store_;
  const analyze::StepRange range_;
  RowCache *const cache_;                      // NULL: files are not cached
  std::optional<std::vector<RowFile>> files_;  // once they are listed
};

}  // namespace smdebug::tables
