/* Shared by the C examples: an error ends the program with its message. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "smdebug.h"

static inline void check(smd_error *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", smd_code_name(smd_error_code(error)), smd_error_message(error));
  smd_error_free(error);
  exit(1);
}

#endif /* EXAMPLE_H */
