/* Declares the parts of the C runner. */
#ifndef C_RUNNER_H
#define C_RUNNER_H

#include "c_json.h"
#include "smdebug.h"

/* Exits if the call failed. */
void must(smd_error *error);

smd_mode mode_named(const char *name);
smd_dtype dtype_named(const char *name);

/* Creates a save config from intervals by mode.  The caller frees it. */
smd_save_config *save_config_of(const cJSON *every);

/* Creates a rule set of the scenario.  The caller frees *set, even after a failure. */
smd_error *rule_set_of(const cJSON *settings, smd_rule_set **set);
cJSON *name_of_action(smd_action action);
/* Appends findings, results or causes to a list, and frees them. */
void add_findings(cJSON *list, smd_findings *findings);
void add_results(cJSON *list, smd_rule_results *results);
void add_causes(cJSON *list, smd_diagnosis *causes);

/* Returns the findings of each worker's hook.  The caller frees them. */
cJSON *record(const cJSON *scenario, const char *out_dir);

/* Sets *value to a new item with the answer to a query. */
smd_error *answer(smd_trial *trial, const cJSON *attached, const char *out_dir, const cJSON *query,
                  cJSON **value);

#endif /* C_RUNNER_H */
