// Decides, for the index files of a trial, whether their rows come from the row cache.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tables/cached_rows.h"
#include "tables/cached_writer.h"
#include "tables/request.h"
#include "tables/row_cache.h"
#include "tables/row_recorder.h"
#include "tables/step_rows.h"
#include "tables/tensor_names.h"

namespace smdebug::tables {

// A unit of the cache is what one worker recorded in a thousand steps, as a partition is.  Its rows
// come from the cache if each index file that is wanted is there in the same version.  Otherwise
// they are recorded for it, if all files of the unit are read, without a condition on tensors, and
// if they have not changed for a while.  For one thread at a time.
class CachedUnits {
 public:
  // The cache holds the numbers and texts of rows, but no elements of tensors.
  static bool CanServe(const Request &request);

  // `cache` and `request` outlive it.  `location` is the trial's.
  CachedUnits(RowCache &cache, const Request &request, std::string location, const Reads &reads,
              std::shared_ptr<const config::CollectionSet> collections);

  // Adds the index files of the trial that were listed, in order.  Returns those that are wanted.
  std::vector<StepFile> Begin(std::vector<ListedStep> listed);

  // Of the files that Begin() returned, in order: returns true if the rows of a file are cached.
  Result<bool> IsCached(size_t file);
  // Appends those of a cached file's rows that are wanted, among `most` from the row `skip` on.
  // Sets `looked_at` to the number of these rows, wanted or not; returns how many follow them.
  size_t AddPiece(size_t file, size_t skip, size_t most, std::vector<CachedPiece> *pieces,
                  size_t *looked_at) const;
  // Records rows of a file that is not cached.
  void Record(size_t file, const StepRows &step, std::span<const StepRow> rows);
  // What is being read now is damaged: it is not kept.
  void DropRecorded();
  // Declares that the file, and those before it, were read or served.  Pieces of them are invalid.
  void Pass(size_t file);

 private:
  struct Unit {
    std::string worker;
    int64_t thousand = 0;
    size_t listed = 0;              // index files
    std::vector<CachedStep> steps;  // those that are wanted
    size_t passed = 0;              // of them
    double newest = 0;              // when the last file was written
    bool is_open = false;
    std::unique_ptr<CachedRows> rows;  // if they are cached
    std::vector<CachedName> names;     // of `rows`
    bool has_all_names = true;
    std::vector<size_t> places;             // of `steps` in those of `rows`
    std::vector<size_t> first_rows;         // of the steps of `rows`
    std::unique_ptr<RowRecorder> recorder;  // if they are to be cached
  };
  struct File {
    Unit *unit;
    size_t step;  // in the unit's list
  };

  std::string KeyOf(const Unit &unit) const;
  Status Open(Unit *unit);
  // Reports whether the rows are all that the request reads of the unit's steps.
  bool Match(const CachedRows &rows, Unit *unit) const;
  Status ResolveNames(Unit *unit);
  bool CanRecord(const Unit &unit) const;
  void Close(Unit *unit);

  RowCache &cache_;
  const Request &request_;
  const std::string location_;
  const Reads reads_;
  TensorNames names_;
  std::map<std::pair<int64_t, std::string>, Unit> units_;  // by thousand and worker
  std::vector<File> files_;
  size_t passed_ = 0;  // files
  uint64_t recorders_ = 0;
};

}  // namespace smdebug::tables
