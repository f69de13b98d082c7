#include "profile/profile_files.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/parallel.h"
#include "base/strings.h"

namespace smdebug::profile {
namespace {

constexpr std::string_view kEnding = ".json";
// Folders below "system" and "framework/pevents".
constexpr int kDepth = 3;

struct TimelineKind {
  std::string_view ending;
  std::string_view type;
};

constexpr std::array kTimelineKinds = {
    TimelineKind{"pythontimeline.json", "PythontimelineMetrics"},
    TimelineKind{"model_timeline.json", "DetailedframeworkMetrics"},
    TimelineKind{"trace.json", "TFProfilerMetrics"},
    TimelineKind{"horovod_timeline.json", "HorovodMetrics"},
    TimelineKind{"smdataparallel_timeline.json", "SMDataParallelMetrics"},
};

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('/') + 1); }

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "314-algo-1" as "algo-1-314", which sorts by machine.
std::string SortableNode(std::string_view node) {
  const size_t mark = node.rfind("-algo");
  if (mark == std::string_view::npos) return std::string(node);
  return StrCat(node.substr(mark + 1), "-", node.substr(0, mark));
}

// Lists all files below a folder, the folders of one level at a time.
Result<std::vector<std::string>> ListBelow(storage::Store &store, std::string_view top) {
  std::vector<std::string> names;
  std::vector<std::string> level{std::string(top)};
  const auto at_once = static_cast<size_t>(std::max(1, store.ReadsAtOnce()));
  for (int depth = 0; depth <= kDepth && !level.empty(); ++depth) {
    using Names = Result<std::vector<std::string>>;
    std::vector<Names> files(level.size(), Names(std::vector<std::string>()));
    std::vector<Names> folders = files;
    InParallel(level.size(), at_once, [&](size_t i) {
      files[i] = store.List(level[i]);
      folders[i] = store.Folders(level[i]);
    });
    std::vector<std::string> next;
    for (size_t i = 0; i < level.size(); ++i) {
      if (!files[i].IsOk()) return files[i].GetStatus();
      if (!folders[i].IsOk()) return folders[i].GetStatus();
      names.insert(names.end(), files[i]->begin(), files[i]->end());
      next.insert(next.end(), folders[i]->begin(), folders[i]->end());
    }
    level = std::move(next);
  }
  return names;
}

template <class Parse>
Result<std::vector<ProfileFile>> ListFiles(storage::Store &store, std::string_view top,
                                           Parse parse) {
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListBelow(store, top));
  std::vector<ProfileFile> files;
  for (const std::string &name : names) {
    auto file = parse(name);
    if (file) files.push_back(*std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const ProfileFile &left, const ProfileFile &right) {
    return std::tie(left.stamp, left.name) < std::tie(right.stamp, right.name);
  });
  return files;
}

}  // namespace

std::optional<ProfileFile> ParseSystemFileName(std::string_view name) {
  constexpr size_t kDigits = 10;
  const std::string_view last = LastPart(name);
  const std::string_view stamp = last.substr(0, last.find('.'));
  const bool is_one = stamp.size() == kDigits && IsDigits(stamp) && last.ends_with(kEnding) &&
                      last.size() > kDigits + 1 + kEnding.size() && IsUtf8(name);
  if (!is_one) return std::nullopt;
  std::string_view node = last.substr(kDigits + 1);
  node.remove_suffix(kEnding.size());
  return ProfileFile{
      std::string(name), *ParseInt(stamp) * kMicrosecondsPerSecond, std::string(node), {}};
}

std::optional<ProfileFile> ParseTimelineFileName(std::string_view name) {
  const std::string_view last = LastPart(name);
  const size_t first = last.find('_');
  const size_t second = first == std::string_view::npos ? first : last.find('_', first + 1);
  if (second == std::string_view::npos || !IsUtf8(name)) return std::nullopt;
  const std::string_view digits = last.substr(0, first);
  const auto stamp = IsDigits(digits) ? ParseInt(digits) : std::nullopt;
  if (!stamp) return std::nullopt;
  for (const TimelineKind &kind : kTimelineKinds) {
    if (!last.substr(second + 1).ends_with(kind.ending)) continue;
    return ProfileFile{std::string(name), *stamp,
                       SortableNode(last.substr(first + 1, second - first - 1)), kind.type};
  }
  return std::nullopt;
}

Result<std::vector<ProfileFile>> ListSystemFiles(storage::Store &store) {
  return ListFiles(store, kSystemFolder, ParseSystemFileName);
}

Result<std::vector<ProfileFile>> ListTimelineFiles(storage::Store &store) {
  return ListFiles(store, kTimelineFolder, ParseTimelineFileName);
}

}  // namespace smdebug::profile
