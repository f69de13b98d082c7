#include "analyze/index_scanner.h"

#include <algorithm>

#include "base/strings.h"
#include "format/paths.h"
#include "format/tfrecord.h"

namespace smdebug::analyze {

IndexScanner::IndexScanner(std::shared_ptr<storage::Store> store, StepRange range)
    : store_(std::move(store)),
      range_(range),
      listing_(store_->Follow(std::string(format::kIndexFolder))) {}

Result<format::IndexFile> IndexScanner::Read(const std::string &name) const {
  const std::string path = StrCat(store_->Location(), "/", name);
  SMD_ASSIGN_OR_RETURN(const std::string text, store_->ReadText(name));
  SMD_ASSIGN_OR_RETURN(format::IndexFile index, format::IndexFromJson(text, path));
  constexpr uint64_t kLongest =
      format::kMaxRecordPayload + format::kRecordHeaderSize + format::kRecordFooterSize;
  for (const format::TensorLocation &location : index.tensors) {
    if (location.length > kLongest) {
      return CorruptData(path, StrCat("the record of '", location.name, "' cannot have ",
                                      location.length, " bytes"));
    }
  }
  return index;
}

Result<std::vector<IndexScanner::Found>> IndexScanner::Next(const IsKnown &is_known,
                                                            Status *failure) {
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names, listing_->Next());
  for (const auto &[name, code] : failed_) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<Found> found;
  for (const std::string &name : names) {
    std::optional<format::StepFile> file;
    if (name.ends_with(".json")) file = format::ParseStepFileName(name);
    if (!file || !range_.Holds(file->step) || is_known(file->step, file->worker)) continue;
    auto index = Read(name);
    if (index.IsOk()) {
      failed_.erase(name);
      found.push_back({file->step, std::move(file->worker), *std::move(index)});
      continue;
    }
    const Status status = index.GetStatus();
    const bool is_news = failed_[name] != status.GetCode();
    failed_[name] = status.GetCode();
    if (is_news && failure->IsOk()) *failure = status;
  }
  return found;
}

}  // namespace smdebug::analyze
