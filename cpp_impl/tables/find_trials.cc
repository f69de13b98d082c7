#include "tables/find_trials.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "base/strings.h"
#include "profile/profile_files.h"
#include "storage/store.h"

namespace smdebug::tables {
namespace {

constexpr std::string_view kScheme = "s3://";

std::string_view LastPart(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string FolderOf(const std::string &path) { return path.substr(0, path.rfind('/')); }

// A path, split before its first part that is a pattern.
struct SplitPath {
  std::string root;
  std::vector<std::string> patterns;
};

bool IsPattern(std::string_view part) { return part.find_first_of("*?[") != part.npos; }

// Returns the parts between slashes, without empty ones.
std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const size_t length = std::min(path.find('/'), path.size());
    if (length > 0) parts.emplace_back(path.substr(0, length));
    path.remove_prefix(std::min(length + 1, path.size()));
  }
  return parts;
}

Result<bool> HoldsFolders(const std::string &path, const Request &request) {
  SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                       storage::OpenStore(path, request.store_options, request.logger));
  const auto folders = store->Folders("");
  // A user may be allowed to list the folder above only.
  if (!folders.IsOk() && folders.GetStatus().GetCode() == Code::kPermission) return false;
  if (!folders.IsOk()) return folders.GetStatus();
  return !folders->empty();
}

// A folder may have such characters in its name: if it exists, its name is not a pattern.
Result<SplitPath> SplitAtPattern(const std::string &path, const Request &request) {
  const size_t begin = path.starts_with(kScheme) ? kScheme.size() : 0;
  for (size_t start = begin; start < path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const size_t part = std::exchange(start, end + 1);
    if (!IsPattern(std::string_view(path).substr(part, end - part))) continue;
    if (begin != 0 && part == begin) {
      return InvalidArgument(StrCat(path, ": the name of a bucket cannot be a pattern"));
    }
    SMD_ASSIGN_OR_RETURN(const bool exists, HoldsFolders(path.substr(0, end), request));
    if (exists) continue;
    const std::string root = path.substr(0, part > 1 ? part - 1 : part);
    return SplitPath{root.empty() ? "." : root, PartsOf(std::string_view(path).substr(part))};
  }
  return SplitPath{path, {}};
}

// A folder that is searched next; its name is relative to the store.
struct Candidate {
  std::string name;
  size_t matched = 0;  // patterns
  int depth = 0;       // below the last pattern
};

class Search {
 public:
  Search(storage::Store &store, const SplitPath &path, const Request &request)
      : store_(store), path_(path), request_(request) {}

  // Returns the names of the trials, relative to the store; "" for its own folder.
  Result<std::vector<std::string>> Run() {
    std::vector<Candidate> level{{}};
    while (!level.empty()) {
      SMD_ASSIGN_OR_RETURN(const auto folders, FoldersOf(level));
      std::vector<Candidate> next;
      for (size_t i = 0; i < level.size(); ++i) Visit(level[i], folders[i], &next);
      level = std::move(next);
    }
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  using Folders = std::vector<std::string>;

  Result<std::vector<Folders>> FoldersOf(const std::vector<Candidate> &level) {
    std::vector<Result<Folders>> answers(level.size(), Folders());
    InParallel(level.size(), LooksAtOnce(path_.root),
               [&](size_t i) { answers[i] = store_.Folders(level[i].name); });
    std::vector<Folders> folders;
    folders.reserve(level.size());
    for (size_t i = 0; i < level.size(); ++i) {
      // A folder below may be another user's.
      const bool is_forbidden = !answers[i].IsOk() && !level[i].name.empty() &&
                                answers[i].GetStatus().GetCode() == Code::kPermission;
      if (is_forbidden) {
        request_.logger.Warning(StrCat(store_.Location(), "/", WellFormed(level[i].name),
                                       ": reading this folder is not permitted; skipped"));
        answers[i] = Folders();
      }
      if (!answers[i].IsOk()) return answers[i].GetStatus();
      folders.push_back(*std::move(answers[i]));
    }
    return folders;
  }

  void Visit(const Candidate &candidate, const Folders &folders, std::vector<Candidate> *next) {
    if (candidate.matched < path_.patterns.size()) {
      for (const std::string &folder : Matching(path_.patterns[candidate.matched], folders)) {
        next->push_back({folder, candidate.matched + 1, 0});
      }
      return;
    }
    const bool finds_profiles = request_.IsOfProfiler();
    if (finds_profiles ? IsProfile(candidate, folders) : IsTrial(candidate, folders)) {
      found_.push_back(candidate.name);
    } else if (candidate.depth < kDepth) {
      for (const std::string &folder : folders) {
        // A trial, which may have no profile, holds a folder for each step.
        const bool is_of_trial = finds_profiles && IsPartOfTrial(folder);
        if (LastPart(folder).starts_with('.') || is_of_trial) continue;
        next->push_back({folder, candidate.matched, candidate.depth + 1});
      }
    }
  }

  // A folder whose name is the pattern itself is the one that is meant.
  static Folders Matching(const std::string &pattern, const Folders &folders) {
    Folders matching;
    for (const std::string &folder : folders) {
      const std::string last(LastPart(folder));
      if (last == pattern) return {folder};
      if (fnmatch(pattern.c_str(), last.c_str(), FNM_PERIOD) == 0) matching.push_back(folder);
    }
    return matching;
  }

  static bool IsPartOfTrial(const std::string &folder) {
    const std::string_view last = LastPart(folder);
    return last == "index" || last == "collections" || last == "events";
  }

  // Other folders may hold one of such a name too, as Python's packages do.  So where a trial was
  // not named and has no second one, the numbers of steps must be in it.
  bool IsTrial(const Candidate &candidate, const Folders &folders) const {
    const auto part = std::find_if(folders.begin(), folders.end(), IsPartOfTrial);
    if (part == folders.end()) return false;
    const bool is_named = candidate.depth == 0 && path_.patterns.empty();
    if (is_named || std::any_of(part + 1, folders.end(), IsPartOfTrial)) return true;
    const auto inner = store_.Folders(*part);
    return inner.IsOk() && std::any_of(inner->begin(), inner->end(), [](const std::string &each) {
             return IsNumber(LastPart(each));
           });
  }

  static bool IsNumber(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  // Other folders may be called "system" and "framework" too, so those that were not named
  // are checked one level deeper.
  bool IsProfile(const Candidate &candidate, const Folders &folders) const {
    return std::any_of(folders.begin(), folders.end(), [&](const std::string &folder) {
      const std::string_view last = LastPart(folder);
      const bool is_system = last == profile::kSystemFolder;
      if (!is_system && last != profile::kFrameworkFolder) return false;
      if (candidate.depth == 0) return true;
      const auto inner = store_.Folders(folder);
      return inner.IsOk() && std::any_of(inner->begin(), inner->end(), [&](const auto &each) {
               return LastPart(each) == (is_system ? "incremental" : "pevents");
             });
    });
  }

  storage::Store &store_;
  const SplitPath &path_;
  const Request &request_;
  std::vector<std::string> found_;
};

Status NothingFound(const std::string &path, const SplitPath &split, bool finds_profiles) {
  std::error_code error;
  if (split.patterns.empty() && !path.starts_with(kScheme)) {
    const auto type = std::filesystem::status(split.root, error).type();
    const bool is_missing = type == std::filesystem::file_type::not_found;
    if (is_missing || type == std::filesystem::file_type::regular) {
      return Status(Code::kNotFound,
                    StrCat(path, is_missing ? ": there is no such folder"
                                            : ": this is a file; give a folder of trials"))
          .With("path", path);
    }
  }
  if (finds_profiles) {
    return Status(Code::kNotFound,
                  StrCat(path,
                         split.patterns.empty() ? ": there is no profiler folder in it"
                                                : ": matches no profiler folder",
                         "; a profiler folder has a folder 'system' or 'framework'"))
        .With("path", path);
  }
  const std::string what = split.patterns.empty() ? "there is no trial in it" : "matches no trial";
  return Status(Code::kNotFound,
                StrCat(path, ": ", what,
                       "; a trial is a folder with a folder 'index', as jobs record it"))
      .With("path", path);
}

// Returns the length of the longest folder that holds all of the trials, with a slash.
size_t SharedFolder(const std::vector<FoundTrial> &trials) {
  const std::string &first = trials.front().path;
  size_t shared = first.rfind('/') + 1;
  for (const FoundTrial &trial : trials) {
    const auto [end, other] =
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shared),
                      trial.path.begin(), trial.path.end());
    const size_t same = static_cast<size_t>(end - first.begin());
    if (same < shared) shared = same == 0 ? 0 : first.rfind('/', same - 1) + 1;
  }
  return shared;
}

