/* Prints the content of a trial, and the course of one number of each tensor.
 *
 * usage: c_read TRIAL */
#include "example.h"

static void print_tensor(smd_trial *trial, const char *name) {
  smd_tensor *tensor = NULL;
  smd_integers *steps = NULL;
  check(smd_trial_tensor(trial, name, &tensor));
  check(smd_tensor_steps(tensor, SMD_MODE_GLOBAL, 0, &steps));
  printf("%-24s %3zu steps, mean of the absolute values", name, smd_integers_count(steps));
  for (size_t i = 0; i < smd_integers_count(steps); ++i) {
    const int64_t step = smd_integers_get(steps, i);
    smd_value *mean = NULL;
    double number = 0;
    check(smd_tensor_reduction(tensor, step, SMD_MODE_GLOBAL, NULL, "mean", 1, &mean));
    check(smd_value_to_double(mean, &number));
    if (i < 4) printf(" %.3g", number);
    smd_value_free(mean);
  }
  printf(" ...\n");
  smd_integers_free(steps);
  smd_tensor_free(tensor);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s TRIAL\n", argv[0]);
    return 2;
  }
  smd_trial *trial = NULL;
  smd_strings *names = NULL;
  check(smd_trial_open(argv[1], NULL, &trial));
  check(smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL, NULL, &names));
  printf("%s holds %zu tensors\n", smd_trial_name(trial), smd_strings_count(names));
  for (size_t i = 0; i < smd_strings_count(names); ++i) {
    print_tensor(trial, smd_strings_get(names, i));
  }
  smd_strings_free(names);
  smd_trial_free(trial);
  return 0;
}
