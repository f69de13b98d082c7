/* Measures the peak memory of a job, beyond the memory it had before:
 *
 *   measured record FOLDER MIB STEPS [NAME=VALUE]...   steps of one tensor of that size
 *   measured read FOLDER MIB STEPS [NAME=VALUE]...     the value of each, one at a time
 *
 * Prints "ready" once the hook or trial exists, and waits for a line; then prints
 * "peak BYTES" and the number of failed calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

static int failures;

static void note(smd_error *error) {
  if (error == NULL) return;
  if (failures++ == 0) fprintf(stderr, "%s\n", smd_error_message(error));
  smd_error_free(error);
}

static void wait_to_be_told(void) {
  char line[16];
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) exit(1);
}

/* Measure from now on, not from the start of the program. */
static void reset_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0) abort();
}

static long peak_bytes(void) {
  char line[256];
  long kibibytes = -1;
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) abort();
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) kibibytes = strtol(line + 6, NULL, 10);
  }
  fclose(file);
  return kibibytes * 1024;
}

static void record(smd_hook *hook, const int64_t size, int steps) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  uint8_t *bytes = malloc((size_t)size);
  if (bytes == NULL) abort();
  memset(bytes, 1, (size_t)size);
  wait_to_be_told();
  view.data = bytes;
  view.shape = &size;
  view.ndim = 1;
  view.dtype = SMD_UINT8;
  reset_peak();
  const long before = peak_bytes();
  for (int i = 0; i < steps; ++i) {
    note(smd_hook_begin_step(hook, NULL));
    note(smd_hook_save(hook, "large", &view));
    note(smd_hook_end_step(hook));
  }
  note(smd_hook_close(hook));
  printf("peak %ld failures %d\n", peak_bytes() - before, failures);
  free(bytes);
}

static void read_values(smd_trial *trial, const int64_t size, int steps) {
  smd_tensor *tensor = NULL;
  note(smd_trial_tensor(trial, "large", &tensor));
  wait_to_be_told();
  reset_peak();
  const long before = peak_bytes();
  for (int i = 0; i < steps; ++i) {
    smd_value *value = NULL;
    note(smd_tensor_value(tensor, i, SMD_MODE_GLOBAL, NULL, &value));
    failures += smd_value_nbytes(value) != (size_t)size;
    smd_value_free(value);
  }
  printf("peak %ld failures %d\n", peak_bytes() - before, failures);
  smd_tensor_free(tensor);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const int64_t size = strtol(argv[3], NULL, 10) << 20;
  const int steps = (int)strtol(argv[4], NULL, 10);
  smd_hook *hook = NULL;
  smd_trial *trial = NULL;
  smd_error *error = NULL;
  if (strcmp(argv[1], "record") == 0) {
    error = make_hook(argv[2], argv + 5, &hook);
    if (error == NULL) record(hook, size, steps);
    smd_hook_free(hook);
  } else {
    error = make_trial(argv[2], argv + 5, &trial);
    if (error == NULL) read_values(trial, size, steps);
    smd_trial_free(trial);
  }
  note(error);
  return error != NULL;
}
