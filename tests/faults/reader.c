/* Reports what can be read of the trials in the folders named on its input:
 *
 *   reader [NAME=VALUE]...
 *
 * For each folder it prints a line per step, "step NUMBER run RUN" or "step NUMBER CODE
 * MESSAGE", and "end" with the last code and message.  RUN is -1 if several runs wrote a step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

static void say_error(const char *what, smd_error *error) {
  printf("%s %s %s\n", what, smd_code_name(smd_error_code(error)), smd_error_message(error));
  smd_error_free(error);
}

static void read_folder(smd_trial *trial, const smd_integers *steps) {
  for (size_t i = 0; i < smd_integers_count(steps); ++i) {
    const int64_t step = smd_integers_data(steps)[i];
    char what[64];
    int32_t run = TORN;
    smd_error *error = read_step(trial, step, &run);
    snprintf(what, sizeof what, "step %lld", (long long)step);
    if (error != NULL) {
      say_error(what, error);
    } else {
      printf("%s run %d\n", what, (int)run);
    }
  }
}

int main(int argc, char **argv) {
  char folder[4096];
  (void)argc;
  while (fgets(folder, sizeof folder, stdin) != NULL) {
    smd_trial *trial = NULL;
    smd_integers *steps = NULL;
    folder[strcspn(folder, "\n")] = '\0';
    smd_error *error = make_trial(folder, argv + 1, &trial);
    if (error == NULL) error = smd_trial_steps(trial, SMD_MODE_GLOBAL, 1, &steps);
    read_folder(trial, steps);
    say_error("end", error);
    fflush(stdout);
    smd_integers_free(steps);
    smd_trial_free(trial);
  }
  return 0;
}
