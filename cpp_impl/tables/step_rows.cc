#include "tables/step_rows.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "format/paths.h"
#include "tensor/statistics.h"

namespace smdebug::tables {
namespace {

// The reader collects the records that it needs, and reads them when they have this many bytes.
constexpr uint64_t kMostPlanned = uint64_t{8} << 20;
// Ranges of a file that are closer than this are read as one.
constexpr uint64_t kSmallGap = 4096;
// Bytes of a record of one element, besides those of its name.
constexpr uint64_t kScalarRecord = 256;

}  // namespace

bool IsOfOne(const format::TensorEvent &event) {
  return event.dtype != tensor::DType::kString &&
         event.content.size() == tensor::DTypeSize(event.dtype);
}

void StepRow::Clear() {
  tensor = nullptr;
  raw.clear();
  reductions.clear();
  saved_shape = nullptr;
  recorded = 0;
  given = 0;
  time.reset();
  scalar.reset();
  elements.reset();
  head.reset();
  joined.clear();
}

// One index file while its rows are read.
struct StepRowReader::Open {
  // A range of the event file.
  struct Part {
    uint64_t begin;
    uint64_t end;
    size_t at = 0;  // in the reader's memory
    Status status;
  };

  const StepFile *file = nullptr;
  format::IndexFile index;
  std::vector<StepRow> rows;  // the first `count` are in use
  size_t count = 0;
  std::vector<Part> parts;
  std::vector<std::byte> again;  // a record that is read alone, after its part failed

  // Merges what is close to each other.
  void Merge() {
    const auto is_before = [](const Part &a, const Part &b) { return a.begin < b.begin; };
    if (!std::is_sorted(parts.begin(), parts.end(), is_before)) {
      std::sort(parts.begin(), parts.end(), is_before);
    }
    size_t kept = 0;
    for (const Part &part : parts) {
      if (kept > 0 && part.begin <= parts[kept - 1].end + kSmallGap) {
        parts[kept - 1].end = std::max(parts[kept - 1].end, part.end);
      } else {
        parts[kept++] = part;
      }
    }
    parts.resize(kept);
  }
};

// Consecutive rows of a file.
struct StepRowReader::Run {
  Open *open;
  size_t first;
  size_t end;
};

StepRowReader::StepRowReader(std::shared_ptr<storage::Store> store,
                             std::shared_ptr<TensorNames> names, Reads reads, std::set<Mode> modes)
    : store_(std::move(store)),
      grouper_(std::move(names)),
      reads_(reads),
      modes_(std::move(modes)) {}

StepRowReader::~StepRowReader() = default;

Status StepRowReader::Read(std::span<const StepFile> files, const Visit &visit,
                           const Damage &damage) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const StepFile &file : files) names.push_back(file.name);
  const std::vector<Result<std::string>> texts = store_->ReadTexts(names);
  while (open_.size() < files.size()) open_.push_back(std::make_unique<Open>());
  for (size_t i = 0; i < files.size(); ++i) {
    Open *open = open_[i].get();
    if (const Status taken = Take(files[i], texts[i], open); !taken.IsOk()) {
      SMD_RETURN_IF_ERROR(damage(taken));
      continue;
    }
    for (size_t row = 0; row < open->count; ++row) {
      const uint64_t bytes = Plan(open->rows[row], open);
      if (runs_.empty() || runs_.back().open != open) runs_.push_back({open, row, row});
      runs_.back().end = row + 1;
      planned_ += bytes;
      if (planned_ >= kMostPlanned) SMD_RETURN_IF_ERROR(Flush(visit, damage));
    }
  }
  Status flushed = Flush(visit, damage);
  grouper_.Trim();
  return flushed;
}

Status StepRowReader::Take(const StepFile &file, const Result<std::string> &text, Open *open) {
  open->count = 0;
  open->file = &file;
  open->parts.clear();
  if (!text.IsOk()) return text.GetStatus();
  const std::string path = StrCat(store_->Location(), "/", file.name);
  SMD_ASSIGN_OR_RETURN(open->index, analyze::ParseIndexFile(*text, path, std::move(open->index)));
  return modes_.empty() || modes_.contains(open->index.mode) ? AddRows(open) : Status::Ok();
}

