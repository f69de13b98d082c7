/* A disk that takes no more: an error within 5 s, the job goes on, and what was written
 * before is readable.  The limit of a file's size stands for the full disk. */
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "expect.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
  const char *path = fresh_folder("full");
  const struct rlimit limit = {1 << 16, 1 << 16};
  const int64_t too_large[1] = {1 << 18};
  float *data = calloc(1 << 18, sizeof *data);
  smd_hook *hook = open_hook(path);
  smd_tensor_view view = example_view();
  smd_steps *steps = NULL;
  smd_trial *trial = NULL;
  signal(SIGXFSZ, SIG_IGN);
  EXPECT(data != NULL && setrlimit(RLIMIT_FSIZE, &limit) == 0);
  record_steps(hook, 3);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  const double begin = now();
  view.data = data;
  view.shape = too_large;
  view.ndim = 1;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  smd_error_free(smd_hook_save(hook, "large", &view));
  smd_error_free(smd_hook_end_step(hook));
  smd_error *error = smd_hook_flush(hook, 5000);
  EXPECT(now() - begin < 5);
  EXPECT(smd_hook_count(hook, "steps_failed") == 1);
  smd_error_free(error);
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  trial = open_trial(path);
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT(smd_steps_count(steps) == 5 && smd_steps_get(steps, 4) == 5);
  smd_steps_free(steps);
  smd_trial_free(trial);
  free(data);
  remove_folder(path);
  return 0;
}
