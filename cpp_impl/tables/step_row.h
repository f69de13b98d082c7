// A row of the table "tensors" or "scalars" before it goes into columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mode.h"
#include "format/event_reader.h"
#include "format/index_json.h"
#include "format/record_head.h"
#include "tables/table.h"
#include "tables/tensor_names.h"

namespace smdebug::tables {

// An index file.
struct StepFile {
  int64_t step;
  std::string worker;
  std::string name;
};

// Selects what the reader reads of each tensor.  Names and steps are always known.
struct Reads {
  uint32_t statistics = 0;  // a bit for each column of statistics
  bool computes = false;    // those that were not saved, from the elements
  bool time = false;
  bool type = false;  // and the shape
  bool elements = false;

  bool NeedsElements() const { return elements || (computes && statistics != 0); }
};

// A tensor at one step of one worker.
struct StepRow {
  const NamedTensor *tensor = nullptr;
  std::vector<const format::TensorLocation *> raw;  // the record of its elements, or their parts
  std::vector<std::pair<size_t, const format::TensorLocation *>> reductions;  // by statistic
  const format::SavedShape *saved_shape = nullptr;
  uint32_t recorded = 0;  // a bit for each statistic in `reductions`
  uint32_t given = 0;     // a bit for each statistic that is known
  std::array<double, kStatistics> statistics{};
  std::optional<int64_t> time;   // in microseconds since 1970
  std::optional<double> scalar;  // the only element, if the reader has decoded it alone
  // The elements and their type, or the type alone.  The elements are valid during a visit.
  std::unique_ptr<format::TensorEvent> elements;
  std::optional<format::RecordHead> head;
  std::vector<std::byte> joined;  // the parts

  void Clear();
  void Set(size_t statistic, double number) {
    statistics[statistic] = number;
    given |= 1U << statistic;
  }
};

// Returns true if the record holds one number.
bool IsOfOne(const format::TensorEvent &event);

// Rows of one index file, in the order in which they were recorded.
struct StepRows {
  const StepFile *file = nullptr;
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  std::span<StepRow> rows;
};

}  // namespace smdebug::tables
