/* Records a trial and reads it back, without linking to the library: client LIBRARY OUT_DIR */
#include <dlfcn.h>
#include <smdebug.h>
#include <stdio.h>
#include <stdlib.h>

/* All functions used here, without the prefix smd_. */
/* clang-format off */
#define FUNCTIONS(X)                                                                        \
  X(require_abi) X(error_message) X(save_config_new) X(save_config_set) X(save_config_free) \
  X(hook_options_new) X(hook_options_set) X(hook_options_set_save_config)                   \
  X(hook_options_free) X(hook_new) X(hook_begin_step) X(hook_save) X(hook_end_step)         \
  X(hook_close) X(hook_free) X(trial_open) X(trial_tensor) X(trial_free) X(tensor_value)    \
  X(tensor_free) X(value_to_double) X(value_free)
/* clang-format on */
#define DECLARE(name) static __typeof__(smd_##name) *name;
/* C has no cast from an object's address to a function's; POSIX guarantees this form. */
#define FIND(name) *(void **)(&(name)) = find(library, "smd_" #name);
FUNCTIONS(DECLARE)

static void *find(void *library, const char *name) {
  void *symbol = library == NULL ? NULL : dlsym(library, name);
  if (symbol == NULL) fprintf(stderr, "%s\n", dlerror()), exit(1);
  return symbol;
}

static void must(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", error_message(error));
  exit(1);
}

static void record(const char *out_dir) {
  smd_save_config *every = NULL;
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  must(save_config_new(&every));
  must(save_config_set(every, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  must(hook_options_new(&options));
  must(hook_options_set(options, "out_dir", out_dir));
  must(hook_options_set_save_config(options, every));
  must(hook_new(options, &hook));
  for (int step = 0; step < 4; ++step) {
    const double loss = 1.0 / (1 + step);
    const smd_tensor_view view = {sizeof view, &loss, NULL, NULL, 0, SMD_FLOAT64};
    must(hook_begin_step(hook, NULL));
    must(hook_save(hook, "loss", &view));
    must(hook_end_step(hook));
  }
  must(hook_close(hook));
  hook_free(hook), hook_options_free(options), save_config_free(every);
}

static void read_back(const char *path) {
  smd_trial *trial = NULL;
  smd_tensor *tensor = NULL;
  must(trial_open(path, NULL, &trial));
  must(trial_tensor(trial, "loss", &tensor));
  for (int step = 0; step < 4; ++step) {
    smd_value *value = NULL;
    double loss = 0;
    must(tensor_value(tensor, step, SMD_MODE_GLOBAL, NULL, &value));
    must(value_to_double(value, &loss));
    printf("loss at step %d: %g\n", step, loss);
    value_free(value);
  }
  tensor_free(tensor), trial_free(trial);
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: %s LIBRARY OUT_DIR\n", argv[0]), 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  FUNCTIONS(FIND)
  must(require_abi(SMD_ABI_LEVEL));
  record(argv[2]);
  read_back(argv[2]);
  return 0;
}
