#define _GNU_SOURCE
#include "failing_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static _Atomic(int) armed = FAULT_NONE;
static _Atomic(long) count;
static _Atomic(long) allocations;
static long fatal_number;
static int fatal_error;
static int fatal_on;

/* Kinds of code: the program, whose calls do not count; the libraries in FAULT_UNDER, whose calls
 * alone count if it is set; and the libraries in FAULT_SPARED. */
enum { MOST_TEXTS = 8 };
enum text { TEXT_OTHER, TEXT_FOUND, TEXT_SPARED };
static struct {
  uintptr_t begin;
  uintptr_t end;
  enum text kind;
} texts[MOST_TEXTS];
static int text_count;
static const char *under;
static const char *spared;
static _Thread_local int is_inside __attribute__((tls_model("initial-exec")));

/* ---- which calls count ----------------------------------------------------- */

static int is_among(const char *names, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash == NULL ? path : slash + 1;
  for (const char *name = names; name != NULL && *name != '\0';) {
    const size_t size = strcspn(name, ",");
    if (strncmp(base, name, size) == 0) return 1;
    name += size + (name[size] == ',');
  }
  return 0;
}

static enum text kind_of(const char *path) {
  if (under == NULL) return path[0] == '\0' ? TEXT_FOUND : TEXT_OTHER;
  if (is_among(spared, path)) return TEXT_SPARED;
  return is_among(under, path) ? TEXT_FOUND : TEXT_OTHER;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *unused) {
  const enum text kind = kind_of(info->dlpi_name);
  (void)size;
  (void)unused;
  if (kind == TEXT_OTHER) return 0;
  for (int i = 0; i < info->dlpi_phnum && text_count < MOST_TEXTS; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    texts[text_count].begin = info->dlpi_addr + part->p_vaddr;
    texts[text_count].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    texts[text_count++].kind = kind;
  }
  return 0;
}

static enum text text_at(uintptr_t address) {
  for (int i = 0; i < text_count; ++i) {
    if (address >= texts[i].begin && address < texts[i].end) return texts[i].kind;
  }
  return TEXT_OTHER;
}

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *frame, void *found) {
  *(enum text *)found = text_at(_Unwind_GetIP(frame));
  return *(enum text *)found == TEXT_OTHER ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static int is_counted(const void *caller) {
  enum text found = TEXT_OTHER;
  if (is_inside) return 0;
  if (under == NULL) return text_at((uintptr_t)caller) == TEXT_OTHER;
  is_inside = 1;
  _Unwind_Backtrace(look_at_frame, &found);
  is_inside = 0;
  return found == TEXT_FOUND;
}

static int must_fail(enum fault_group group, const void *caller) {
  if (atomic_load(&armed) != (int)group || !is_counted(caller)) return 0;
  const long number = atomic_fetch_add(&count, 1) + 1;
  return number == fatal_number || (fatal_on && number > fatal_number);
}

void fault_arm(enum fault_group group, long number, int error, int on) {
  under = getenv("FAULT_UNDER");
  spared = getenv("FAULT_SPARED");
  text_count = 0;
  dl_iterate_phdr(find_text, NULL);
  fatal_number = number;
  fatal_error = error;
  fatal_on = on;
  atomic_store(&count, 0);
  atomic_store(&armed, (int)group);
}

long fault_disarm(void) {
  atomic_store(&armed, FAULT_NONE);
  return atomic_load(&count);
}

long fault_allocations(void) { return atomic_load(&allocations); }

/* ---- memory ---------------------------------------------------------------- */

#define CALLER __builtin_return_address(0)

static void *counted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&allocations, 1);
  return memory;
}

static int has_none(const void *caller) {
  if (!must_fail(FAULT_MEMORY, caller)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return has_none(CALLER) ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t number, size_t size) {
  return has_none(CALLER) ? NULL : counted(__libc_calloc(number, size));
}

void *realloc(void *memory, size_t size) {
  if (has_none(CALLER)) return NULL;
  void *grown = __libc_realloc(memory, size);
  if (memory == NULL) counted(grown);
  if (memory != NULL && size == 0) atomic_fetch_sub(&allocations, 1);
  return grown;
}

void *memalign(size_t alignment, size_t size) {
  return has_none(CALLER) ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
  return has_none(CALLER) ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (has_none(CALLER)) return ENOMEM;
  *memory = counted(__libc_memalign(alignment, size));
  return *memory == NULL ? ENOMEM : 0;
}

void free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&allocations, 1);
  __libc_free(memory);
}

/* ---- other calls ----------------------------------------------------------- */

static void *real(const char *name) {
  is_inside = 1;
  void *found = dlsym(RTLD_NEXT, name);
  is_inside = 0;
  if (found == NULL) abort();
  return found;
}

