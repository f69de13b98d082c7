#include "serve/scan_rows.h"

#include <string_view>

#include "smdebug.hpp"

namespace smdebug::cli::serve {
namespace {

constexpr double kMicroseconds = 1e6;

}  // namespace

std::vector<ListedRun> ListRuns(const std::string &path, const Settings &settings) {
  const TableScan scan = {.table = "trials",
                          .path = path,
                          .columns = {"trial", "path", "state", "steps", "last_step", "workers",
                                      "first_time", "last_time", "problem"},
                          .settings = settings};
  std::vector<ListedRun> runs;
  try {
    ReadTable(scan, [&](const ScannedRows &rows) {
      for (size_t i = 0; i < rows.Count(); ++i) {
        const auto text = [&](size_t column) { return std::string(rows.Text(column, i)); };
        const auto whole = [&](size_t column, int64_t otherwise) {
          return rows.Whole(column, i).value_or(otherwise);
        };
        runs.push_back({text(0), text(1), text(2), whole(3, 0), whole(4, -1), whole(5, 0),
                        whole(6, 0), whole(7, 0), text(8)});
      }
    });
  } catch (const Error &error) {
    if (error.Code() != SMD_NOT_FOUND) throw;
  }
  return runs;
}

StepTimes ReadTimes(const std::string &path, const std::string &tensor, int64_t first,
                    const Settings &settings) {
  const TableScan scan = {.table = "scalars",
                          .path = path,
                          .columns = {"step", "time"},
                          .conditions = {{"tensor", tensor}, {"first", std::to_string(first)}},
                          .settings = settings};
  StepTimes times;
  ReadTable(scan, [&](const ScannedRows &rows) {
    for (size_t i = 0; i < rows.Count(); ++i) {
      const int64_t time = rows.Whole(1, i).value_or(0);
      if (time > 0) times[rows.Whole(0, i).value_or(0)] = static_cast<double>(time) / kMicroseconds;
    }
  });
  return times;
}

}  // namespace smdebug::cli::serve