Status StepRowReader::AddRows(Open *open) {
  SMD_ASSIGN_OR_RETURN(open->count, grouper_.Group(open->index, &open->rows));
  if (!only_scalars_) return Status::Ok();
  const auto end = std::stable_partition(
      open->rows.begin(), open->rows.begin() + static_cast<std::ptrdiff_t>(open->count),
      [this](const StepRow &row) { return IsScalar(row); });
  open->count = static_cast<size_t>(end - open->rows.begin());
  return Status::Ok();
}

bool StepRowReader::IsScalar(const StepRow &row) const {
  if (row.raw.size() != 1 || row.raw.front()->part) return false;
  const format::TensorLocation &location = *row.raw.front();
  return location.number || location.length <= kScalarRecord + location.name.size();
}

bool StepRowReader::HasScalar(const StepRow &row) const {
  return only_scalars_ && !row.raw.empty() && row.raw.front()->number;
}

bool StepRowReader::NeedsHead(const StepRow &row) const {
  return (reads_.type || reads_.time) && !row.raw.empty() && !row.raw.front()->number;
}

uint64_t StepRowReader::Plan(const StepRow &row, Open *open) {
  uint64_t bytes = 0;
  const auto add = [&](const format::TensorLocation &location, uint64_t most) {
    const uint64_t length = std::min(location.length, most);
    if (length == 0 || location.start > UINT64_MAX - length) return;
    bytes += length;
    // Mostly records follow each other.
    if (!open->parts.empty() && open->parts.back().end == location.start) {
      open->parts.back().end += length;
    } else {
      open->parts.push_back({location.start, location.start + length, 0, Status::Ok()});
    }
  };
  bool has_time = false;
  for (const auto &[statistic, location] : row.reductions) {
    if ((reads_.statistics >> statistic & 1) == 0) continue;
    has_time = true;
    if (!location->number) add(*location, location->length);
  }
  if (reads_.NeedsElements()) {
    if (HasScalar(row)) return bytes;
    for (const auto *location : row.raw) add(*location, location->length);
  } else if (NeedsHead(row)) {
    add(*row.raw.front(), format::kHeadSize + row.raw.front()->name.size());
  } else if (reads_.time && !has_time && row.raw.empty() && !row.reductions.empty()) {
    const format::TensorLocation &location = *row.reductions.front().second;
    if (!location.number) add(location, format::kHeadSize);
  }
  return bytes;
}

Status StepRowReader::CheckEnd(const std::string &file, uint64_t begin, uint64_t end) {
  if (end - begin <= kMostPlanned) return Status::Ok();
  std::byte last{};
  SpanSink sink(std::span(&last, 1));
  const storage::RangeRead range{file, end - 1, 1, &sink};
  return store_->ReadRanges({&range, 1}).front();
}

void StepRowReader::ReadPlanned() {
  size_t size = 0;
  for (Run &run : runs_) {
    run.open->Merge();
    for (Open::Part &part : run.open->parts) {
      part.status = CheckEnd(run.open->index.event_file_name, part.begin, part.end);
      if (!part.status.IsOk()) continue;
      part.at = size;
      size += part.end - part.begin;
    }
  }
  if (memory_.Size() < size) memory_ = AlignedBuffer(size);
  std::vector<SpanSink> sinks;
  std::vector<Open::Part *> parts;
  std::vector<const std::string *> files;
  for (Run &run : runs_) {
    for (Open::Part &part : run.open->parts) {
      if (!part.status.IsOk()) continue;
      files.push_back(&run.open->index.event_file_name);
      sinks.emplace_back(memory_.Span().subspan(part.at, part.end - part.begin));
      parts.push_back(&part);
    }
  }
  std::vector<storage::RangeRead> ranges;
  ranges.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    ranges.push_back({*files[i], parts[i]->begin, parts[i]->end - parts[i]->begin, &sinks[i]});
  }
  const std::vector<Status> answers = store_->ReadRanges(ranges);
  for (size_t i = 0; i < parts.size(); ++i) parts[i]->status = answers[i];
}

