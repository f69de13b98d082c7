/* Loaded before the C library, logs each call that changes a file or folder, in order, to the
 * file that FAULT_LOG names.  It also logs writes to the standard output.  Each entry is a
 * header and two texts: a path, and another path or data. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
  uint64_t inode; /* of the file that was opened, written or synced */
  char kind;      /* o(pen for writing) w(rite) s(ync) r(ename) m(kdir) u(nlink) p(rinted) */
  char truncates; /* what was opened */
  char unused[6];
  uint32_t path_size;
  uint32_t data_size;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;

/* Returns the function with that name that this library overrides. */
#define REAL(name) (__extension__(__typeof__(&name)) real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

static void put(const void *bytes, size_t size) {
  if (syscall(SYS_write, log_file, bytes, size) != (long)size) abort();
}

static uint64_t inode_of(int file) {
  struct stat facts;
  if (fstat(file, &facts) != 0) abort();
  return facts.st_ino;
}

static void note(char kind, uint64_t inode, const char *path, const void *data, size_t size) {
  struct head head = {0};
  if (log_file < 0) {
    const char *name = getenv("FAULT_LOG");
    log_file = name == NULL ? -1
                            : (int)syscall(SYS_openat, AT_FDCWD, name,
                                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) abort();
  }
  head.inode = inode;
  head.kind = kind == 't' ? 'o' : kind;
  head.truncates = kind == 't';
  head.path_size = (uint32_t)strlen(path);
  head.data_size = (uint32_t)size;
  put(&head, sizeof head);
  put(path, head.path_size);
  put(data, size);
}

/* Returns the absolute path of a name in an open folder. */
static const char *whole(int folder, const char *name, char path[PATH_MAX]) {
  char link[64];
  ssize_t size = 0;
  if (name[0] != '/') {
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    size = readlink(link, path, PATH_MAX - 1);
    if (size < 0) abort();
  }
  snprintf(path + size, (size_t)(PATH_MAX - size), "%s%s", size == 0 ? "" : "/", name);
  return path;
}

/* The inode identifies a file, so only opening needs its path. */
static int note_opened(int opened, int folder, const char *name, int flags) {
  char path[PATH_MAX];
  if (opened >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0) {
    note((flags & O_TRUNC) != 0 ? 't' : 'o', inode_of(opened), whole(folder, name, path), "", 0);
  }
  return opened;
}

static int note_made(int result, int folder, const char *name) {
  char path[PATH_MAX];
  struct stat facts;
  if (result != 0) return result;
  if (stat(whole(folder, name, path), &facts) != 0) abort();
  note('m', facts.st_ino, path, "", 0);
  return result;
}

static int note_removed(int result, int folder, const char *name) {
  char path[PATH_MAX];
  if (result == 0) note('u', 0, whole(folder, name, path), "", 0);
  return result;
}

static int note_synced(int result, int file) {
  if (result == 0) note('s', inode_of(file), "", "", 0);
  return result;
}

#define IN_TURN(type, call)       \
  do {                            \
    pthread_mutex_lock(&mutex);   \
    const type answer = (call);   \
    pthread_mutex_unlock(&mutex); \
    return answer;                \
  } while (0)

long syscall(long number, ...) {
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  static long (*next)(long, ...);
  if (next == NULL) next = REAL(syscall);
  if (number != SYS_openat2) {
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
  }
  const struct open_how *how = (const struct open_how *)arguments[2];
  IN_TURN(long, note_opened((int)next(number, arguments[0], arguments[1], how, arguments[3]),
                            (int)arguments[0], (const char *)arguments[1], (int)how->flags));
}

int openat(int folder, const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  IN_TURN(int, note_opened(REAL(openat)(folder, name, flags, mode), folder, name, flags));
}

static ssize_t note_written(ssize_t count, int file, const struct iovec *pieces, int number) {
  for (int i = 0; i < number && count > 0; ++i) {
    const size_t size = (size_t)count < pieces[i].iov_len ? (size_t)count : pieces[i].iov_len;
    note(file == STDOUT_FILENO ? 'p' : 'w', inode_of(file), "", pieces[i].iov_base, size);
    count -= (ssize_t)size;
  }
  return count;
}

ssize_t writev(int file, const struct iovec *pieces, int number) {
  pthread_mutex_lock(&mutex);
  const ssize_t count = REAL(writev)(file, pieces, number);
  note_written(count, file, pieces, number);
  pthread_mutex_unlock(&mutex);
  return count;
}

ssize_t write(int file, const void *bytes, size_t size) {
  struct iovec piece = {(void *)(uintptr_t)bytes, size};
  return writev(file, &piece, 1);
}

int fsync(int file) { IN_TURN(int, note_synced(REAL(fsync)(file), file)); }
int fdatasync(int file) { IN_TURN(int, note_synced(REAL(fdatasync)(file), file)); }

static int note_renamed(int result, int from_folder, const char *from, int to_folder,
                        const char *to) {
  char old_path[PATH_MAX];
  char new_path[PATH_MAX];
  if (result == 0) {
    whole(to_folder, to, new_path);
    note('r', 0, whole(from_folder, from, old_path), new_path, strlen(new_path));
  }
  return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  IN_TURN(int, note_renamed(REAL(renameat)(from_folder, from, to_folder, to), from_folder, from,
                            to_folder, to));
}

int mkdirat(int folder, const char *name, mode_t mode) {
  IN_TURN(int, note_made(REAL(mkdirat)(folder, name, mode), folder, name));
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int unlinkat(int folder, const char *name, int flags) {
  IN_TURN(int, note_removed(REAL(unlinkat)(folder, name, flags), folder, name));
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
