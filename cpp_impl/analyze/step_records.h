// What the index files say about the tensors of one step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/record.h"
#include "analyze/tensor_table.h"

namespace smdebug::analyze {

// The entries of a tensor at one step.
struct StepEntries {
  // Sorted by worker's name, then by kind.
  struct Item {
    Entry entry;
    std::string worker;
    std::string file;            // the event file
    std::vector<int64_t> shape;  // for EntryKind::Shape()
    PartedRecordPtr parts;       // NULL: one record
  };
  std::vector<Item> items;
};

// Appends where the item's record or records lie.
void AddPlaces(const StepEntries::Item &item, std::vector<RecordPlace> *places);

// The records of one step.
struct StepRecords {
  struct Record {
    std::string_view tensor;  // lives as long as the trial
    const std::string *worker;
    const std::string *file;
    Entry entry;
    PartedRecordPtr parts;  // NULL: one record

    StepEntries::Item AsItem() const { return {entry, *worker, *file, {}, parts}; }
  };
  // Grouped by tensor, then by worker, then sorted by kind.
  std::vector<Record> records;

  // `worker` and `file` point to these, keyed by number.  Files are also keyed by their step.
  std::map<uint16_t, std::string> workers;
  std::map<std::pair<int64_t, uint16_t>, std::string> files;
};

}  // namespace smdebug::analyze
