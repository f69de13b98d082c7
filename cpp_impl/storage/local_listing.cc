#include "storage/local_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/strings.h"

namespace smdebug::storage {
namespace {

// File systems stamp changes with clocks this coarse, some on other machines.
constexpr time_t kCoarseness = 2;

// Workers may lag behind each other by this many thousand steps.
constexpr size_t kFollowedBuckets = 4;

bool IsSameTime(const timespec &a, const timespec &b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Some file systems do not say what an entry is.
bool IsFolder(int parent, const dirent &entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat facts {};
  return fstatat(parent, entry.d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

Result<std::vector<std::string>> ReadFolder(FileDescriptor folder, const std::string &path,
                                            Entries which) {
  // fdopendir takes ownership of the descriptor, so it gets a duplicate.
  const int number = fcntl(folder.Number(), F_DUPFD_CLOEXEC, 0);
  if (number < 0) return SystemError("reading", path, errno);
  const std::unique_ptr<DIR, int (*)(DIR *)> stream(fdopendir(number), closedir);
  if (!stream) {
    const int error = errno;
    FileDescriptor{number}.Reset();
    return SystemError("reading", path, error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent *entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    const bool is_wanted =
        name != "." && name != ".." && (which == Entries::kAll || IsFolder(number, *entry));
    if (is_wanted) names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return SystemError("reading", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Status ReadVersions(FileDescriptor opened, const std::string &path, const std::string &folder,
                    std::vector<ListedFile> *files) {
  const FileDescriptor here(fcntl(opened.Number(), F_DUPFD_CLOEXEC, 0));
  if (!here.IsOpen()) return SystemError("reading", path, errno);
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadFolder(std::move(opened), path));
  for (const std::string &name : names) {
    struct stat facts {};
    if (fstatat(here.Number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return SystemError("looking at", StrCat(path, "/", name), errno);
    }
    if (S_ISDIR(facts.st_mode)) continue;
    // The time of the last change cannot be set, but some file systems do not have it.
    const std::array<int64_t, 6> version = {static_cast<int64_t>(facts.st_ino),
                                            facts.st_size,
                                            facts.st_mtim.tv_sec,
                                            facts.st_mtim.tv_nsec,
                                            facts.st_ctim.tv_sec,
                                            facts.st_ctim.tv_nsec};
    constexpr double kNanosecond = 1e-9;
    files->push_back({StrCat(folder, "/", name),
                      std::string(AsText(std::as_bytes(std::span(version)))),
                      static_cast<double>(facts.st_mtim.tv_sec) +
                          static_cast<double>(facts.st_mtim.tv_nsec) * kNanosecond,
                      static_cast<uint64_t>(facts.st_size)});
  }
  return Status::Ok();
}

LocalListing::LocalListing(std::string_view root, std::string folder)
    : folder_(std::move(folder)), top_(StrCat(root, "/", folder_)) {}

Result<bool> LocalListing::HasChanged(const std::string &path, Seen *seen) const {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return SystemError("looking at", path, errno);
  }
  if (!S_ISDIR(facts.st_mode)) return false;
  const bool is_same = seen->device == facts.st_dev && seen->inode == facts.st_ino;
  if (is_same && seen->is_settled && IsSameTime(seen->changed, facts.st_mtim)) return false;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  seen->changed = facts.st_mtim;
  seen->device = facts.st_dev;
  seen->inode = facts.st_ino;
  seen->is_settled = now.tv_sec - facts.st_mtim.tv_sec > kCoarseness;
  return true;
}

Result<std::vector<std::string>> LocalListing::Read(const std::string &path) const {
  FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.IsOpen()) return SystemError("reading", path, errno);
  return ReadFolder(std::move(folder), path);
}

Result<std::vector<std::string>> LocalListing::Next() {
  std::vector<std::string> files;
  std::vector<Seen *> noted;
  TakeEvents(&files);
  const Status status = Look(&files, &noted);
  if (!status.IsOk()) {
    // The names found so far are not returned, so the next call must find them again.
    StopWatching();
    for (Seen *seen : noted) *seen = {};
    return status;
  }
  is_first_look_ = false;
  must_look_at_all_ = false;
  std::sort(files.begin(), files.end());
  return files;
}

void LocalListing::TakeEvents(std::vector<std::string> *files) {
  const bool is_whole = events_.Next([&](int folder, std::string_view name) {
    if (folder == top_seen_.watch) {
      buckets_.try_emplace(std::string(name));
      must_look_at_all_ = true;
    } else if (const auto bucket = watched_.find(folder); bucket != watched_.end()) {
      files->push_back(StrCat(folder_, "/", *bucket->second, "/", name));
    }
  });
  if (is_whole) return;
  files->clear();
  StopWatching();
}

void LocalListing::StopWatching() {
  events_.Reset();
  watched_.clear();
  top_seen_ = {};
  for (auto &[name, seen] : buckets_) {
    if (seen.watch >= 0) seen = {};
  }
}

Status LocalListing::Look(std::vector<std::string> *files, std::vector<Seen *> *noted) {
  noted->push_back(&top_seen_);
  SMD_RETURN_IF_ERROR(LookAtTop());
  size_t followed = 0;
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const bool was_read = bucket->second.changed.tv_sec != 0;
    if (followed++ >= kFollowedBuckets && was_read) {
      if (!must_look_at_all_) break;
      ForgetBucket(&bucket->second);
      continue;
    }
    noted->push_back(&bucket->second);
    SMD_RETURN_IF_ERROR(LookAtBucket(&*bucket, files));
  }
  return Status::Ok();
}

Status LocalListing::LookAtTop() {
  struct stat facts {};
  if (top_seen_.watch >= 0) {
    // The events are from the folder that had this path when the watch began.
    const bool is_there = lstat(top_.c_str(), &facts) == 0;
    if (is_there && facts.st_dev == top_seen_.device && facts.st_ino == top_seen_.inode) {
      return Status::Ok();
    }
    StopWatching();
  }
  // The trial of a stopped job is listed only once: that listing uses no scarce watches.
  if (!is_first_look_) top_seen_.watch = events_.Watch(top_);
  SMD_ASSIGN_OR_RETURN(const bool has_changed, HasChanged(top_, &top_seen_));
  if (!has_changed) return Status::Ok();
  must_look_at_all_ = true;
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, Read(top_));
  for (const std::string &name : names) buckets_.try_emplace(name);
  return Status::Ok();
}

Status LocalListing::LookAtBucket(Buckets::value_type *bucket, std::vector<std::string> *files) {
  auto &[name, seen] = *bucket;
  if (seen.watch >= 0) return Status::Ok();
  const std::string path = StrCat(top_, "/", name);
  // The watch begins before the read, so names that appear in between cause events.
  if (top_seen_.watch >= 0) seen.watch = events_.Watch(path);
  if (seen.watch >= 0) watched_[seen.watch] = &name;
  SMD_ASSIGN_OR_RETURN(const bool has_changed, HasChanged(path, &seen));
  if (!has_changed) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> found, Read(path));
  for (const std::string &file : found) files->push_back(StrCat(folder_, "/", name, "/", file));
  return Status::Ok();
}

void LocalListing::ForgetBucket(Seen *seen) {
  if (seen->watch < 0) return;
  watched_.erase(seen->watch);
  events_.Forget(std::exchange(seen->watch, -1));
}

}  // namespace smdebug::storage
