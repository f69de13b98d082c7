// The rows of finished steps in columns, as the row cache keeps them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/mode.h"

namespace smdebug::format {

// The index file of a step.
struct StoredStep {
  int64_t step = 0;
  int64_t mode_step = 0;
  Mode mode = Mode::kGlobal;
  uint32_t list = 0;    // the position of its tensors in StoredRows::lists
  std::string name;     // of the file
  std::string version;  // storage::ListedFile's
};

// The tensors of a step's rows, in the order of the rows.  A vector may be empty: then the types or
// shapes are unknown.
struct StoredList {
  std::vector<uint32_t> tensors;   // positions in StoredRows::names
  std::vector<uint8_t> dtypes;     // tensor::DType
  std::vector<uint32_t> shape_of;  // positions in StoredRows::shapes

  size_t Rows() const { return tensors.size(); }
  bool operator==(const StoredList &) const = default;
};

// The rows that one worker recorded in one folder of index files.  `times` and `numbers` have a
// value for each row, in the order of `steps`, or are empty: unknown.
struct StoredRows {
  // A column of numbers.
  struct Numbers {
    std::vector<double> values;
    std::vector<uint8_t> known;  // 0 or 1 for each value; empty: all are known

    bool operator==(const Numbers &) const = default;
  };
  // Rows with longer names are not kept: a name is repeated in each row of a table.
  static constexpr size_t kLongestName = 4096;
  static constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

  std::vector<StoredStep> steps;
  std::vector<std::string> names;            // of tensors
  std::vector<std::vector<int64_t>> shapes;  // the first is that of rows without one
  std::vector<StoredList> lists;             // steps mostly share one
  std::vector<int64_t> times;                // microseconds since 1970, or kNoTime
  std::vector<Numbers> numbers;              // the statistics that were read, or the scalar

  size_t RowsOf(const StoredStep &step) const { return lists[step.list].Rows(); }
  size_t Rows() const;
};

// Returns the bytes of a cache file.  `key` identifies the trial, the worker and the columns.
std::string EncodeRows(const StoredRows &rows, std::string_view key);

// Returns the rows.  Returns nothing if the bytes are not those that EncodeRows() makes for this
// key, however they were damaged: positions lie inside what they point to, columns have the same
// length, and names are UTF-8.
std::optional<StoredRows> DecodeRows(ByteSpan bytes, std::string_view key);

}  // namespace smdebug::format
