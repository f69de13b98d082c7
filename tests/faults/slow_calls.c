/* Loaded before the C library, simulates a disk of SLOW_MIB_PER_SECOND. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void wait_for(ssize_t written) {
  const char *speed = getenv("SLOW_MIB_PER_SECOND");
  if (speed == NULL || written <= 0) return;
  const double seconds = (double)written / (strtod(speed, NULL) * 1048576);
  struct timespec time = {(time_t)seconds, 0};
  time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
  nanosleep(&time, NULL);
}

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

#define REAL(name) (__extension__(__typeof__(&name)) real(#name))

ssize_t write(int file, const void *bytes, size_t size) {
  const ssize_t written = REAL(write)(file, bytes, size);
  wait_for(written);
  return written;
}

ssize_t writev(int file, const struct iovec *pieces, int number) {
  const ssize_t written = REAL(writev)(file, pieces, number);
  wait_for(written);
  return written;
}
