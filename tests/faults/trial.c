#define _GNU_SOURCE
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From a tensor that is copied together with others, to one of several disk pages that is
 * written from its own memory. */
enum { TENSORS = 4, LATE = 3, LATE_SIZE = 1000 }; /* the last one comes after its step */
static const int64_t kSizes[TENSORS] = {3, 300, 12000, LATE_SIZE};
static const char *const kNames[] = {"bias", "layer/kernel", "embedding", "gradient/kernel"};

static int32_t element(int32_t run, int64_t step, int tensor, int64_t index) {
  if (index == 0) return run;
  uint32_t mixed = (uint32_t)run * 2654435761u + (uint32_t)step * 40503u;
  mixed += (uint32_t)tensor * 977u + (uint32_t)index;
  mixed ^= mixed >> 15;
  return (int32_t)(mixed * 2246822519u);
}

/* Splits a text "name=value", and passes both parts to `set`. */
static smd_error *split_setting(const char *setting, void *options,
                                smd_error *(*set)(void *, const char *, const char *)) {
  char name[64];
  const char *equals = strchr(setting, '=');
  snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
  return set(options, name, equals + 1);
}

static smd_error *set_for_hook(void *options, const char *name, const char *value) {
  return smd_hook_options_set(options, name, value);
}

static smd_error *set_for_trial(void *options, const char *name, const char *value) {
  if (strncmp(name, "s3_", 3) != 0) return NULL;
  return smd_trial_options_set(options, name, value);
}

static smd_error *fill_hook_options(smd_hook_options *options, const smd_save_config *every_step,
                                    const char *folder, char *const *settings) {
  smd_error *error = smd_hook_options_set(options, "out_dir", folder);
  if (error == NULL) error = smd_hook_options_set(options, "save_all", "true");
  if (error == NULL) error = smd_hook_options_set_save_config(options, every_step);
  for (; error == NULL && *settings != NULL; ++settings) {
    error = split_setting(*settings, options, set_for_hook);
  }
  return error;
}

smd_error *make_hook(const char *folder, char *const *settings, smd_hook **out) {
  smd_hook_options *options = NULL;
  smd_save_config *every_step = NULL;
  *out = NULL;
  smd_error *error = smd_hook_options_new(&options);
  if (error == NULL) error = smd_save_config_new(&every_step);
  if (error == NULL) error = smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0);
  if (error == NULL) error = fill_hook_options(options, every_step, folder, settings);
  if (error == NULL) error = smd_hook_new(options, out);
  smd_save_config_free(every_step);
  smd_hook_options_free(options);
  return error;
}

static smd_tensor_view make_tensor(int32_t run, int64_t step, int tensor, int32_t *elements) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  for (int64_t i = 0; i < kSizes[tensor]; ++i) elements[i] = element(run, step, tensor, i);
  view.data = elements;
  view.shape = &kSizes[tensor];
  view.ndim = 1;
  view.dtype = SMD_INT32;
  return view;
}

static smd_error *save_tensor(smd_hook *hook, int32_t run, int64_t step, int tensor) {
  int32_t *elements = malloc((size_t)kSizes[tensor] * sizeof *elements);
  if (elements == NULL) abort();
  const smd_tensor_view view = make_tensor(run, step, tensor, elements);
  return smd_hook_save_owned(hook, kNames[tensor], &view, free, elements);
}

/* Also after memory has run out: it allocates nothing. */
static smd_error *save_late_tensor(smd_hook *hook, int32_t run, int64_t step) {
  int32_t elements[LATE_SIZE];
  const smd_tensor_view view = make_tensor(run, step, LATE, elements);
  smd_error *error = smd_hook_save_late(hook, kNames[LATE], step, &view);
  /* After some errors it is still expected. */
  if (error != NULL) smd_error_free(smd_hook_forgo(hook, kNames[LATE], step));
  return error;
}

static smd_error *first_of(smd_error *first, smd_error *second) {
  if (first == NULL) return second;
  smd_error_free(second);
  return first;
}

smd_error *record_step(smd_hook *hook, int32_t run, int64_t *step) {
  *step = -1;
  smd_error *error = smd_hook_begin_step(hook, step);
  if (error != NULL) return error;
  uint32_t is_expected = 0;
  error = smd_hook_expect(hook, kNames[LATE], &is_expected);
  for (int tensor = 0; tensor < LATE && error == NULL; ++tensor) {
    error = save_tensor(hook, run, *step, tensor);
  }
  error = first_of(error, smd_hook_end_step(hook));
  return is_expected ? first_of(error, save_late_tensor(hook, run, *step)) : error;
}

smd_error *make_trial(const char *folder, char *const *settings, smd_trial **out) {
  smd_trial_options *options = NULL;
  *out = NULL;
  smd_error *error = smd_trial_options_new(&options);
  if (error == NULL) error = smd_trial_options_set(options, "end_delay_seconds", "0");
  if (error == NULL) error = smd_trial_options_set(options, "wait_seconds", "0");
  if (error == NULL) error = smd_trial_options_set(options, "missing_file_retries", "0");
  for (; error == NULL && *settings != NULL; ++settings) {
    error = split_setting(*settings, options, set_for_trial);
  }
  if (error == NULL) error = smd_trial_open(folder, options, out);
  smd_trial_options_free(options);
  return error;
}

static int32_t run_of(const smd_value *value, int64_t step, int tensor) {
  const int32_t *elements = smd_value_data(value);
  if (smd_value_nbytes(value) != (size_t)kSizes[tensor] * sizeof *elements) return TORN;
  for (int64_t i = 1; i < kSizes[tensor]; ++i) {
    if (elements[i] != element(elements[0], step, tensor, i)) return TORN;
  }
  return elements[0];
}

static smd_error *read_tensor(smd_trial *trial, int64_t step, int number, int32_t *run) {
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_error *error = smd_trial_tensor(trial, kNames[number], &tensor);
  if (error == NULL) error = smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, NULL, &value);
  if (error == NULL) *run = run_of(value, step, number);
  smd_value_free(value);
  smd_tensor_free(tensor);
  return error;
}

smd_error *read_step(smd_trial *trial, int64_t step, int32_t *run) {
  smd_error *error = read_tensor(trial, step, 0, run);
  for (int tensor = 1; tensor < TENSORS && error == NULL; ++tensor) {
    int32_t other = TORN;
    error = read_tensor(trial, step, tensor, &other);
    if (error == NULL && other != *run) *run = TORN;
  }
  return error;
}
