#include "storage/local_events.h"

#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace smdebug::storage {
namespace {

constexpr uint32_t kAppeared = IN_CREATE | IN_MOVED_TO;
constexpr uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr uint32_t kMissing = kGone | IN_Q_OVERFLOW | IN_UNMOUNT;

std::atomic<int> open_count = 0;

// Returns true if only this machine's kernel changes the file system of `path`.
bool IsLocal(const std::string &path) {
  constexpr std::array<int64_t, 4> kLocal = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                             TMPFS_MAGIC};
  struct statfs facts {};
  if (statfs(path.c_str(), &facts) != 0) return false;
  return std::find(kLocal.begin(), kLocal.end(), facts.f_type) != kLocal.end();
}

}  // namespace

int LocalEvents::Watch(const std::string &path) {
  if (!IsLocal(path)) return -1;
  if (!events_.IsOpen() && !Open()) return -1;
  constexpr uint32_t kInterest = kAppeared | kGone | IN_ONLYDIR | IN_DONT_FOLLOW;
  return inotify_add_watch(events_.Number(), path.c_str(), kInterest);
}

void LocalEvents::Forget(int folder) { inotify_rm_watch(events_.Number(), folder); }

bool LocalEvents::Open() {
  if (open_count.fetch_add(1) < kMost) {
    events_ = FileDescriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (events_.IsOpen()) return true;
  }
  --open_count;
  return false;
}

void LocalEvents::Reset() {
  if (events_.IsOpen()) --open_count;
  events_.Reset();
}

bool LocalEvents::Next(const Take &take) {
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  bool is_whole = true;
  while (events_.IsOpen()) {
    const ssize_t size = read(events_.Number(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    is_whole = is_whole && size > 0;
    if (size <= 0) break;
    for (const char *at = buffer.data(); at < buffer.data() + size;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      is_whole = is_whole && (event.mask & kMissing) == 0;
      if ((event.mask & kAppeared) != 0) take(event.wd, at + sizeof event);
      at += sizeof event + event.len;
    }
  }
  if (!is_whole) Reset();
  return is_whole;
}

}  // namespace smdebug::storage
