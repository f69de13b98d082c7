// Reads what a step holds, for rules.
#pragma once

#include <map>
#include <memory>
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
  // All that one worker recorded of a tensor.
  struct Recorded {
    std::string tensor;
    std::vector<StepEntries::Item> items;  // by where they begin
  };
  // A part of an event file, read in one go; empty where that does not pay.
  struct FilePart {
    uint64_t offset = 0;
    AlignedBuffer bytes;
  };

  std::vector<Recorded> Find(const rules::Source::Wants &wants) const;
  FilePart ReadPart(const std::vector<Recorded> &recorded, size_t begin, size_t end);
  Status VisitWorker(const std::vector<Recorded> &recorded, size_t begin, size_t end,
                     const rules::Source::Visit &visit);
  Status VisitTensor(const Recorded &recorded, const FilePart &part,
                     const rules::Source::Visit &visit);
  // Calls `use` with the record's elements, or `use_texts` with its texts.
  template <class Use, class UseTexts>
  Status Read(const Recorded &recorded, const StepEntries::Item &item, const FilePart &part,
              Use use, UseTexts use_texts);

  Trial &trial_;
  const rules::StepPlace place_;
};

}  // namespace smdebug::analyze
