// Reads the library's tables of trials (smdebug/scan.h) row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/scan.h"

namespace smdebug::cli {

// Options of the library, as --set gives them.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct TableScan {
  const char *table;
  std::string path;
  std::vector<const char *> columns;
  Settings conditions = {};  // options of the scan
  Settings settings = {};    // those of one trial only are left out
  bool complains = false;    // prints warnings; else the log is dropped
};

// Some rows, with the columns in the order asked for.
class ScannedRows {
 public:
  explicit ScannedRows(const ArrowArray &batch) : batch_(batch) {}

  size_t Count() const { return static_cast<size_t>(batch_.length); }
  // Returns "" for null.  Valid as long as the rows.
  std::string_view Text(size_t column, size_t row) const;
  // Of integers and times.
  std::optional<int64_t> Whole(size_t column, size_t row) const;

 private:
  const ArrowArray &batch_;
};

// Calls `take` with all rows, some at a time.  Fails by throwing smdebug::Error, as
// smd_scan_open().
void ReadTable(const TableScan &scan, const std::function<void(const ScannedRows &)> &take);

}  // namespace smdebug::cli
