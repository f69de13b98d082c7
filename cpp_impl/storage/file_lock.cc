#include "storage/file_lock.h"

#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace smdebug::storage {
namespace {

constexpr uint64_t kXfsMagic = 0x58465342;
constexpr uint64_t kZfsMagic = 0x2FC12FC1;

constexpr std::array<uint64_t, 7> kLocalSystems = {
    EXT4_SUPER_MAGIC,      kXfsMagic,        BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
    OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, kZfsMagic};

}  // namespace

bool HasExactLocks(int file) {
  struct statfs facts {};
  if (fstatfs(file, &facts) != 0) return false;
  const auto kind = static_cast<uint64_t>(facts.f_type) & 0xFFFFFFFFU;
  return std::ranges::find(kLocalSystems, kind) != kLocalSystems.end();
}

LockResult TryLock(int file, LockKind kind) {
  const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  if (flock(file, operation) == 0) return LockResult::kTaken;
  return errno == EWOULDBLOCK ? LockResult::kHeldByOthers : LockResult::kFailed;
}

}  // namespace smdebug::storage
