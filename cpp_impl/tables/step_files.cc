#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "format/paths.h"
#include "tables/step_rows.h"

namespace smdebug::tables {
namespace {

// With more folders, listing all of them is faster.
constexpr int64_t kFewFolders = 4;

// Calls `list` for each folder of files that the range needs, or once for the folder `all` of them.
// `bucket` returns the folder of a step.
template <class List>
Status ForFolders(const analyze::StepRange &range, std::string_view all,
                  std::string (*bucket)(int64_t), List list) {
  if (!range.end || *range.end - range.first > kFewFolders * format::kStepsPerBucket) {
    return list(std::string(all));
  }
  for (int64_t step = range.first; step < *range.end;) {
    SMD_RETURN_IF_ERROR(list(bucket(step)));
    const int64_t rest = format::kStepsPerBucket - step % format::kStepsPerBucket;
    if (rest > *range.end - step) break;
    step += rest;
  }
  return Status::Ok();
}

Result<std::vector<std::string>> Names(storage::Store &store, const analyze::StepRange &range) {
  std::vector<std::string> names;
  const Status listed = ForFolders(
      range, format::kIndexFolder, format::IndexBucket, [&](const std::string &folder) -> Status {
        const bool is_all = folder == format::kIndexFolder;
        auto some = is_all ? store.Follow(folder)->Next() : store.List(folder);
        if (!some.IsOk()) return some.GetStatus();
        names.insert(names.end(), std::make_move_iterator(some->begin()),
                     std::make_move_iterator(some->end()));
        return Status::Ok();
      });
  if (!listed.IsOk()) return listed;
  return names;
}

std::optional<StepFile> StepFileOf(std::string *name) {
  if (!name->ends_with(".json")) return {};
  auto file = format::ParseStepFileName(*name);
  if (!file) return {};
  return StepFile{file->step, std::move(file->worker), std::move(*name)};
}

bool IsBefore(const StepFile &a, const StepFile &b) {
  return std::tie(a.step, a.worker, a.name) < std::tie(b.step, b.worker, b.name);
}

// Sorts the files, and keeps each once.  `file_of` returns the file of an item.
template <class Item, class FileOf>
void SortFiles(std::vector<Item> *items, FileOf file_of) {
  const auto is_before = [&](const Item &a, const Item &b) {
    return IsBefore(file_of(a), file_of(b));
  };
  if (!std::is_sorted(items->begin(), items->end(), is_before)) {
    std::sort(items->begin(), items->end(), is_before);
  }
  const auto is_same = [&](const Item &a, const Item &b) {
    return file_of(a).name == file_of(b).name;
  };
  items->erase(std::unique(items->begin(), items->end(), is_same), items->end());
}

}  // namespace

Result<std::vector<StepFile>> ListStepFiles(storage::Store &store, const analyze::StepRange &range,
                                            const std::set<std::string, std::less<>> &workers) {
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names, Names(store, range));
  std::vector<StepFile> files;
  files.reserve(names.size());
  for (std::string &name : names) {
    auto file = StepFileOf(&name);
    if (!file || !range.Holds(file->step)) continue;
    if (!workers.empty() && !workers.contains(file->worker)) continue;
    files.push_back(*std::move(file));
  }
  SortFiles(&files, [](const StepFile &file) -> const StepFile & { return file; });
  return files;
}

Result<std::vector<ListedStep>> ListStepVersions(storage::VersionStore &store,
                                                 const analyze::StepRange &range) {
  std::vector<ListedStep> steps;
  SMD_RETURN_IF_ERROR(ForFolders(
      range, format::kIndexFolder, format::IndexBucket, [&](const std::string &folder) -> Status {
        SMD_ASSIGN_OR_RETURN(std::vector<storage::ListedFile> files, store.ListVersions(folder));
        for (storage::ListedFile &each : files) {
          auto file = StepFileOf(&each.name);
          if (!file) continue;
          steps.push_back({*std::move(file), std::move(each.version), each.modified_at, each.size});
        }
        return Status::Ok();
      }));
  SortFiles(&steps, [](const ListedStep &step) -> const StepFile & { return step.file; });
  return steps;
}

Result<std::vector<RowFile>> ListRowFiles(storage::VersionStore &store,
                                          const analyze::StepRange &range) {
  std::vector<RowFile> found;
  SMD_RETURN_IF_ERROR(ForFolders(
      range, format::kRowsFolder, format::RowBucket, [&](const std::string &folder) -> Status {
        SMD_ASSIGN_OR_RETURN(std::vector<storage::ListedFile> files, store.ListVersions(folder));
        for (storage::ListedFile &each : files) {
          auto file = format::ParseRowFileName(each.name);
          if (!file) continue;
          found.push_back({file->step, std::move(file->worker), std::move(each.name),
                           std::move(each.version), each.modified_at, each.size});
        }
        return Status::Ok();
      }));
  std::stable_sort(found.begin(), found.end(),
                   [](const RowFile &a, const RowFile &b) { return a.first < b.first; });
  return found;
}

}  // namespace smdebug::tables