Status StepRowReader::Flush(const Visit &visit, const Damage &damage) {
  if (planned_ > 0) ReadPlanned();
  Status failed;
  for (const Run &run : runs_) {
    Open *open = run.open;
    const std::span<StepRow> rows(open->rows.data() + run.first, run.end - run.first);
    for (StepRow &row : rows) {
      const Status filled = Fill(open, &row);
      if (!filled.IsOk() && failed.IsOk()) failed = damage(filled);
    }
    if (!failed.IsOk()) break;
    failed = visit({open->file, open->index.mode, open->index.mode_step, rows});
    for (StepRow &row : rows) row.joined = {};
    open->parts.clear();
    if (!failed.IsOk()) break;
  }
  runs_.clear();
  planned_ = 0;
  return failed;
}

std::string StepRowReader::PathOf(const Open *open) const {
  return StrCat(store_->Location(), "/", open->index.event_file_name);
}

Result<ByteSpan> StepRowReader::BytesOf(Open *open, const format::TensorLocation &location,
                                        uint64_t length) {
  const auto after =
      std::upper_bound(open->parts.begin(), open->parts.end(), location.start,
                       [](uint64_t start, const Open::Part &part) { return start < part.begin; });
  const bool is_planned = after != open->parts.begin() && (after - 1)->end >= location.start &&
                          (after - 1)->end - location.start >= length;
  if (!is_planned) {
    return CorruptData(PathOf(open),
                       StrCat("the record of '", location.name, "' lies outside the file"));
  }
  const Open::Part &part = *(after - 1);
  ByteSpan bytes;
  if (part.status.IsOk()) {
    bytes = ByteSpan(memory_.Data() + part.at + (location.start - part.begin), length);
  } else {
    if (part.end - part.begin == length) return part.status;
    // Records before the damage can be read.
    SMD_RETURN_IF_ERROR(
        CheckEnd(open->index.event_file_name, location.start, location.start + length));
    open->again.resize(length);
    SpanSink sink(open->again);
    const storage::RangeRead range{open->index.event_file_name, location.start, length, &sink};
    SMD_RETURN_IF_ERROR(store_->ReadRanges({&range, 1}).front());
    bytes = open->again;
  }
  if (length == location.length && location.crc32c && Crc32c(bytes) != *location.crc32c) {
    return CorruptData(PathOf(open), StrCat("the record of '", location.name, "' at ",
                                            location.start, " has a wrong checksum"));
  }
  return bytes;
}

Status StepRowReader::Fill(Open *open, StepRow *row) {
  SMD_RETURN_IF_ERROR(FillReductions(open, row));
  if (reads_.NeedsElements()) {
    SMD_RETURN_IF_ERROR(FillElements(open, row));
    if (reads_.computes && row->elements) return Compute(row);
  } else if (NeedsHead(*row)) {
    FillHead(open, row);
  } else if (reads_.time && !row->raw.empty()) {
    row->time = row->raw.front()->number->time;
  }
  return Status::Ok();
}

Status StepRowReader::FillReductions(Open *open, StepRow *row) {
  Status first;
  bool is_any_wanted = false;
  for (const auto &[statistic, location] : row->reductions) {
    if ((reads_.statistics >> statistic & 1) == 0) continue;
    is_any_wanted = true;
    if (location->number) {
      if (!row->time) row->time = location->number->time;
      row->Set(statistic, location->number->number);
      continue;
    }
    const auto bytes = BytesOf(open, *location, location->length);
    KeepFirst(&first, bytes.GetStatus());
    if (!bytes.IsOk()) continue;
    if (!row->time) row->time = Microseconds(format::ReadWallTime(*bytes));
    KeepFirst(&first, FillStatistic(open, *location, statistic, *bytes, row));
  }
  if (is_any_wanted || !reads_.time || !row->raw.empty() || row->reductions.empty()) return first;
  const format::TensorLocation &location = *row->reductions.front().second;
  if (location.number) {
    row->time = location.number->time;
    return first;
  }
  SMD_ASSIGN_OR_RETURN(const ByteSpan bytes,
                       BytesOf(open, location, std::min(location.length, format::kHeadSize)));
  row->time = Microseconds(format::ReadWallTime(bytes));
  return first;
}

