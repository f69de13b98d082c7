/* Trials in which every element identifies the run that recorded it, and the step.  Functions
 * that fail return the library's error, and leave nothing behind. */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdint.h>

#include "smdebug.h"

enum { TORN = -1 };

/* Creates a hook that saves every tensor at every step; `settings` are texts "name=value",
 * terminated by NULL. */
smd_error *make_hook(const char *folder, char *const *settings, smd_hook **out);

/* Records one step of `run`; stores its number in `step`, or -1 if none was begun. */
smd_error *record_step(smd_hook *hook, int32_t run, int64_t *step);

/* Opens a trial that waits for nothing.  Settings that only hooks have are skipped. */
smd_error *make_trial(const char *folder, char *const *settings, smd_trial **out);

/* Returns the run that recorded the step; TORN if several runs did. */
smd_error *read_step(smd_trial *trial, int64_t step, int32_t *run);

#endif /* TRIAL_H */