#define REAL(name) (__extension__(__typeof__(&name)) real(#name))

/* Returns the failure of a call that must fail; a short call continues with half the size. */
#define FAIL_IF_TOLD(size)                       \
  do {                                           \
    size_t *const left = (size);                 \
    if (must_fail(FAULT_CALLS, CALLER)) {        \
      if (fatal_error != FAULT_SHORT) {          \
        errno = fatal_error;                     \
        return -1;                               \
      }                                          \
      if (left != NULL && *left > 1) *left /= 2; \
    }                                            \
  } while (0)

#define PLAIN(type, name, parameters, arguments) \
  type name parameters {                         \
    FAIL_IF_TOLD(NULL);                          \
    return REAL(name) arguments;                 \
  }

#define SIZED(name, parameters, arguments) \
  ssize_t name parameters {                \
    FAIL_IF_TOLD(&size);                   \
    return REAL(name) arguments;           \
  }

long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2) FAIL_IF_TOLD(NULL);
  return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int open(const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  FAIL_IF_TOLD(NULL);
  return REAL(open)(name, flags, mode);
}

int openat(int folder, const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  FAIL_IF_TOLD(NULL);
  return REAL(openat)(folder, name, flags, mode);
}

int fcntl(int file, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  FAIL_IF_TOLD(NULL);
  return REAL(fcntl)(file, command, argument);
}

/* As in Linux, a failing close also closes the file. */
int close(int file) {
  const int must = must_fail(FAULT_CALLS, CALLER);
  const int closed = REAL(close)(file);
  if (!must || fatal_error == FAULT_SHORT) return closed;
  errno = fatal_error;
  return -1;
}

ssize_t writev(int file, const struct iovec *pieces, int number) {
  struct iovec first = pieces[0];
  size_t size = first.iov_len;
  FAIL_IF_TOLD(&size);
  if (size == first.iov_len) return REAL(writev)(file, pieces, number);
  first.iov_len = size;
  return REAL(writev)(file, &first, 1);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *settings, void *(*start)(void *),
                   void *argument) {
  if (must_fail(FAULT_CALLS, CALLER) && fatal_error != FAULT_SHORT) return EAGAIN;
  return REAL(pthread_create)(thread, settings, start, argument);
}

SIZED(read, (int file, void *bytes, size_t size), (file, bytes, size))
SIZED(pread, (int file, void *bytes, size_t size, off_t at), (file, bytes, size, at))
SIZED(write, (int file, const void *bytes, size_t size), (file, bytes, size))
SIZED(send, (int file, const void *bytes, size_t size, int flags), (file, bytes, size, flags))
SIZED(recv, (int file, void *bytes, size_t size, int flags), (file, bytes, size, flags))
PLAIN(int, fsync, (int file), (file))
PLAIN(int, fdatasync, (int file), (file))
PLAIN(int, rename, (const char *from, const char *to), (from, to))
PLAIN(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
PLAIN(int, mkdir, (const char *name, mode_t mode), (name, mode))
PLAIN(int, mkdirat, (int folder, const char *name, mode_t mode), (folder, name, mode))
PLAIN(int, unlink, (const char *name), (name))
PLAIN(int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
PLAIN(int, access, (const char *name, int mode), (name, mode))
PLAIN(int, faccessat, (int folder, const char *name, int mode, int flags),
      (folder, name, mode, flags))
PLAIN(int, fstat, (int file, struct stat *facts), (file, facts))
PLAIN(int, lstat, (const char *name, struct stat *facts), (name, facts))
PLAIN(int, stat, (const char *name, struct stat *facts), (name, facts))
PLAIN(int, fstatat, (int folder, const char *name, struct stat *facts, int flags),
      (folder, name, facts, flags))
PLAIN(int, flock, (int file, int operation), (file, operation))
PLAIN(int, socket, (int family, int type, int protocol), (family, type, protocol))
PLAIN(int, connect, (int file, __CONST_SOCKADDR_ARG to, socklen_t size), (file, to, size))
PLAIN(int, getsockopt, (int file, int level, int name, void *value, socklen_t *size),
      (file, level, name, value, size))
PLAIN(int, setsockopt, (int file, int level, int name, const void *value, socklen_t size),
      (file, level, name, value, size))
PLAIN(int, eventfd, (unsigned int first, int flags), (first, flags))
PLAIN(int, pipe2, (int files[2], int flags), (files, flags))
PLAIN(int, inotify_init1, (int flags), (flags))
PLAIN(int, inotify_add_watch, (int file, const char *name, uint32_t mask), (file, name, mask))

void *mmap(void *at, size_t size, int access_, int flags, int file, off_t offset) {
  if (must_fail(FAULT_CALLS, CALLER) && fatal_error != FAULT_SHORT) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return REAL(mmap)(at, size, access_, flags, file, offset);
}
