/* The two halves of the C runner. */
#ifndef C_RUNNER_H
#define C_RUNNER_H

#include "c_json.h"
#include "smdebug.h"

/* Ends the program if the call failed. */
void must(smd_error *error);

smd_mode mode_named(const char *name);
smd_dtype dtype_named(const char *name);

void record(const cJSON *scenario, const char *out_dir);

/* The trial's answer to a query in *value, which is a new item. */
smd_error *answer(smd_trial *trial, const char *out_dir, const cJSON *query, cJSON **value);

#endif /* C_RUNNER_H */
