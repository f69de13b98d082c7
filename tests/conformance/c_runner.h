/* The two halves of the C runner. */
#ifndef C_RUNNER_H
#define C_RUNNER_H

#include "c_json.h"
#include "smdebug.h"

/* Ends the program if the call failed. */
void must(smd_error *error);

smd_mode mode_named(const char *name);
smd_dtype dtype_named(const char *name);

/* Of intervals by mode; the caller's to free. */
smd_save_config *save_config_of(const cJSON *every);

/* A panel of the scenario; *panel is to be freed also after a failure. */
smd_error *panel_of(const cJSON *settings, smd_panel **panel);
cJSON *name_of_action(smd_action action);
/* Appends the verdicts to a list, and frees them. */
void add_verdicts(cJSON *list, smd_verdicts *verdicts);

/* What the rules of each worker's hook said meanwhile; the caller's to free. */
cJSON *record(const cJSON *scenario, const char *out_dir);

/* The answer to a query in *value, which is a new item. */
smd_error *answer(smd_trial *trial, const cJSON *watched, const char *out_dir, const cJSON *query,
                  cJSON **value);

#endif /* C_RUNNER_H */
