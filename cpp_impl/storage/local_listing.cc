#include "storage/local_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/strings.h"

namespace smdebug::storage {
namespace {

// File systems stamp changes with clocks as coarse as this, some on other machines.
constexpr time_t kCoarseness = 2;

// Workers may lag behind each other by as many thousand steps.
constexpr size_t kFollowedBuckets = 4;

bool IsSameTime(const timespec &a, const timespec &b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

Result<std::vector<std::string>> ReadFolder(FileDescriptor folder, const std::string &path) {
  // fdopendir takes the descriptor over, so it gets one of its own.
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
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return SystemError("reading", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

LocalListing::LocalListing(std::string root, std::string folder)
    : root_(std::move(root)), folder_(std::move(folder)) {}

Result<bool> LocalListing::HasChanged(const std::string &path, Seen *seen) const {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return SystemError("looking at", path, errno);
  }
  if (!S_ISDIR(facts.st_mode)) return false;
  if (seen->is_settled && IsSameTime(seen->changed, facts.st_mtim)) return false;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  seen->changed = facts.st_mtim;
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
  const Status status = Look(&files, &noted);
  if (!status.IsOk()) {
    // What was found on the way is not handed out, so it must be found again.
    for (Seen *seen : noted) *seen = {};
    return status;
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status LocalListing::Look(std::vector<std::string> *files, std::vector<Seen *> *noted) {
  const std::string top = StrCat(root_, "/", folder_);
  noted->push_back(&folder_seen_);
  SMD_ASSIGN_OR_RETURN(const bool has_new_buckets, HasChanged(top, &folder_seen_));
  if (has_new_buckets) {
    SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, Read(top));
    for (const std::string &name : names) buckets_.try_emplace(name);
  }
  size_t followed = 0;
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const bool was_read = bucket->second.changed.tv_sec != 0;
    if (followed++ >= kFollowedBuckets && was_read) continue;
    const std::string path = StrCat(top, "/", bucket->first);
    SMD_ASSIGN_OR_RETURN(const bool has_changed, HasChanged(path, &bucket->second));
    if (!has_changed) continue;
    noted->push_back(&bucket->second);
    SMD_ASSIGN_OR_RETURN(const std::vector<std::string> names, Read(path));
    for (const std::string &name : names) {
      files->push_back(StrCat(folder_, "/", bucket->first, "/", name));
    }
  }
  return Status::Ok();
}

}  // namespace smdebug::storage
