// Holds the items to write, in one lane per step: several event files can be written at a time,
// while index files appear in the order of the steps.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "record/batch.h"
#include "record/step_file.h"
#include "storage/store.h"

namespace smdebug::record {

struct Item {
  enum class Kind {
    kBatch,
    kSeal,          // the step's last batch; the event file gets its name after it
    kIndex,         // what a seal becomes: the index file is due
    kFile,          // a small file of its own
    kOptionalFile,  // a file that nothing depends on
  };
  Kind kind = Kind::kBatch;
  Batch batch{};
  std::string spilled{};  // where the batch's bytes are, if not in memory
  uint64_t weight = 0;    // bytes it counts for in the queue
  // A small file: its name, its text, and the store of an optional one.
  std::shared_ptr<storage::Store> store{};
  std::string name{};
  std::string text{};
  uint64_t sequence = 0;
};

struct Lane {
  std::shared_ptr<Step> step;  // NULL for a small file
  // While the lane is taken, its worker works on the first one.  A list, so that items leave it
  // without an allocation and are destroyed without the queue's lock.
  std::list<Item> items;
  std::unique_ptr<StepFile> file;
  uint64_t begin = 0;  // of its first item
  bool is_taken = false;
  bool is_held = false;  // later steps may have items before it is sealed
};

// Thread safety: every function needs the queue's lock.
//
// Invariants:
//   1. Lanes are sorted by the sequence of their first items; lanes of steps are in step order.
//   2. A lane is taken by at most one worker.  The first item and the file of a taken lane are
//      that worker's, without the lock; the rest of the lane needs the lock.
//   3. Only the first lane's index or small file is worked on, so they appear in order.  Small
//      files do not wait for held lanes: they go before the first one.
//   4. A lane is removed when its last item is done, or its step is dropped and no worker has
//      it.
class StepLanes {
 public:
  // Works on at most `ahead` lanes from the first, so that earlier steps become visible first.
  explicit StepLanes(size_t ahead) : ahead_(ahead) {}

  // A step must be sealed, dropped or held before the first item of the next one.
  void Add(std::shared_ptr<Step> step, Item item);

  // Adds a small file that must be written before the step's index file.  The step is not sealed
  // yet.
  void AddBefore(const std::shared_ptr<Step> &step, Item item);

  // Keeps the step's place in the order until it is sealed, while later steps add items.
  void Hold(const std::shared_ptr<Step> &step);

  // Returns the first lane with work to do, or nullptr.
  std::shared_ptr<Lane> Take();
  bool HasWork() const;

  // Returns a taken lane; `is_done` removes it.
  void GiveBack(Lane &lane, bool is_done);

  // Reports whether the first `sequence` items ever added are done.
  bool IsDoneUpTo(uint64_t sequence) const;
  uint64_t LastSequence() const { return last_sequence_; }

  // Removes all lanes, except those whose last item is being worked on.
  std::vector<std::shared_ptr<Lane>> RemoveRest();

 private:
  using Lanes = std::deque<std::shared_ptr<Lane>>;

  // Returns the step's lane.  If it has none, returns the first lane of a later step, or the end.
  Lanes::iterator PlaceOf(const Step &step);
  void InsertBefore(Lanes::iterator place, Item item);
  bool HasWork(size_t index) const;
  // Returns how many lanes from the first one may be worked on.  Behind a held lane, all of them,
  // so that the queue empties: the hook bounds their number.
  size_t Reach() const;

  const size_t ahead_;
  Lanes lanes_;
  uint64_t last_sequence_ = 0;
};

}  // namespace smdebug::record
