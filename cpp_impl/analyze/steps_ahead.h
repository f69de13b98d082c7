// Reads the steps that rules will visit next, while they work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "analyze/step_reader.h"
#include "analyze/trial.h"
#include "base/byte_sink.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/thread.h"
#include "rules/source.h"
#include "storage/store.h"

namespace smdebug::analyze {

// Reads ahead where a store reads several files at once, as a bucket does, once two steps were
// visited that follow each other: more and more complete steps, in a thread that ends when it has
// read them.
//
// For one thread.  It shows what the trial knew when it read: call Forget() when the trial may look
// for more.
class StepsAhead {
 public:
  explicit StepsAhead(Trial &trial) : trial_(trial) {}
  ~StepsAhead() { Forget(); }
  StepsAhead(const StepsAhead &) = delete;
  StepsAhead &operator=(const StepsAhead &) = delete;

  // Returns the reader of a step.  Fails as Trial::ModeStepOf() and Trial::NextStep().
  Result<std::unique_ptr<StepReader>> Take(int64_t step, const rules::Source::Wants &wants);

  // Returns the step's mode and its number in that mode.  Fails as Trial::ModeStepOf().
  Result<rules::StepPlace> PlaceOf(int64_t step);

  // Waits until the thread has ended, and forgets what was read.
  void Forget();

 private:
  using Readers = std::deque<std::unique_ptr<StepReader>>;
  // Steps that are read at once.
  struct Batch {
    Readers readers;
    std::vector<FilePart *> parts;  // of the readers
    // Of each part, and for the thread until it ends: memory, what to read, and the result.
    std::vector<std::shared_ptr<AlignedBuffer>> buffers;
    std::deque<SpanSink> sinks;
    std::vector<storage::RangeRead> ranges;
    std::vector<Status> read;
    Thread thread;

    void AddParts(StepReader &reader, uint64_t *bytes);
    // Waits for the thread, and gives the parts what it has read.
    Readers Finish();
  };

  // Returns the known step after `step`.
  Result<std::optional<int64_t>> After(int64_t step);
  Result<std::unique_ptr<StepReader>> Make(int64_t step, const rules::Source::Wants &wants);
  // Begins to read steps after `step`.
  Status Begin(int64_t step, const rules::Source::Wants &wants);

  Trial &trial_;
  std::optional<int64_t> expected_;  // the known step after the one that was taken last
  size_t count_ = 1;                 // how many steps are begun next
  Readers ready_;
  std::unique_ptr<Batch> reading_;  // the steps after those in `ready_`
};

}  // namespace smdebug::analyze
