/* Uses the library without linking to it, as a runtime without bindings would.
 *
 * usage: dlopen_client LIBRARY TRIAL */
#include <dlfcn.h>

#include "example.h"

/* A function of the library by its name; ends the program if it is missing. */
static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return symbol;
}

/* C has no cast from an object's address to a function's; POSIX says they share a form. */
#define FIND(variable, library, name) *(void **)(&(variable)) = find(library, name)

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s LIBRARY TRIAL\n", argv[0]);
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  smd_error *(*require_abi)(uint32_t);
  const char *(*message)(const smd_error *);
  const char *(*version)(void);
  smd_error *(*open_trial)(const char *, const smd_trial_options *, smd_trial **);
  smd_error *(*list_steps)(smd_trial *, smd_mode, int32_t, smd_steps **);
  size_t (*count_steps)(const smd_steps *);
  void (*free_steps)(smd_steps *);
  void (*free_trial)(smd_trial *);
  FIND(require_abi, library, "smd_require_abi");
  FIND(message, library, "smd_error_message");
  FIND(version, library, "smd_version_string");
  FIND(open_trial, library, "smd_trial_open");
  FIND(list_steps, library, "smd_trial_steps");
  FIND(count_steps, library, "smd_steps_count");
  FIND(free_steps, library, "smd_steps_free");
  FIND(free_trial, library, "smd_trial_free");

  smd_trial *trial = NULL;
  smd_steps *steps = NULL;
  smd_error *error = require_abi(SMD_ABI_LEVEL);
  if (error == NULL) error = open_trial(argv[2], NULL, &trial);
  if (error == NULL) error = list_steps(trial, SMD_MODE_GLOBAL, 0, &steps);
  if (error != NULL) {
    fprintf(stderr, "%s\n", message(error));
    return 1;
  }
  printf("libsmdebug %s found %zu steps in %s\n", version(), count_steps(steps), argv[2]);
  free_steps(steps);
  free_trial(trial);
  dlclose(library);
  return 0;
}
