#include "analyze/step_reader.h"

#include <algorithm>

#include "base/crc32c.h"
#include "rules/source.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

// A file's selected records are read in one call if it reads at most this many unselected bytes.
constexpr uint64_t kMostUnwanted = uint64_t{1} << 20;
constexpr uint64_t kLargestPart = uint64_t{64} << 20;

bool IsRaw(const StepRecords::Record &record) { return record.entry.kind == EntryKind::Raw(); }

uint64_t EndOf(const Entry &entry) { return entry.start + entry.length; }

// Returns true if the index has what the record holds.
bool IsKnown(const StepRecords::Record &record) {
  const KnownNumber &number = record.entry.number;
  return IsRaw(record) ? ElementOf(number).has_value() : number.dtype != tensor::DType::kInvalid;
}

}  // namespace

std::vector<StepReader::Recorded> StepReader::Sort(const StepRecords &step,
                                                   const rules::Source::Wants &wants) {
  std::vector<Recorded> sorted;
  const std::vector<Record> &records = step.records;
  for (size_t begin = 0, end = 0; begin < records.size(); begin = end) {
    uint64_t first = UINT64_MAX;
    // Names of one tensor, or worker, are the same characters in memory.
    for (; end < records.size() && records[end].tensor.data() == records[begin].tensor.data() &&
           records[end].worker == records[begin].worker;
         ++end) {
      first = std::min(first, records[end].entry.start);
    }
    if (wants(records[begin].tensor)) {
      sorted.push_back({std::span(records).subspan(begin, end - begin), first});
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const Recorded &a, const Recorded &b) {
    if (a.records.front().worker == b.records.front().worker) return a.begin < b.begin;
    return a.Worker() < b.Worker();
  });
  return sorted;
}

FilePart StepReader::PartOf(std::span<const Recorded> recorded) {
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  uint64_t wanted = 0;
  for (const Recorded &each : recorded) {
    for (const Record &record : each.records) {
      if (record.parts || IsKnown(record)) continue;
      first = std::min(first, record.entry.start);
      last = std::max(last, EndOf(record.entry));
      wanted += record.entry.length;
    }
  }
  if (wanted == 0 || last - first > std::min(wanted + kMostUnwanted, kLargestPart)) return {};
  return {recorded.front().records.front().file, first, last - first, nullptr};
}

StepReader::StepReader(Trial &trial, rules::StepPlace place, const rules::Source::Wants &wants)
    : trial_(trial),
      place_(place),
      step_(trial.RecordsAt(place.step)),
      recorded_(Sort(step_, wants)) {
  for (size_t begin = 0, end = 0; begin < recorded_.size(); begin = end) {
    while (end < recorded_.size() && recorded_[end].Worker() == recorded_[begin].Worker()) ++end;
    workers_.push_back(std::span(recorded_).subspan(begin, end - begin));
    parts_.push_back(PartOf(workers_.back()));
  }
}

ByteSpan StepReader::BytesIn(const FilePart &part, const Record &record) {
  const Entry &entry = record.entry;
  const bool is_in_part = part.bytes && !record.parts && record.file == part.file &&
                          entry.start >= part.offset &&
                          EndOf(entry) <= part.offset + part.bytes->Size();
  if (!is_in_part) return {};
  const ByteSpan bytes = part.bytes->Span().subspan(entry.start - part.offset, entry.length);
  return !entry.has_crc32c || Crc32c(bytes) == entry.crc32c ? bytes : ByteSpan();
}