Status StepRowReader::FillStatistic(const Open *open, const format::TensorLocation &location,
                                    size_t statistic, ByteSpan bytes, StepRow *row) {
  if (const auto scalar = scalars_.Read(bytes)) {
    row->Set(statistic, scalar->number);
    return Status::Ok();
  }
  const auto event = format::ParseRecord({bytes, {}, {}});
  if (!event.IsOk()) {
    return CorruptData(
        PathOf(open), StrCat("the record of '", location.name, "': ", event.GetStatus().Message()));
  }
  if (!*event || !IsOfOne(**event)) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const double number, tensor::ToDouble((*event)->dtype, (*event)->content));
  row->Set(statistic, number);
  return Status::Ok();
}

void StepRowReader::FillHead(Open *open, StepRow *row) {
  const format::TensorLocation &location = *row->raw.front();
  const uint64_t length = std::min(location.length, format::kHeadSize + location.name.size());
  const auto bytes = BytesOf(open, location, length);
  row->head = bytes.IsOk() ? format::ReadRecordHead(*bytes, location.length) : std::nullopt;
  if (bytes.IsOk()) row->time = Microseconds(format::ReadWallTime(*bytes));
}

Status StepRowReader::FillElements(Open *open, StepRow *row) {
  if (row->raw.empty()) return Status::Ok();
  const format::TensorLocation &location = *row->raw.front();
  if (HasScalar(*row)) {
    row->scalar = location.number->number;
    row->time = location.number->time;
    return Status::Ok();
  }
  SMD_ASSIGN_OR_RETURN(const ByteSpan bytes, BytesOf(open, location, location.length));
  if (only_scalars_) {
    if (const auto scalar = scalars_.Read(bytes)) {
      row->scalar = scalar->number;
      row->time = Microseconds(scalar->wall_time);
      return Status::Ok();
    }
  }
  auto event = format::ParseRecord({bytes, {}, {}});
  if (!event.IsOk() || !*event) {
    return CorruptData(PathOf(open),
                       StrCat("the record of '", location.name, "': ",
                              event.IsOk() ? "it holds no tensor" : event.GetStatus().Message()));
  }
  row->elements = std::make_unique<format::TensorEvent>(std::move(**event));
  row->time = Microseconds(row->elements->context.wall_time);
  // The memory of a record that was read by itself is used again.
  if (bytes.data() == open->again.data() || location.part) return JoinParts(open, row);
  return Status::Ok();
}

Status StepRowReader::JoinParts(Open *open, StepRow *row) {
  const ByteSpan first = row->elements->content;
  row->joined.assign(first.begin(), first.end());
  for (size_t i = 1; i < row->raw.size(); ++i) {
    SMD_ASSIGN_OR_RETURN(const ByteSpan bytes, BytesOf(open, *row->raw[i], row->raw[i]->length));
    SMD_ASSIGN_OR_RETURN(const auto event, format::ParseRecord({bytes, {}, {}}));
    if (event) row->joined.insert(row->joined.end(), event->content.begin(), event->content.end());
  }
  row->elements->content = row->joined;
  if (!row->raw.front()->part) return Status::Ok();
  row->elements->shape = row->raw.front()->part->shape;
  const auto count = tensor::CountElements(row->elements->shape);
  const size_t size = tensor::DTypeSize(row->elements->dtype);
  if (count.IsOk() && static_cast<size_t>(*count) * size == row->joined.size()) return Status::Ok();
  row->elements.reset();
  return CorruptData(PathOf(open),
                     StrCat("the parts of '", row->tensor->name, "' do not make its shape"));
}

Status StepRowReader::Compute(StepRow *row) const {
  const format::TensorEvent &event = *row->elements;
  if (event.dtype == tensor::DType::kString || tensor::IsComplex(event.dtype)) return Status::Ok();
  const tensor::View view{event.content.data(), event.shape, {}, event.dtype};
  tensor::Reducer reducer(view);
  for (size_t i = 0; i < kStatistics; ++i) {
    const uint32_t bit = 1U << i;
    if ((reads_.statistics & bit) == 0 || (row->given & bit) != 0) continue;
    const auto value = reducer.Compute(ReductionOf(i));
    if (!value.IsOk()) continue;  // that of no elements
    const auto number = tensor::ToDouble(*value);
    if (number.IsOk()) row->Set(i, *number);
  }
  return Status::Ok();
}

}  // namespace smdebug::tables
