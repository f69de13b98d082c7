// Reads the contents of a step for rules.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyze/trial.h"
#include "base/bytes.h"
#include "format/scalar_record.h"
#include "rules/source.h"

namespace smdebug::analyze {

// A part of an event file, which is read in one call.
struct FilePart {
  const std::string *file = nullptr;
  uint64_t offset = 0;
  uint64_t length = 0;                         // 0: a part does not pay
  std::shared_ptr<const AlignedBuffer> bytes;  // NULL: not read
};

// Reads one step.  For one thread.
class StepReader {
 public:
  // Selects what `wants` says of what the trial knows of the step now.
  StepReader(Trial &trial, rules::StepPlace place, const rules::Source::Wants &wants);
  StepReader(const StepReader &) = delete;
  StepReader &operator=(const StepReader &) = delete;

  int64_t Step() const { return place_.step; }
  // What Visit() reads, unless the caller has: one part for each worker.
  std::vector<FilePart> &Parts() { return parts_; }

  // Visits the step as rules::Source::VisitStep() does.
  Status Visit(const rules::Source::Visit &visit);
  // Returns the time at which a visited record was created, in seconds since 1970, or NaN if none
  // was read.
  double WallSeconds() const { return wall_seconds_; }

 private:
  using Record = StepRecords::Record;
  // The records of one worker for one tensor.
  struct Recorded {
    std::span<const Record> records;
    uint64_t begin;  // the position of the first record in its file

    const std::string &Worker() const { return *records.front().worker; }
  };

  // Returns the records in the order in which they are visited.
  static std::vector<Recorded> Sort(const StepRecords &step, const rules::Source::Wants &wants);
  static FilePart PartOf(std::span<const Recorded> recorded);
  Status VisitWorker(std::span<const Recorded> recorded, FilePart &part,
                     const rules::Source::Visit &visit);
  Status VisitTensor(const Recorded &recorded, const FilePart &part,
                     const rules::Source::Visit &visit);
  // Visits a tensor of one element, if the index has it; else returns false.
  bool VisitElement(const Record &record, rules::Sample &sample, const rules::Source::Visit &visit);
  void NoteTime(const Record &record) {
    constexpr double kMicroseconds = 1e6;
    wall_seconds_ = static_cast<double>(record.entry.file_time) / kMicroseconds;
  }
  // Returns the record's bytes in the part, or nothing if they lie outside it or are damaged.
  static ByteSpan BytesIn(const FilePart &part, const Record &record);
  // Calls `use` with the record's elements, or `use_texts` with its texts.
  template <class Use, class UseTexts>
  Status Read(const Record &record, const FilePart &part, Use use, UseTexts use_texts);

  Trial &trial_;
  const rules::StepPlace place_;
  const StepRecords step_;
  const std::vector<Recorded> recorded_;            // point into `step_`
  std::vector<std::span<const Recorded>> workers_;  // parts of `recorded_`
  std::vector<FilePart> parts_;                     // one for each of `workers_`
  format::ScalarReader scalars_;
  double wall_seconds_ = rules::kNoNumber;
};

}  // namespace smdebug::analyze