template <class Use, class UseTexts>
Status StepReader::Read(const Record &record, const FilePart &part, Use use, UseTexts use_texts) {
  if (const ByteSpan bytes = BytesIn(part, record); !bytes.empty()) {
    const auto event = format::ParseRecord({bytes, {}, {}});
    if (event.IsOk() && *event && (*event)->dtype != tensor::DType::kString) {
      wall_seconds_ = (*event)->context.wall_time;
      use(tensor::View{(*event)->content.data(), (*event)->shape, {}, (*event)->dtype});
      return Status::Ok();
    }
  }
  SMD_ASSIGN_OR_RETURN(const ReadTensor read,
                       trial_.ReadTensorAt(std::string(record.tensor), record.AsItem()));
  wall_seconds_ = read.context.wall_time;
  if (read.value.dtype != tensor::DType::kString) {
    use(read.value.AsView());
  } else if (read.value.strings) {
    use_texts(*read.value.strings);
  }
  return Status::Ok();
}

bool StepReader::VisitElement(const Record &record, rules::Sample &sample,
                              const rules::Source::Visit &visit) {
  const KnownNumber &known = record.entry.number;
  const std::optional<ElementBytes> element = ElementOf(known);
  if (!element) return false;
  NoteTime(record);
  const std::vector<int64_t> shape(known.rank, 1);
  sample.SetElements(tensor::View{element->bytes.data(), shape, {}, known.dtype});
  visit(sample);
  return true;
}

Status StepReader::VisitTensor(const Recorded &recorded, const FilePart &part,
                               const rules::Source::Visit &visit) {
  const std::string_view tensor = recorded.records.front().tensor;
  rules::Sample sample(place_, recorded.Worker(), tensor);
  sample.SetPlacement(trial_.PlacementOf(tensor, recorded.Worker()));
  const auto raw = std::find_if(recorded.records.begin(), recorded.records.end(), IsRaw);
  if (raw != recorded.records.end()) {
    // Every reduction can be computed from the elements.
    if (VisitElement(*raw, sample, visit)) return Status::Ok();
    return Read(
        *raw, part,
        [&](const tensor::View &view) {
          sample.SetElements(view);
          visit(sample);
        },
        [&](const std::vector<std::string> &texts) {
          sample.SetTexts({texts.begin(), texts.end()});
          visit(sample);
        });
  }
  for (const Record &record : recorded.records) {
    const tensor::Reduction reduction = *record.entry.kind.AsReduction();
    if (IsKnown(record)) {
      NoteTime(record);
      sample.AddReduction(reduction, record.entry.number.number);
      continue;
    }
    if (const auto scalar = scalars_.Read(BytesIn(part, record))) {
      wall_seconds_ = scalar->wall_time;
      sample.AddReduction(reduction, scalar->number);
      continue;
    }
    SMD_RETURN_IF_ERROR(Read(
        record, part,
        [&](const tensor::View &view) {
          const auto statistics = tensor::ComputeStatistics(view);
          if (!statistics.IsOk() || statistics->count != 1) return;
          sample.AddReduction(reduction, statistics->plain.sum);
        },
        [](const std::vector<std::string> &) {}));
  }
  visit(sample);
  return Status::Ok();
}

Status StepReader::VisitWorker(std::span<const Recorded> recorded, FilePart &part,
                               const rules::Source::Visit &visit) {
  EventFiles &files = trial_.GetEventFiles();
  if (part.bytes) {
    files.Share(*part.file, part.offset, part.bytes);
  } else if (part.length > 0) {
    // Failures are reported when single records are read.
    auto bytes = files.ReadBytes(*part.file, part.offset, part.length);
    if (bytes.IsOk()) part.bytes = *std::move(bytes);
  }
  for (const Recorded &each : recorded) {
    Status visited = VisitTensor(each, part, visit);
    if (visited.IsOk()) continue;
    // A tensor that is damaged, or whose file is missing, does not affect the others.
    if (visited.GetCode() == Code::kCorruptData) {
      trial_.NoteSkipped(visited);
    } else if (!rules::IsMissingData(visited)) {
      return visited;
    }
  }
  return Status::Ok();
}

Status StepReader::Visit(const rules::Source::Visit &visit) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    SMD_RETURN_IF_ERROR(VisitWorker(workers_[i], parts_[i], visit));
    parts_[i].bytes.reset();
  }
  return Status::Ok();
}

}  // namespace smdebug::analyze
