// Decides, for the index files of a trial, whether their rows come from elsewhere: from the row
// cache, or from the files of rows that the job wrote.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/stored_rows.h"
#include "storage/store.h"
#include "tables/request.h"
#include "tables/row_cache.h"
#include "tables/row_files.h"
#include "tables/row_recorder.h"
#include "tables/step_rows.h"
#include "tables/stored_writer.h"
#include "tables/tensor_names.h"

namespace smdebug::tables {

// The size and time of an index file, as a listing of its folder has them.
struct IndexFacts {
  uint64_t size = 0;
  double modified_at = 0;
};

// A unit holds the steps of one worker in one folder of a thousand steps, as a partition does.  The
// rows of an index file come from the first of these that has them:
//   1. the row cache, if it has each requested index file of the unit in the same version
//   2. a row file that is not older, and lists an index file of the same name and size
//   3. the index file itself
// Rows of 3 are recorded for the cache if all files of the unit are read, without a condition on
// tensors, and have not changed for a while.  For one thread at a time.
class StoredUnits {
 public:
  // Numbers and texts of rows are stored, but no elements of tensors.
  static bool CanServe(const Request &request);

  // `cache`, which may be NULL, and `request` outlive it.  `store` is also its VersionStore.
  StoredUnits(RowCache *cache, const Request &request, std::shared_ptr<storage::Store> store,
              const Reads &reads, std::shared_ptr<const config::CollectionSet> collections);

  // Adds the index files of the trial that were listed, in order.  Returns those that are wanted.
  std::vector<StepFile> Begin(std::vector<ListedStep> listed);

  // Of the files that Begin() returned, in order: returns true if the rows of a file are stored.
  Result<bool> IsStored(size_t file);
  // Appends those of a stored file's rows that are wanted, among `most` from the row `skip` on.
  // Sets `looked_at` to the number of these rows, wanted or not; returns how many follow them.
  size_t AddPiece(size_t file, size_t skip, size_t most, std::vector<StoredPiece> *pieces,
                  size_t *looked_at) const;
  // Records rows of a file that is not stored.
  void Record(size_t file, const StepRows &step, std::span<const StepRow> rows);
  // What is being read now is damaged: it is not kept.
  void DropRecorded();
  // Declares that the file, and those before it, were read or served.  Pieces of them are invalid.
  void Pass(size_t file);

 private:
  // Rows that are stored together.
  struct Block {
    format::StoredRows rows;
    std::vector<StoredName> names;  // of `rows`
    bool has_all_names = true;
    std::vector<size_t> first_rows;  // of the steps of `rows`
    size_t left = 0;                 // steps that are to be served
  };
  struct Place {
    Block *block = nullptr;  // NULL: not stored
    size_t step = 0;         // in the block
  };
  struct Unit {
    std::string worker;
    int64_t thousand = 0;
    size_t listed = 0;                      // index files
    std::vector<format::StoredStep> steps;  // those that are wanted
    std::vector<IndexFacts> facts;          // of them
    size_t passed = 0;                      // of them
    double newest = 0;                      // when the last file was written
    bool is_open = false;
    std::vector<RowFile> files;  // that were not read so far
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Place> places;              // of `steps`
    std::unique_ptr<RowRecorder> recorder;  // if they are to be cached
  };
  struct File {
    Unit *unit;
    size_t step;  // in the unit's list
  };

  std::string KeyOf(const Unit &unit) const;
  Status Open(Unit *unit);
  // Returns false if the cache does not have all of the unit.
  Result<bool> OpenCached(Unit *unit);
  // Reads row files until one has the unit's step, or none is left that may.
  Status FindInRowFiles(size_t step, Unit *unit);
  Status ReadRowFile(const RowFile &file, Unit *unit);
  // Reports whether the rows have the columns that the request reads.
  bool HasColumns(const format::StoredRows &rows) const;
  Result<std::unique_ptr<Block>> MakeBlock(format::StoredRows rows);
  bool CanRecord(const Unit &unit) const;
  void Close(Unit *unit);

  RowCache *const cache_;
  const Request &request_;
  const std::string location_;
  const Reads reads_;
  RowFiles row_files_;
  TensorNames names_;
  std::map<std::pair<int64_t, std::string>, Unit> units_;  // by thousand and worker
  std::vector<File> files_;
  size_t passed_ = 0;  // files
  uint64_t recorders_ = 0;
};

}  // namespace smdebug::tables
