#include "tables/row_file_writer.h"

#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "format/paths.h"
#include "tables/row_files.h"

namespace smdebug::tables {
namespace {

uint64_t CountOf(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, [](uint64_t all, int64_t size) {
    return all * static_cast<uint64_t>(size);
  });
}

// Sets what the reader of index files finds in them, or in the heads of records.  Returns false if
// it would read more.
bool Fill(const format::WrittenStep &step, StepRow *row) {
  for (const auto &[statistic, location] : row->reductions) {
    if (!location->number) return false;
    if (!row->time) row->time = location->number->time;
    row->Set(statistic, location->number->number);
  }
  if (row->raw.empty()) return true;
  const format::TensorLocation &location = *row->raw.front();
  if (location.number) {
    row->time = location.number->time;
    row->scalar = location.number->number;
    return true;
  }
  format::RecordHead &head = step.heads[static_cast<size_t>(&location - step.index.tensors.data())];
  const bool is_text = head.dtype == tensor::DType::kString;
  const uint64_t count = CountOf(head.shape);
  // Such a number, of two parts, is among the scalars too.
  if (!is_text && count == 1) return false;
  row->time = Microseconds(head.wall_time);
  // Others have no head that can be read alone.
  if (!is_text && count > 0) row->head = std::move(head);
  return true;
}

}  // namespace

RowFileWriter::RowFileWriter(Put put)
    : put_(std::move(put)), grouper_(std::make_shared<TensorNames>(request_, nullptr)) {}

void RowFileWriter::OnWritten(const format::WrittenStep &step) noexcept try {
  std::optional<File> before;
  std::optional<File> full;
  {
    const MutexLock lock(mutex_);
    const auto thousand = [](int64_t number) { return number / format::kStepsPerBucket; };
    if (!steps_.empty() && thousand(steps_.front().step) != thousand(step.step)) before = Take();
    try {
      Add(step);
    } catch (const std::bad_alloc &) {
      Drop();
      throw;
    }
    if (recorder_ && recorder_->Bytes() > kMostBytes) full = Take();
  }
  Write(before);
  Write(full);
} catch (const std::bad_alloc &) {
  return;
}

void RowFileWriter::OnEnd() noexcept try {
  std::optional<File> last;
  {
    const MutexLock lock(mutex_);
    last = Take();
  }
  Write(last);
} catch (const std::bad_alloc &) {
  return;
}

void RowFileWriter::Add(const format::WrittenStep &step) {
  const auto count = grouper_.Group(step.index, &rows_);
  if (!count.IsOk()) return;
  const std::span<StepRow> rows(rows_.data(), *count);
  for (StepRow &row : rows) {
    if (!Fill(step, &row)) return;
  }
  if (!recorder_) {
    recorder_ = std::make_unique<RowRecorder>(AllReads(), true, ++recorders_);
    steps_.clear();
  }
  worker_ = step.worker;
  const StepFile file{step.step, step.worker, format::IndexFileName(step.step, step.worker)};
  steps_.push_back({.step = step.step, .name = file.name, .version = VersionOf(step.index_size)});
  recorder_->Add({&file, step.index.mode, step.index.mode_step, rows}, rows);
  if (recorder_->IsDropped()) Drop();
  // A job may give its tensors new names at each step.
  grouper_.Trim(kMostNames);
}

std::optional<RowFileWriter::File> RowFileWriter::Take() {
  if (!recorder_ || steps_.empty()) return {};
  const int64_t first = steps_.front().step;
  auto rows = recorder_->Take(std::exchange(steps_, {}));
  recorder_.reset();
  if (!rows) return {};
  return File{format::RowFileName(first, worker_), *std::move(rows)};
}

void RowFileWriter::Drop() {
  recorder_.reset();
  steps_.clear();
}

void RowFileWriter::Write(const std::optional<File> &file) const {
  if (!file) return;
  const Status ignored = put_(file->name, format::EncodeRows(file->rows, file->name));
  (void)ignored;  // without the file, scans take longer
}

}  // namespace smdebug::tables
