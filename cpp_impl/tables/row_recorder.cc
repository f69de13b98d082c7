#include "tables/row_recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tables/row_cache.h"
#include "tables/row_writer.h"
#include "tensor/value.h"

namespace smdebug::tables {
namespace {

// Steps of one kind share a list with the last one of their kind.
constexpr size_t kKinds = 8;

// Adds what is missing at the end, and omits what all rows have in common.
void Complete(size_t rows, format::StoredRows::Numbers *numbers) {
  if (numbers->values.empty()) return;
  numbers->values.resize(rows, 0);
  auto &known = numbers->known;
  known.resize(rows, 0);
  if (std::find(known.begin(), known.end(), 0) == known.end()) known.clear();
}

}  // namespace

RowRecorder::RowRecorder(const Reads &reads, bool has_scalars, uint64_t number)
    : reads_(reads), has_scalars_(has_scalars), number_(number) {
  rows_.shapes.emplace_back();
  rows_.lists.emplace_back();  // that of steps without rows
  rows_.numbers.resize(static_cast<size_t>(std::popcount(reads.statistics)) +
                       (has_scalars ? 1 : 0));
}

void RowRecorder::Drop() {
  is_dropped_ = true;
  rows_ = {};
  list_ = {};
  shapes_.clear();
}

uint64_t RowRecorder::Bytes() const {
  const uint64_t of_row = sizeof(uint32_t) + (reads_.type ? 1 + sizeof(uint32_t) : 0);
  uint64_t bytes =
      name_bytes_ + rows_.times.size() * sizeof(int64_t) + (listed_ + list_.Rows()) * of_row;
  for (const format::StoredRows::Numbers &each : rows_.numbers) {
    bytes += each.values.size() * (sizeof(double) + 1);
  }
  return bytes;
}

// The checksums in an index file say that its version is also that of the records.
bool RowRecorder::HasChecksums(const StepRow &row) const {
  const bool needs_raw = has_scalars_ || reads_.type || reads_.time;
  if (needs_raw && !row.raw.empty() && !row.raw.front()->crc32c) return false;
  return std::all_of(row.reductions.begin(), row.reductions.end(),
                     [](const auto &each) { return each.second->crc32c.has_value(); });
}

uint32_t RowRecorder::NumberOf(const NamedTensor &tensor) {
  if (tensor.recorder != number_) {
    tensor.recorder = number_;
    tensor.recorded_as = static_cast<uint32_t>(rows_.names.size());
    rows_.names.push_back(tensor.name);
    name_bytes_ += sizeof(std::string) + tensor.name.size();
  }
  return tensor.recorded_as;
}

uint32_t RowRecorder::ShapeOf(const StepRow &row) {
  const std::vector<int64_t> *shape = ShapeOfRow(row);
  if (shape == nullptr) return 0;
  // Mostly the step before has the same.
  const std::vector<uint32_t> &last = rows_.lists.back().shape_of;
  const size_t at = list_.shape_of.size();
  if (at < last.size() && rows_.shapes[last[at]] == *shape && last[at] != 0) return last[at];
  const auto [known, is_new] =
      shapes_.try_emplace(*shape, static_cast<uint32_t>(rows_.shapes.size()));
  if (is_new) rows_.shapes.push_back(*shape);
  return known->second;
}

// Columns end with the last row of which the number is known.
void RowRecorder::AddNumbers(const StepRow &row) {
  const size_t before = rows_.times.size();
  const auto add = [before](double number, format::StoredRows::Numbers *out) {
    out->values.resize(before, 0);
    out->known.resize(before, 0);
    out->values.push_back(number);
    out->known.push_back(1);
  };
  if (has_scalars_ && (row.scalar || row.elements)) {
    if (const auto number = ScalarOfRow(row)) add(*number, &rows_.numbers.back());
  }
  for (uint32_t left = reads_.statistics & row.given; left != 0; left &= left - 1) {
    const uint32_t others = (left & -left) - 1;
    const auto column = static_cast<size_t>(std::popcount(reads_.statistics & others));
    add(row.statistics[static_cast<size_t>(std::countr_zero(left))], &rows_.numbers[column]);
  }
}

void RowRecorder::EndList() {
  if (rows_.steps.empty()) return;
  auto &lists = rows_.lists;
  const size_t oldest = lists.size() - std::min(lists.size(), kKinds);
  size_t at = lists.size();
  while (at > oldest && lists[at - 1] != list_) --at;
  if (at == oldest) {
    listed_ += list_.Rows();
    lists.push_back(list_);
    at = lists.size();
  }
  rows_.steps.back().list = static_cast<uint32_t>(at - 1);
  list_.tensors.clear();  // and keeps its memory
  list_.dtypes.clear();
  list_.shape_of.clear();
}

void RowRecorder::Add(const StepRows &step, std::span<const StepRow> rows) {
  if (is_dropped_) return;
  if (rows_.steps.empty() || rows_.steps.back().name != step.file->name) {
    EndList();
    rows_.steps.push_back({step.file->step, step.mode_step, step.mode, 0, step.file->name, {}});
  }
  for (const StepRow &row : rows) {
    const bool can_keep =
        HasChecksums(row) && row.tensor->name.size() <= format::StoredRows::kLongestName;
    if (!can_keep) return Drop();
    AddNumbers(row);
    list_.tensors.push_back(NumberOf(*row.tensor));
    rows_.times.push_back(row.time.value_or(format::StoredRows::kNoTime));
    if (!reads_.type) continue;
    list_.dtypes.push_back(static_cast<uint8_t>(TypeOfRow(row)));
    list_.shape_of.push_back(ShapeOf(row));
  }
  if (Bytes() > RowCache::kLargest) Drop();
}

std::optional<format::StoredRows> RowRecorder::Take(std::vector<format::StoredStep> steps) {
  if (is_dropped_) return {};
  EndList();
  format::StoredRows rows = std::exchange(rows_, {});
  Drop();
  size_t next = 0;
  for (format::StoredStep &step : steps) {
    if (next == rows.steps.size() || rows.steps[next].name != step.name) continue;
    std::string version = std::move(step.version);
    step = std::move(rows.steps[next++]);
    step.version = std::move(version);
  }
  if (next != rows.steps.size()) return {};
  rows.steps = std::move(steps);
  for (format::StoredRows::Numbers &each : rows.numbers) Complete(rows.Rows(), &each);
  return rows;
}

}  // namespace smdebug::tables
