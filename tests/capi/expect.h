/* Assertions of the C tests: the first failure exits the program. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "smdebug.h"

#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                  \
    }                                                                           \
  } while (0)

/* The call succeeds. */
#define EXPECT_OK(call) expect_code((call), SMD_OK, __FILE__, __LINE__, #call)
/* The call fails with this code, and says why. */
#define EXPECT_CODE(code, call) expect_code((call), (code), __FILE__, __LINE__, #call)

static inline void expect_code(smd_error *error, smd_code code, const char *file, int line,
                               const char *call) {
  if (smd_error_code(error) != code || (error != NULL && smd_error_message(error)[0] == '\0')) {
    fprintf(stderr, "%s:%d: %s: %s, not %s: %s\n", file, line, call,
            smd_code_name(smd_error_code(error)), smd_code_name(code), smd_error_message(error));
    abort();
  }
  smd_error_free(error);
}

/* A child may hang under the address sanitizer if another thread was inside its allocator when the
 * process forked. */
#if defined(__SANITIZE_ADDRESS__)
#define MAY_FORK_BESIDE_THREADS 0
#else
#define MAY_FORK_BESIDE_THREADS 1
#endif

/* A folder of this test's own, in the current folder, removed with what is in it. */
static inline const char *fresh_folder(const char *name) {
  static char path[256];
  char command[300];
  const long process = getpid();
  snprintf(path, sizeof path, "capi-test-%s-%ld", name, process);
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  EXPECT(system(command) == 0);
  return path;
}

static inline void remove_folder(const char *path) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  EXPECT(system(command) == 0);
}

/* A hook that saves every tensor at every step. */
static inline smd_hook *open_hook(const char *out_dir) {
  smd_hook_options *options = NULL;
  smd_save_config *every_step = NULL;
  smd_hook *hook = NULL;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", out_dir));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  return hook;
}

/* A trial that does not wait for stragglers after the end marker. */
static inline smd_trial *open_trial(const char *path) {
  smd_trial_options *options = NULL;
  smd_trial *trial = NULL;
  EXPECT_OK(smd_trial_options_new(&options));
  EXPECT_OK(smd_trial_options_set(options, "end_delay_seconds", "0"));
  EXPECT_OK(smd_trial_options_set(options, "wait_seconds", "0"));
  EXPECT_OK(smd_trial_open(path, options, &trial));
  smd_trial_options_free(options);
  return trial;
}

/* A profiler that does not sample. */
static inline smd_profiler *open_profiler(const char *out_dir) {
  smd_profiler_options *options = NULL;
  smd_profiler *profiler = NULL;
  EXPECT_OK(smd_profiler_options_new(&options));
  EXPECT_OK(smd_profiler_options_set(options, "out_dir", out_dir));
  EXPECT_OK(smd_profiler_new(options, &profiler));
  smd_profiler_options_free(options);
  return profiler;
}

static const float example_data[6] = {1, 2, 3, 4, 5, 6};
static const int64_t example_shape[2] = {2, 3};

static inline smd_tensor_view example_view(void) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = example_data;
  view.shape = example_shape;
  view.ndim = 2;
  view.dtype = SMD_FLOAT32;
  return view;
}

/* `steps` steps of one tensor "w", not closed. */
static inline void record_steps(smd_hook *hook, int steps) {
  const smd_tensor_view view = example_view();
  for (int i = 0; i < steps; ++i) {
    EXPECT_OK(smd_hook_begin_step(hook, NULL));
    EXPECT_OK(smd_hook_save(hook, "w", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
}

#endif /* EXPECT_H */
