// What waits to be written: a lane a step, so that several steps' event files can be
// written at a time while their index files keep the steps' order.
#pragma once

#include <cstdint>
#include <deque>
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
    kSeal,   // the step's last batch; the event file gets its name after it
    kIndex,  // what a seal becomes: the index file is due
    kPut,    // a small file of its own
    kOffer,  // one that nothing depends on
  };
  Kind kind = Kind::kBatch;
  Batch batch{};
  std::string spilled{};  // where the batch's bytes are, if not in memory
  uint64_t weight = 0;    // bytes it counts for in the queue
  // kPut, kOffer; for kOffer where it goes.
  std::shared_ptr<storage::Store> store{};
  std::string name{};
  std::string text{};
  uint64_t sequence = 0;
};

struct Lane {
  std::shared_ptr<Step> step;  // NULL for a small file
  // The first one is being worked on while the lane is taken.
  std::deque<Item> items;
  std::unique_ptr<StepFile> file;
  uint64_t begin = 0;  // of its first item
  bool is_taken = false;
};

// For one thread at a time; what is in a lane that is taken is the taker's, but for the
// end of its items.
class StepLanes {
 public:
  // At most so many lanes from the first are worked on, so that what was saved first is
  // seen first.
  explicit StepLanes(size_t ahead) : ahead_(ahead) {}

  // A step is sealed or given up before the first item of the next one.
  void Add(std::shared_ptr<Step> step, Item item);

  // Adds a small file that is to be there before the step's index file is; the step is the
  // newest one, and not sealed yet.
  void AddBefore(const std::shared_ptr<Step> &step, Item item);

  // The first lane that has something to do, or nullptr.  Index files and small files
  // are done in the first lane only.
  std::shared_ptr<Lane> Take();
  bool HasWork() const;

  // Ends the taking; `is_done` removes the lane.
  void GiveBack(Lane &lane, bool is_done);

  // Whether every item that was the `sequence`th ever added, or came before, is done.
  bool IsDoneUpTo(uint64_t sequence) const;
  uint64_t LastSequence() const { return last_sequence_; }

  // Takes out all lanes but those at whose end somebody works.
  std::vector<std::shared_ptr<Lane>> TakeOutRest();

 private:
  using Lanes = std::deque<std::shared_ptr<Lane>>;

  // The newest step's lane; behind it there may be small files.
  Lanes::iterator Newest();
  bool HasWork(size_t index) const;

  const size_t ahead_;
  Lanes lanes_;
  uint64_t last_sequence_ = 0;
};

}  // namespace smdebug::record
