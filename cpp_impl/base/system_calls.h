#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// Calls of the kernel for which C libraries have no function before some version: packages for old
// systems link with glibc 2.17.  Each fails like the function: -1 and errno.
namespace smdebug::system_calls {

// gettid(), in glibc since 2.30.
inline pid_t ThreadNumber() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// renameat2() with RENAME_NOREPLACE, in glibc since 2.28.
inline int RenameNew(int folder, const char *from, const char *to) {
  constexpr unsigned kNoReplace = 1;
  return static_cast<int>(syscall(SYS_renameat2, folder, from, folder, to, kNoReplace));
}

}  // namespace smdebug::system_calls
