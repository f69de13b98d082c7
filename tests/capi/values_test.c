/* Many values of a tensor in one call. */
#include <stdint.h>

#include "expect.h"

enum { STEPS = 600 };

/* A step holds "w", the step's number twice, "big" and, at even steps, "even". */
static void record(smd_hook *hook) {
  static float big[2000];
  const int64_t two = 2;
  const int64_t many = 2000;
  for (int step = 0; step < STEPS; ++step) {
    const float numbers[2] = {(float)step, (float)step};
    smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
    view.data = numbers;
    view.shape = &two;
    view.ndim = 1;
    view.dtype = SMD_FLOAT32;
    EXPECT_OK(smd_hook_begin_step(hook, NULL));
    EXPECT_OK(smd_hook_save(hook, "w", &view));
    if (step % 2 == 0) EXPECT_OK(smd_hook_save(hook, "even", &view));
    view.data = big;
    view.shape = &many;
    if (step < 3) EXPECT_OK(smd_hook_save(hook, "big", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
}

static smd_values *read_all(smd_trial *trial, const char *name) {
  smd_tensor *tensor = NULL;
  smd_values *values = NULL;
  EXPECT_OK(smd_trial_tensor(trial, name, &tensor));
  EXPECT_OK(smd_tensor_values(tensor, 0, INT64_MAX, SMD_MODE_GLOBAL, NULL, &values));
  smd_tensor_free(tensor);
  return values;
}

static void check_values(smd_trial *trial) {
  smd_values *values = read_all(trial, "w");
  smd_value *last = NULL;
  EXPECT(smd_values_count(values) == STEPS);
  for (size_t i = 0; i < STEPS; ++i) {
    smd_value *value = NULL;
    EXPECT(smd_values_step(values, i) == (int64_t)i);
    EXPECT_OK(smd_values_get(values, i, &value));
    EXPECT(smd_value_ndim(value) == 1 && smd_value_shape(value)[0] == 2);
    EXPECT(((const float *)smd_value_data(value))[1] == (float)i);
    smd_value_free(value);
  }
  EXPECT(smd_values_step(values, STEPS) == -1);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_values_get(values, STEPS, &last));
  EXPECT(last == NULL);
  EXPECT_OK(smd_values_get(values, STEPS - 1, &last));
  smd_values_free(values);
  EXPECT(((const float *)smd_value_data(last))[0] == (float)(STEPS - 1));
  smd_value_free(last);
}

static void check_runs(smd_trial *trial) {
  smd_values *values = read_all(trial, "w");
  size_t runs = 0;
  for (size_t i = 0; i < STEPS; ++runs) {
    const size_t run = smd_values_run(values, i);
    smd_value *value = NULL;
    EXPECT(run >= 1 && i + run <= STEPS);
    EXPECT_OK(smd_values_get(values, i, &value));
    const float *numbers = smd_value_data(value);
    for (size_t j = 0; j < run; ++j) EXPECT(numbers[2 * j] == (float)(i + j));
    smd_value_free(value);
    i += run;
  }
  EXPECT(runs < STEPS / 8);
  EXPECT(smd_values_run(values, STEPS) == 0);
  smd_values_free(values);
  values = read_all(trial, "big");
  EXPECT(smd_values_count(values) == 3 && smd_values_run(values, 0) == 1);
  smd_values_free(values);
}

static void check_ranges(smd_tensor *even) {
  smd_values *values = NULL;
  EXPECT_OK(smd_tensor_values(even, 3, 9, SMD_MODE_GLOBAL, "", &values));
  EXPECT(smd_values_count(values) == 3 && smd_values_step(values, 0) == 4);
  smd_values_free(values);
  EXPECT_OK(smd_tensor_values(even, 9, 3, SMD_MODE_GLOBAL, NULL, &values));
  EXPECT(values != NULL && smd_values_count(values) == 0 && smd_values_step(values, 0) == -1);
  smd_values_free(values);
  EXPECT_OK(smd_tensor_values(even, INT64_MIN, INT64_MIN, SMD_MODE_EVAL, NULL, &values));
  EXPECT(smd_values_count(values) == 0);
  smd_values_free(values);
}

static void check_reductions(smd_tensor *even) {
  smd_values *values = NULL;
  smd_value *value = NULL;
  double number = 0;
  EXPECT_OK(
      smd_tensor_reduction_values(even, 0, INT64_MAX, SMD_MODE_GLOBAL, NULL, "sum", 0, &values));
  EXPECT(smd_values_count(values) == STEPS / 2);
  EXPECT_OK(smd_values_get(values, 5, &value));
  EXPECT_OK(smd_value_to_double(value, &number));
  EXPECT(number == 20);
  smd_value_free(value);
  smd_values_free(values);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_tensor_reduction_values(even, 0, 1, SMD_MODE_GLOBAL, NULL,
                                                                "average", 0, &values));
  EXPECT(values == NULL);
}

static void check_failures(smd_tensor *even) {
  smd_values *values = NULL;
  smd_value *value = NULL;
  EXPECT_OK(smd_tensor_values(even, 0, 9, SMD_MODE_GLOBAL, "nobody", &values));
  EXPECT(smd_values_count(values) == 5 && smd_values_run(values, 0) == 1);
  EXPECT_CODE(SMD_WORKER_UNKNOWN, smd_values_get(values, 0, &value));
  EXPECT(value == NULL);
  smd_values_free(values);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_tensor_values(even, 0, 9, 77, NULL, &values));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_tensor_values(NULL, 0, 9, 1, NULL, &values));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_tensor_values(even, 0, 9, 1, NULL, NULL));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_values_get(NULL, 0, &value));
  EXPECT(smd_values_count(NULL) == 0 && smd_values_step(NULL, 0) == -1);
  EXPECT(smd_values_run(NULL, 0) == 0);
  smd_values_free(NULL);
}

/* A file that is cut fails its step alone. */
static void check_damage(const char *path) {
  char name[400];
  smd_trial *trial = open_trial(path);
  smd_values *values = NULL;
  smd_value *value = NULL;
  snprintf(name, sizeof name, "%s/events/%012d/%012d_worker_0.tfevents", path, 7, 7);
  EXPECT(truncate(name, 20) == 0);
  values = read_all(trial, "w");
  EXPECT(smd_values_count(values) == STEPS);
  EXPECT_CODE(SMD_CORRUPT_DATA, smd_values_get(values, 7, &value));
  EXPECT_OK(smd_values_get(values, 8, &value));
  smd_value_free(value);
  EXPECT(smd_values_run(values, 7) == 1);
  smd_values_free(values);
  smd_trial_free(trial);
}

int main(void) {
  char path[256];
  smd_tensor *even = NULL;
  smd_values *values = NULL;
  snprintf(path, sizeof path, "%s", fresh_folder("values"));
  smd_hook *hook = open_hook(path);
  record(hook);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "even", &even));
  check_values(trial);
  check_runs(trial);
  check_ranges(even);
  check_reductions(even);
  check_failures(even);
  check_damage(path);
  smd_trial_cancel(trial);
  EXPECT_CODE(SMD_CANCELLED, smd_tensor_values(even, 0, 9, SMD_MODE_GLOBAL, NULL, &values));
  smd_tensor_free(even);
  smd_trial_free(trial);
  remove_folder(path);
  return 0;
}
