// Reads what a step holds, for rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/trial.h"
#include "base/bytes.h"
#include "rules/source.h"

namespace smdebug::analyze {

// For one step; for one thread.
class StepReader {
 public:
  StepReader(Trial &trial, rules::StepPlace place) : trial_(trial), place_(place) {}

  // As rules::Source::VisitStep().
  Status Visit(const rules::Source::Wants &wants, const rules::Source::Visit &visit);

 private:
  using Record = StepRecords::Record;
  // All that one worker recorded of a tensor.
  struct Recorded {
    std::span<const Record> records;
    uint64_t begin;  // of the first of them in its file

    const std::string &Worker() const { return *records.front().worker; }
  };
  // A part of an event file, read in one go; empty where that does not pay.
  struct FilePart {
    const std::string *file = nullptr;
    uint64_t offset = 0;
    AlignedBuffer bytes;
  };

  // In the order in which they are visited.
  static std::vector<Recorded> Sort(const StepRecords &step, const rules::Source::Wants &wants);
  FilePart ReadPart(std::span<const Recorded> recorded);
  Status VisitWorker(std::span<const Recorded> recorded, const rules::Source::Visit &visit);
  Status VisitTensor(const Recorded &recorded, const FilePart &part,
                     const rules::Source::Visit &visit);
  // The record as it lies in the part; empty if it does not, or is damaged.
  static ByteSpan BytesIn(const FilePart &part, const Record &record);
  // Calls `use` with the record's elements, or `use_texts` with its texts.
  template <class Use, class UseTexts>
  Status Read(const Record &record, const FilePart &part, Use use, UseTexts use_texts);

  Trial &trial_;
  const rules::StepPlace place_;
};

}  // namespace smdebug::analyze
