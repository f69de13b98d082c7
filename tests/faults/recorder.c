/* Records steps of a run until it finishes or is killed, and prints which steps are on the
 * disk:
 *
 *   recorder FOLDER RUN STEPS flush|count|leave [NAME=VALUE]...
 *
 * With `flush` it waits for each step.  With `count` it asks the hook how many steps are
 * written.  With `leave` the job exits after its last step as if it were killed.  With a
 * checkpoint_dir, a checkpoint appears there now and then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial.h"

enum { MOST_STEPS = 100000, CHECKPOINT_EVERY = 4 };

static void check(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", smd_code_name(smd_error_code(error)), smd_error_message(error));
  exit(1);
}

/* Uses one write, so that a killed program has printed a whole line or nothing. */
static void say(const char *what, int64_t step, int32_t run) {
  char line[64];
  const int length = snprintf(line, sizeof line, "%s %lld %d\n", what, (long long)step, (int)run);
  if (write(STDOUT_FILENO, line, (size_t)length) != length) exit(1);
}

static const char *checkpoints(char *const *settings) {
  static const char kName[] = "checkpoint_dir=";
  for (; *settings != NULL; ++settings) {
    if (strncmp(*settings, kName, sizeof kName - 1) == 0) return *settings + sizeof kName - 1;
  }
  return NULL;
}

static void put_checkpoint(const char *folder, int64_t step) {
  char path[512];
  snprintf(path, sizeof path, "%s/model-%lld", folder, (long long)step);
  FILE *file = fopen(path, "w");
  if (file == NULL || fprintf(file, "%lld", (long long)step) < 0 || fclose(file) != 0) exit(1);
}

int main(int argc, char **argv) {
  static int64_t steps[MOST_STEPS];
  if (argc < 5) return 2;
  const int32_t run = (int32_t)strtol(argv[2], NULL, 10);
  const int64_t count = strtol(argv[3], NULL, 10);
  const int flushes = strcmp(argv[4], "count") != 0;
  const char *folder = checkpoints(argv + 5);
  smd_hook *hook = NULL;
  int64_t said = 0;
  check(make_hook(argv[1], argv + 5, &hook));
  for (int64_t i = 0; i < count && i < MOST_STEPS; ++i) {
    check(record_step(hook, run, &steps[i]));
    if (flushes) check(smd_hook_flush(hook, 20000));
    for (; said < smd_hook_count(hook, "steps_written"); ++said) say("durable", steps[said], run);
    if (folder != NULL && i % CHECKPOINT_EVERY == 0) put_checkpoint(folder, steps[i]);
  }
  if (strcmp(argv[4], "leave") == 0) _exit(0);
  check(smd_hook_close(hook));
  for (; said < smd_hook_count(hook, "steps_written"); ++said) say("durable", steps[said], run);
  say("closed", smd_hook_count(hook, "steps_failed"), run);
  smd_hook_free(hook);
  return 0;
}