// Gives trials of one name longer names, and the others too, so that all look alike.
void TellApart(std::vector<FoundTrial> *trials) {
  std::set<std::string_view> names;
  const bool differ = std::all_of(trials->begin(), trials->end(), [&](const FoundTrial &trial) {
    return names.insert(trial.name).second;
  });
  if (differ) return;
  const size_t shared = SharedFolder(*trials);
  for (FoundTrial &trial : *trials) trial.name = trial.path.substr(shared);
}

// Returns all trials that the paths lead to, each once.
Result<std::vector<FoundTrial>> FindAll(const Request &request) {
  std::vector<FoundTrial> trials;
  std::set<std::string> known;
  for (const std::string &path : request.paths) {
    SMD_ASSIGN_OR_RETURN(const SplitPath split, SplitAtPattern(path, request));
    SMD_ASSIGN_OR_RETURN(const std::shared_ptr<storage::Store> store,
                         storage::OpenStore(split.root, request.store_options, request.logger));
    SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         Search(*store, split, request).Run());
    if (names.empty()) return NothingFound(path, split, request.IsOfProfiler());
    for (const std::string &name : names) {
      const std::string &root = store->Location();
      FoundTrial trial{name.empty() ? root : StrCat(root, root.ends_with('/') ? "" : "/", name),
                       name.empty() ? std::string(LastPart(root)) : name,
                       name.empty() ? FolderOf(root) : root};
      if (!request.name.empty() && name.empty()) trial.name = request.name;
      if (!IsUtf8(trial.path)) {
        request.logger.Warning(StrCat(WellFormed(trial.path), ": its name is not UTF-8; skipped"));
      } else if (known.insert(trial.path).second) {
        trials.push_back(std::move(trial));
      }
    }
  }
  return trials;
}

}  // namespace

size_t LooksAtOnce(std::string_view path) {
  // Requests to a bucket are mostly waiting; two folders are read while one waits for the disk.
  constexpr size_t kRequests = 128;
  constexpr size_t kFolders = 2;
  return path.starts_with(kScheme) ? kRequests : kFolders;
}

Result<std::vector<FoundTrial>> FindTrials(const Request &request) {
  SMD_ASSIGN_OR_RETURN(std::vector<FoundTrial> trials, FindAll(request));
  TellApart(&trials);
  std::vector<FoundTrial> wanted;
  for (FoundTrial &trial : trials) {
    SMD_ASSIGN_OR_RETURN(const bool is_wanted, request.WantsTrial(trial.name));
    if (is_wanted) wanted.push_back(std::move(trial));
  }
  return wanted;
}

}  // namespace smdebug::tables
