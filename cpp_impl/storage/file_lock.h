// Locks that show whether the process that created a file is still alive.
#pragma once

namespace smdebug::storage {

// Returns true if `file` is on a file system of this machine: there, a lock is seen by every
// process that can open the file.  On network file systems, mount options may hide the locks of
// other machines.
bool HasExactLocks(int file);

enum class LockKind { kShared, kExclusive };
enum class LockResult { kTaken, kHeldByOthers, kFailed };

// Never waits.  The lock belongs to the open file, and ends when its last descriptor is closed.
LockResult TryLock(int file, LockKind kind);

}  // namespace smdebug::storage
