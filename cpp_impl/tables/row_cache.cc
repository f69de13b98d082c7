#include "tables/row_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/file_descriptor.h"
#include "base/strings.h"

namespace smdebug::tables {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDefaultMebibytes = 1024;
constexpr int64_t kMostMebibytes = int64_t{1} << 30;
constexpr std::string_view kEnding = ".rows";
constexpr std::string_view kUnfinished = ".tmp";
// A file is used again at most this long after its time says so.
constexpr time_t kHour = 3600;

// Tells keys apart; the file repeats the key.
uint64_t HashOf(std::string_view text) {
  constexpr uint64_t kBasis = 0xCBF29CE484222325U;
  constexpr uint64_t kPrime = 0x100000001B3U;
  uint64_t hash = kBasis;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

std::optional<std::string> CacheFolder() {
  std::optional<std::string> cache = Environment("XDG_CACHE_HOME");
  if (cache && cache->starts_with('/')) return cache;
  const std::optional<std::string> home = Environment("HOME");
  if (!home || !home->starts_with('/')) return {};
  return StrCat(*home, "/.cache");
}

// Shows that the file is in use.
void NoteUse(int file, const struct stat &facts) {
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - facts.st_mtim.tv_sec > kHour) futimens(file, nullptr);
}

Status WriteFile(const std::string &path, std::string_view bytes) {
  constexpr mode_t kOnlyMine = 0600;
  FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOnlyMine));
  if (!file.IsOpen()) return SystemError("making", path, errno);
  const std::array pieces = {Piece{nullptr, AsBytes(bytes)}};
  Status written = WriteAll(file, pieces, path);
  if (written.IsOk()) written = file.Close(path);
  if (!written.IsOk()) unlink(path.c_str());
  return written;
}

struct File {
  fs::path path;
  fs::file_time_type used;
  uint64_t size;
};

// Returns the cache's own files.
std::vector<File> FilesIn(const std::string &folder) {
  std::vector<File> files;
  std::error_code error;
  fs::directory_iterator each(folder, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    const fs::path extension = each->path().extension();
    if (extension != kEnding && extension != kUnfinished) continue;
    std::error_code failed;
    const bool is_file = each->symlink_status(failed).type() == fs::file_type::regular;
    const auto used = each->last_write_time(failed);
    const uint64_t size = each->file_size(failed);
    if (is_file && !failed) files.push_back({each->path(), used, size});
  }
  return files;
}

}  // namespace

Result<std::shared_ptr<RowCache>> RowCache::FromEnvironment() {
  SMD_ASSIGN_OR_RETURN(const int64_t mebibytes,
                       EnvironmentNumber("SMDEBUG_ROW_CACHE_MB", kDefaultMebibytes));
  const std::optional<std::string> cache = CacheFolder();
  if (mebibytes == 0 || !cache) return std::shared_ptr<RowCache>();
  const auto limit = static_cast<uint64_t>(std::min(mebibytes, kMostMebibytes)) << 20;
  return std::make_shared<RowCache>(StrCat(*cache, "/libsmdebug/rows"), limit);
}

std::string RowCache::PathOf(std::string_view key) const {
  std::array<char, 2 * sizeof(uint64_t) + 1> digits{};
  (void)std::snprintf(digits.data(), digits.size(), "%016llx",
                      static_cast<unsigned long long>(HashOf(key)));
  return StrCat(folder_, "/", digits.data(), kEnding);
}

std::optional<format::StoredRows> RowCache::Load(std::string_view key) const {
  const std::string path = PathOf(key);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file.IsOpen() || fstat(file.Number(), &facts) != 0) return {};
  const bool is_ours = S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
  if (!is_ours || static_cast<uint64_t>(facts.st_size) > kLargest) return {};
  AlignedBuffer bytes(static_cast<size_t>(facts.st_size));
  SpanSink sink(bytes.Span());
  if (!ReadAll(file, 0, bytes.Size(), sink, path).IsOk()) return {};
  NoteUse(file.Number(), facts);
  return format::DecodeRows(bytes.Span(), key);
}

void RowCache::Save(std::string_view key, const format::StoredRows &rows) {
  const std::string bytes = format::EncodeRows(rows, key);
  if (bytes.size() > std::min(limit_ / 4, kLargest)) return;
  const std::string path = PathOf(key);
  std::string unfinished;
  {
    // Each process may have several caches.
    const MutexLock lock(mutex_);
    unfinished = StrCat(path, ".", getpid(), ".", reinterpret_cast<uintptr_t>(this), ".", files_++,
                        kUnfinished);
  }
  Status written = WriteFile(unfinished, bytes);
  if (written.GetCode() == Code::kNotFound) {
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    written = WriteFile(unfinished, bytes);
  }
  if (!written.IsOk()) return;
  if (rename(unfinished.c_str(), path.c_str()) != 0) unlink(unfinished.c_str());
  const MutexLock lock(mutex_);
  // The first file of a process shows what others left.
  const bool is_due = saved_ == 0 || saved_ > limit_ / 8;
  saved_ = (is_due ? 0 : saved_) + bytes.size();
  if (is_due) Trim();
}

void RowCache::Trim() {
  std::vector<File> files = FilesIn(folder_);
  const auto now = fs::file_time_type::clock::now();
  uint64_t size = 0;
  for (const File &file : files) size += file.size;
  std::sort(files.begin(), files.end(),
            [](const File &a, const File &b) { return a.used < b.used; });
  const uint64_t wanted = size > limit_ ? limit_ / 4 * 3 : limit_;
  for (const File &file : files) {
    // Its writer was killed, if the file is old.
    const bool is_left = file.path.extension() == kUnfinished;
    const bool is_old = now - file.used > std::chrono::seconds(kHour);
    if (is_left ? !is_old : size <= wanted) continue;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    size -= file.size;
  }
}

}  // namespace smdebug::tables
