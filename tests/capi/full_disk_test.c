/* A full disk: the hook reports an error within 5 s, the job continues, and earlier steps are
 * readable.  The test mounts a small disk for this process.  Without the right to mount, it
 * limits the size of files instead and prints that; in CI that is a failure. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "expect.h"

enum { LARGE = 1 << 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The mount is seen by this process alone, and gone with it. */
static int mount_small_disk(const char *path) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("tmpfs", path, "tmpfs", 0, "size=1m") == 0;
}

static smd_code limit_disk(const char *path) {
  const struct rlimit limit = {1 << 16, 1 << 16};
  EXPECT(mkdir(path, 0700) == 0);
  if (mount_small_disk(path)) return SMD_NO_SPACE;
  fputs("no small disk can be mounted: a file's size is limited instead\n", stderr);
  EXPECT(getenv("CI") == NULL);
  signal(SIGXFSZ, SIG_IGN);
  EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  return SMD_IO;
}

/* Records a step that is too large; returns the first error of any call. */
static smd_error *overfill(smd_hook *hook, const float *data) {
  const int64_t shape[1] = {LARGE};
  smd_tensor_view view = example_view();
  view.data = data;
  view.shape = shape;
  view.ndim = 1;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  smd_error *error = smd_hook_save(hook, "large", &view);
  smd_error *later = smd_hook_end_step(hook);
  if (error == NULL) {
    error = later;
  } else {
    smd_error_free(later);
  }
  return error != NULL ? error : smd_hook_flush(hook, 5000);
}

static void check_trial(const char *path) {
  static const int64_t expected[] = {0, 1, 2, 4, 5};
  smd_trial *trial = open_trial(path);
  smd_tensor *tensor = NULL;
  smd_integers *steps = NULL;
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_integers_count(steps) == 5);
  EXPECT(memcmp(smd_integers_data(steps), expected, sizeof expected) == 0);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  for (size_t i = 0; i < 5; ++i) {
    smd_value *value = NULL;
    EXPECT_OK(smd_tensor_value(tensor, expected[i], SMD_MODE_GLOBAL, NULL, &value));
    EXPECT(memcmp(smd_value_data(value), example_data, sizeof example_data) == 0);
    smd_value_free(value);
  }
  smd_integers_free(steps);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
}

int main(void) {
  const char *path = fresh_folder("full");
  const smd_code expected = limit_disk(path);
  float *data = calloc(LARGE, sizeof *data);
  smd_hook *hook = open_hook(path);
  EXPECT(data != NULL);
  record_steps(hook, 3);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  const double begin = now();
  smd_error *error = overfill(hook, data);
  EXPECT(now() - begin < 5);
  EXPECT(smd_error_is_retryable(error) == 1 && smd_error_detail(error, "path") != NULL);
  EXPECT_CODE(expected, error);
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  EXPECT(smd_hook_count(hook, "steps_failed") == 1);
  EXPECT(smd_hook_count(hook, "steps_written") == 5);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  check_trial(path);
  free(data);
  if (expected == SMD_NO_SPACE) EXPECT(umount(path) == 0);
  remove_folder(path);
  return 0;
}
