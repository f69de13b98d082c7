#include "tables/table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"

namespace smdebug::tables {
namespace {

using enum ColumnType;

constexpr std::array kTableNames = {
    std::string_view("tensors"),        std::string_view("scalars"),
    std::string_view("findings"),       std::string_view("trials"),
    std::string_view("profile_events"), std::string_view("system_metrics")};

constexpr std::array kTensorColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"tensor", kText},
    {"collection", kText},
    {"step", kInteger},
    {"mode", kText},
    {"mode_step", kInteger},
    {"worker", kText},
    {"dtype", kText},
    {"shape", kIntegers},
    {"min", kNumber},
    {"max", kNumber},
    {"median", kNumber},
    {"mean", kNumber},
    {"std", kNumber},
    {"variance", kNumber},
    {"sum", kNumber},
    {"prod", kNumber},
    {"l1", kNumber},
    {"l2", kNumber},
    {"abs_min", kNumber},
    {"abs_max", kNumber},
    {"abs_median", kNumber},
    {"abs_mean", kNumber},
    {"abs_std", kNumber},
    {"abs_variance", kNumber},
    {"abs_sum", kNumber},
    {"abs_prod", kNumber},
    {"time", kTime},
    {"value", kNumbers, false},
    {"bytes", kBytes, false},
});

constexpr std::array kScalarColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"name", kText},
    {"collection", kText},
    {"step", kInteger},
    {"mode", kText},
    {"mode_step", kInteger},
    {"worker", kText},
    {"value", kNumber},
    {"time", kTime},
});

constexpr std::array kFindingColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"rule", kText},
    {"level", kText},
    {"action", kText},
    {"check", kText},
    {"step", kInteger},
    {"mode", kText},
    {"mode_step", kInteger},
    {"worker", kText},
    {"tensor", kText},
    {"value", kNumber},
    {"limit", kNumber},
    {"message", kText},
    {"problem", kText},
});

constexpr std::array kTrialColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"path", kText},
    {"state", kText},
    {"steps", kInteger},
    {"first_step", kInteger},
    {"last_step", kInteger},
    {"workers", kInteger},
    {"first_time", kTime},
    {"last_time", kTime},
    {"problem", kText},
    {"configuration", kText, false},
    {"metadata", kText, false},
});

constexpr std::array kProfileEventColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"node", kText},
    {"file_type", kText},
    {"phase", kText},
    {"name", kText},
    {"step", kInteger},
    {"start", kTime},
    {"duration", kNumber},
    {"pid", kInteger},
    {"tid", kInteger},
    {"phase_pid", kInteger},
    {"args", kText, true, false},
    {"start_us", kNumber, false},
    {"file", kText, false},
});

constexpr std::array kSystemMetricColumns = std::to_array<ColumnSpec>({
    {"trial", kText},
    {"node", kText},
    {"type", kText},
    {"name", kText},
    {"dimension", kText},
    {"value", kNumber},
    {"time", kTime},
    {"timestamp", kNumber, false},
    {"file", kText, false},
});

constexpr size_t kNorms = 2;
constexpr size_t kPlain = tensor::kReductionKinds;
static_assert(kStatistics == 2 * kPlain - kNorms);

}  // namespace

std::span<const ColumnSpec> ColumnsOf(Table table) {
  switch (table) {
    case Table::kScalars: return kScalarColumns;
    case Table::kFindings: return kFindingColumns;
    case Table::kTrials: return kTrialColumns;
    case Table::kProfileEvents: return kProfileEventColumns;
    case Table::kSystemMetrics: return kSystemMetricColumns;
    default: return kTensorColumns;
  }
}

std::string_view TableName(Table table) { return kTableNames[static_cast<size_t>(table)]; }

Result<Table> TableFromName(std::string_view name) {
  const auto found = std::find(kTableNames.begin(), kTableNames.end(), name);
  if (found != kTableNames.end()) return static_cast<Table>(found - kTableNames.begin());
  return InvalidArgument(StrCat("there is no table '", name.substr(0, 64),
                                "'; there are tensors, scalars, findings, trials, ",
                                "profile_events, system_metrics",
                                DidYouMean(name, {kTableNames.begin(), kTableNames.end()})));
}

Result<size_t> ColumnFromName(Table table, std::string_view name) {
  const auto columns = ColumnsOf(table);
  std::vector<std::string_view> names;
  for (const ColumnSpec &column : columns) {
    if (column.name == name) return names.size();
    names.push_back(column.name);
  }
  std::string all;
  for (const std::string_view each : names) all += StrCat(all.empty() ? "" : ", ", each);
  return InvalidArgument(StrCat("the table ", TableName(table), " has no column '",
                                name.substr(0, 64), "'", DidYouMean(name, names), "; it has ",
                                all));
}

size_t StatisticOf(tensor::Reduction reduction) {
  const auto kind = static_cast<size_t>(reduction.kind);
  return reduction.absolute && !reduction.IsNorm() ? kPlain + kind : kind;
}

tensor::Reduction ReductionOf(size_t statistic) {
  const bool absolute = statistic >= kPlain;
  return {static_cast<tensor::ReductionKind>(absolute ? statistic - kPlain : statistic), absolute};
}

size_t Batch::Size() const {
  size_t size = 0;
  for (const Column &column : columns) size += column.Size();
  return size;
}

}  // namespace smdebug::tables
