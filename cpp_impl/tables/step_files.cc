#include <algorithm>
#include <tuple>

#include "format/paths.h"
#include "tables/step_rows.h"

namespace smdebug::tables {
namespace {

// With more folders, listing all of them is faster.
constexpr int64_t kFewFolders = 4;

Result<std::vector<std::string>> Names(storage::Store &store, const analyze::StepRange &range) {
  if (!range.end || *range.end - range.first > kFewFolders * format::kStepsPerBucket) {
    return store.Follow(std::string(format::kIndexFolder))->Next();
  }
  std::vector<std::string> names;
  std::string last;
  for (int64_t step = range.first; step < *range.end;) {
    std::string folder = format::IndexBucket(step);
    SMD_ASSIGN_OR_RETURN(std::vector<std::string> some, store.List(folder));
    names.insert(names.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
    const int64_t rest = format::kStepsPerBucket - step % format::kStepsPerBucket;
    if (rest > *range.end - step) break;
    step += rest;
  }
  return names;
}

}  // namespace

Result<std::vector<StepFile>> ListStepFiles(storage::Store &store, const analyze::StepRange &range,
                                            const std::set<std::string, std::less<>> &workers) {
  SMD_ASSIGN_OR_RETURN(std::vector<std::string> names, Names(store, range));
  std::vector<StepFile> files;
  files.reserve(names.size());
  for (std::string &name : names) {
    if (!name.ends_with(".json")) continue;
    auto file = format::ParseStepFileName(name);
    if (!file || !range.Holds(file->step)) continue;
    if (!workers.empty() && !workers.contains(file->worker)) continue;
    files.push_back({file->step, std::move(file->worker), std::move(name)});
  }
  const auto is_before = [](const StepFile &a, const StepFile &b) {
    return std::tie(a.step, a.worker, a.name) < std::tie(b.step, b.worker, b.name);
  };
  if (!std::is_sorted(files.begin(), files.end(), is_before)) {
    std::sort(files.begin(), files.end(), is_before);
  }
  const auto is_same = [](const StepFile &a, const StepFile &b) { return a.name == b.name; };
  files.erase(std::unique(files.begin(), files.end(), is_same), files.end());
  return files;
}

}  // namespace smdebug::tables
