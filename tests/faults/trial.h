/* Trials whose every element can be told: which run recorded it, at which step.  What
 * can fail hands the library's error on, with nothing left behind. */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdint.h>

#include "smdebug.h"

enum { TORN = -1 };

/* A hook that saves every tensor at every step; `settings` are texts "name=value", NULL
 * ends them. */
smd_error *make_hook(const char *folder, char *const *settings, smd_hook **out);

/* One step of `run`; `step` is which, or -1 if none was begun. */
smd_error *record_step(smd_hook *hook, int32_t run, int64_t *step);

/* A trial that waits for nothing.  Of the settings, those that hooks alone have are left
 * out. */
smd_error *make_trial(const char *folder, char *const *settings, smd_trial **out);

/* Which run recorded the step; TORN if not all of it is one run's. */
smd_error *read_step(smd_trial *trial, int64_t step, int32_t *run);

#endif /* TRIAL_H */
