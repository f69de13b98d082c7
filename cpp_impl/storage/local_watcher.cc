#include "storage/local_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include "base/strings.h"

namespace smdebug::storage {
namespace {

constexpr uint32_t kInterest = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW;

void Drain(const FileDescriptor &file) {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  while (read(file.Number(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace

LocalWatcher::LocalWatcher(std::string root)
    : root_(std::move(root)),
      changes_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

// Watching a folder twice is one watch, so all relevant folders are simply added again: the trial's
// own, where the end marker appears, and those where index files appear.
bool LocalWatcher::WatchFolders() {
  bool is_new = false;
  const auto watch = [&](const std::string &folder) {
    const int number = inotify_add_watch(changes_.Number(), folder.c_str(), kInterest);
    if (number >= 0 && watched_.insert(number).second) is_new = true;
  };
  const std::string index = StrCat(root_, "/index");
  const std::string collections = StrCat(root_, "/collections");
  watch(root_);
  watch(collections);
  watch(StrCat(collections, "/000000000"));
  watch(index);
  std::error_code error;
  std::string newest;
  for (const auto &entry : std::filesystem::directory_iterator(index, error)) {
    newest = std::max(newest, entry.path().string());
  }
  if (!newest.empty()) watch(newest);
  return is_new;
}

void LocalWatcher::Wait(Clock::Duration time) {
  std::array<pollfd, 2> files = {pollfd{wake_.Number(), POLLIN, 0},
                                 pollfd{changes_.Number(), POLLIN, 0}};
  // No event reports names that appeared before the watch: the caller checks again.
  if (changes_.IsOpen() && WatchFolders()) return;
  if (!wake_.IsOpen()) {
    std::this_thread::sleep_for(std::min<Clock::Duration>(time, std::chrono::milliseconds(50)));
    return;
  }
  // poll() treats a negative time as infinite.
  time = std::max(time, Clock::Duration::zero());
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  poll(files.data(), changes_.IsOpen() ? 2 : 1, static_cast<int>(milliseconds));
  if (changes_.IsOpen()) Drain(changes_);
}

void LocalWatcher::Wake() {
  const uint64_t one = 1;
  if (write(wake_.Number(), &one, sizeof one) < 0) {
    // The counter is full, so the descriptor is already readable.
  }
}

}  // namespace smdebug::storage
