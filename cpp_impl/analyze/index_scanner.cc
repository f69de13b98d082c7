#include "analyze/index_scanner.h"

#include <algorithm>
#include <tuple>

#include "base/step.h"
#include "base/strings.h"
#include "format/paths.h"
#include "format/tfrecord.h"

namespace smdebug::analyze {
namespace {

Status BeyondLast(const std::string &path) {
  return CorruptData(path, StrCat("the step in the file's name is larger than ", kMaxStep,
                                  ", the largest possible"));
}

}  // namespace

Result<format::IndexFile> ParseIndexFile(std::string_view text, const std::string &path,
                                         format::IndexFile spare) {
  SMD_ASSIGN_OR_RETURN(format::IndexFile index,
                       format::IndexFromJson(text, path, std::move(spare)));
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

IndexScanner::IndexScanner(std::shared_ptr<storage::Store> store, StepRange range)
    : store_(std::move(store)),
      range_(range),
      listing_(store_->Follow(std::string(format::kIndexFolder))) {}

Result<format::IndexFile> IndexScanner::Parse(const std::string &name,
                                              const Result<std::string> &text,
                                              format::IndexFile spare) const {
  if (!text.IsOk()) return text.GetStatus();
  return ParseIndexFile(*text, StrCat(store_->Location(), "/", name), std::move(spare));
}

void IndexScanner::Settle(int64_t step) { listing_->Settle(format::IndexFilePrefix(step)); }

std::vector<format::StepFile> IndexScanner::Choose(std::vector<std::string> *names,
                                                   const IsKnown &is_known,
                                                   std::vector<Status> *failures) {
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
  std::vector<std::pair<format::StepFile, std::string>> chosen;
  for (std::string &name : *names) {
    std::optional<format::StepFile> file;
    if (name.ends_with(".json")) file = format::ParseStepFileName(name);
    if (!file && name.ends_with(".json") && format::HasStepBeyondLast(name)) {
      NoteFailure(name, BeyondLast(StrCat(store_->Location(), "/", name)), failures);
    }
    if (!file || !range_.Holds(file->step) || is_known(file->step, file->worker)) continue;
    chosen.emplace_back(*std::move(file), std::move(name));
  }
  // The step in a file's name may differ from the step in the file, and steps out of order are slow
  // to store.
  const auto is_before = [](const auto &a, const auto &b) {
    return std::tie(a.first.step, a.first.worker) < std::tie(b.first.step, b.first.worker);
  };
  if (!std::is_sorted(chosen.begin(), chosen.end(), is_before)) {
    std::stable_sort(chosen.begin(), chosen.end(), is_before);
  }
  std::vector<format::StepFile> files;
  files.reserve(chosen.size());
  names->clear();
  for (auto &[file, name] : chosen) {
    files.push_back(std::move(file));
    names->push_back(std::move(name));
  }
  return files;
}

Status IndexScanner::Next(const IsKnown &is_known, const Take &take,
                          std::vector<Status> *failures) {
  if (must_start_over_) listing_ = store_->Follow(std::string(format::kIndexFolder));
  must_start_over_ = false;
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names, listing_->Next());
  for (const auto &[name, code] : failed_) names.push_back(name);
  std::vector<format::StepFile> files = Choose(&names, is_known, failures);
  Found found;
  const auto at_once = static_cast<size_t>(store_->ReadsAtOnce());
  for (size_t begin = 0; begin < names.size(); begin += at_once) {
    const auto some = std::span(names).subspan(begin, std::min(at_once, names.size() - begin));
    const std::vector<Result<std::string>> texts = store_->ReadTexts(some);
    for (size_t i = 0; i < some.size(); ++i) {
      auto index = Parse(some[i], texts[i], std::move(found.index));
      if (!index.IsOk()) {
        NoteFailure(some[i], index.GetStatus(), failures);
        continue;
      }
      failed_.erase(some[i]);
      format::StepFile &file = files[begin + i];
      found = {file.step, std::move(file.worker), *std::move(index)};
      take(found);
    }
  }
  return Status::Ok();
}

void IndexScanner::NoteFailure(const std::string &name, const Status &status,
                               std::vector<Status> *failures) {
  const bool is_news = failed_[name] != status.GetCode();
  failed_[name] = status.GetCode();
  if (is_news) failures->push_back(status);
}

}  // namespace smdebug::analyze
