#include "analyze/step_reader.h"

#include <algorithm>

#include "base/crc32c.h"
#include "rules/rule.h"
#include "tensor/statistics.h"

namespace smdebug::analyze {
namespace {

// A file's wanted records are read in one go if no more than so much is read for nothing.
constexpr uint64_t kMostUnwanted = uint64_t{1} << 20;
constexpr uint64_t kLargestPart = uint64_t{64} << 20;

bool IsRaw(const StepEntries::Item &item) { return item.entry.kind == EntryKind::Raw(); }

uint64_t EndOf(const StepEntries::Item &item) { return item.entry.start + item.entry.length; }

}  // namespace

std::vector<StepReader::Recorded> StepReader::Find(const rules::Source::Wants &wants) const {
  std::vector<Recorded> recorded;
  for (auto &[tensor, items] : trial_.AllEntriesAt(place_.step)) {
    if (!wants(tensor)) continue;
    for (StepEntries::Item &item : items) {
      if (item.entry.kind == EntryKind::Shape()) continue;
      if (recorded.empty() || recorded.back().tensor != tensor ||
          recorded.back().items.back().worker != item.worker) {
        recorded.push_back({tensor, {}});
      }
      recorded.back().items.push_back(std::move(item));
    }
  }
  const auto begin = [](const Recorded &each) {
    uint64_t first = each.items.front().entry.start;
    for (const auto &item : each.items) first = std::min(first, item.entry.start);
    return std::make_pair(std::string_view(each.items.front().worker), first);
  };
  std::sort(recorded.begin(), recorded.end(),
            [&](const Recorded &a, const Recorded &b) { return begin(a) < begin(b); });
  return recorded;
}

StepReader::FilePart StepReader::ReadPart(const std::vector<Recorded> &recorded, size_t begin,
                                          size_t end) {
  const std::string &file = recorded[begin].items.front().file;
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  uint64_t wanted = 0;
  for (size_t i = begin; i < end; ++i) {
    for (const StepEntries::Item &item : recorded[i].items) {
      first = std::min(first, item.entry.start);
      last = std::max(last, EndOf(item));
      wanted += item.entry.length;
    }
  }
  if (last <= first || last - first > std::min(wanted + kMostUnwanted, kLargestPart)) return {};
  // What goes wrong here is told where single records are read.
  auto bytes = trial_.ReadBytes(file, first, last - first);
  return bytes.IsOk() ? FilePart{first, *std::move(bytes)} : FilePart{};
}

template <class Use, class UseTexts>
Status StepReader::Read(const Recorded &recorded, const StepEntries::Item &item,
                        const FilePart &part, Use use, UseTexts use_texts) {
  if (item.entry.start >= part.offset && EndOf(item) <= part.offset + part.bytes.Size()) {
    const ByteSpan bytes =
        part.bytes.Span().subspan(item.entry.start - part.offset, item.entry.length);
    if (!item.entry.has_crc32c || Crc32c(bytes) == item.entry.crc32c) {
      const auto event = format::ParseRecord({bytes, {}, {}});
      if (event.IsOk() && *event && (*event)->dtype != tensor::DType::kString) {
        use(tensor::View{(*event)->content.data(), (*event)->shape, {}, (*event)->dtype});
        return Status::Ok();
      }
    }
  }
  SMD_ASSIGN_OR_RETURN(const ReadTensor read, trial_.ReadTensorAt(recorded.tensor, item));
  if (read.value.dtype != tensor::DType::kString) {
    use(read.value.AsView());
  } else if (read.value.strings) {
    use_texts(*read.value.strings);
  }
  return Status::Ok();
}

Status StepReader::VisitTensor(const Recorded &recorded, const FilePart &part,
                               const rules::Source::Visit &visit) {
  rules::Sample sample(place_, recorded.items.front().worker, recorded.tensor);
  const auto raw = std::find_if(recorded.items.begin(), recorded.items.end(), IsRaw);
  if (raw != recorded.items.end()) {
    // Every reduction can be had of the elements.
    return Read(
        recorded, *raw, part,
        [&](const tensor::View &view) {
          sample.SetElements(view);
          visit(sample);
        },
        [&](const std::vector<std::string> &texts) {
          sample.SetTexts({texts.begin(), texts.end()});
          visit(sample);
        });
  }
  for (const StepEntries::Item &item : recorded.items) {
    SMD_RETURN_IF_ERROR(Read(
        recorded, item, part,
        [&](const tensor::View &view) {
          const auto statistics = tensor::ComputeStatistics(view);
          if (!statistics.IsOk() || statistics->count != 1) return;
          sample.AddReduction(*item.entry.kind.AsReduction(), statistics->plain.sum);
        },
        [](const std::vector<std::string> &) {}));
  }
  visit(sample);
  return Status::Ok();
}

Status StepReader::VisitWorker(const std::vector<Recorded> &recorded, size_t begin, size_t end,
                               const rules::Source::Visit &visit) {
  const FilePart part = ReadPart(recorded, begin, end);
  for (size_t i = begin; i < end; ++i) {
    const Status visited = VisitTensor(recorded[i], part, visit);
    // One whose file is gone says nothing about the others.
    if (!visited.IsOk() && !rules::IsMissingData(visited)) return visited;
  }
  return Status::Ok();
}

Status StepReader::Visit(const rules::Source::Wants &wants, const rules::Source::Visit &visit) {
  const std::vector<Recorded> recorded = Find(wants);
  for (size_t begin = 0; begin < recorded.size();) {
    size_t end = begin;
    while (end < recorded.size() &&
           recorded[end].items.front().worker == recorded[begin].items.front().worker) {
      ++end;
    }
    SMD_RETURN_IF_ERROR(VisitWorker(recorded, begin, end, visit));
    begin = end;
  }
  return Status::Ok();
}

}  // namespace smdebug::analyze
