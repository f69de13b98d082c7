// The tables, and batches of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/column.h"
#include "tensor/reduction.h"

namespace smdebug::tables {

enum class Table : uint8_t {
  kTensors,        // a row for each tensor, step and worker
  kScalars,        // a row for each tensor of one element, step and worker
  kFindings,       // a row for each finding of a rule
  kTrials,         // a row for each trial
  kProfileEvents,  // a row for each event of a profiler's timelines
  kSystemMetrics,  // a row for each sample of a profiler's system metrics
};

struct ColumnSpec {
  std::string_view name;
  ColumnType type;
  bool is_default = true;  // returned unless columns are named
  bool repeats = true;     // its texts mostly do; others are never codes
};

std::span<const ColumnSpec> ColumnsOf(Table table);
std::string_view TableName(Table table);
// Fails with INVALID_ARGUMENT; suggests the nearest name.
Result<Table> TableFromName(std::string_view name);
Result<size_t> ColumnFromName(Table table, std::string_view name);

// The columns of a tensor's statistics are a row of their own in the list of columns.
inline constexpr size_t kStatistics = 18;
// Returns the number of the column in that row.  The norms of absolute values are those of the
// elements.
size_t StatisticOf(tensor::Reduction reduction);
tensor::Reduction ReductionOf(size_t statistic);

// Rows, as columns of one length.
struct Batch {
  std::vector<Column> columns;
  size_t rows = 0;

  size_t Size() const;
};

// Reads rows.  For one thread at a time.
class BatchStream {
 public:
  virtual ~BatchStream() = default;

  // The columns of each batch.
  virtual const std::vector<ColumnSpec> &Schema() const = 0;
  // Returns the next rows, or nothing after the last.
  virtual Result<std::optional<Batch>> Next() = 0;
};

}  // namespace smdebug::tables
