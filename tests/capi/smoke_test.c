/* A trial is recorded, read, and checked by rules through the C interface. */
#include "expect.h"

static void record(const char *path) {
  smd_hook *hook = open_hook(path);
  const smd_tensor_view view = example_view();
  int64_t step = -1;
  EXPECT_OK(smd_hook_set_mode(hook, SMD_MODE_TRAIN));
  EXPECT(smd_hook_mode(hook) == SMD_MODE_TRAIN);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_OK(smd_hook_begin_step(hook, &step));
    EXPECT(step == i && smd_hook_last_step(hook, SMD_MODE_TRAIN) == i);
    EXPECT(smd_hook_wants(hook, "w") == 1);
    EXPECT_OK(smd_hook_save(hook, "gradient/w", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_end_step(hook));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save(hook, "w", &view));
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_flush(hook, 5000));
  EXPECT(smd_hook_count(hook, "steps_written") == 3);
  EXPECT(smd_hook_count(hook, "no such count") == -1);
  EXPECT_OK(smd_hook_close(hook));
  EXPECT_OK(smd_hook_close(hook));
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_begin_step(hook, NULL));
  smd_hook_free(hook);
}

static void read_back(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_integers *steps = NULL;
  double mean = 0;
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_TRAIN, 0, &steps));
  EXPECT(smd_integers_count(steps) == 3 && smd_integers_get(steps, 2) == 2);
  EXPECT(smd_integers_get(steps, 3) == -1);
  smd_integers_free(steps);
  EXPECT(smd_trial_has_ended(trial) == 1);
  EXPECT_CODE(SMD_TENSOR_UNAVAILABLE, smd_trial_tensor(trial, "none", &tensor));
  EXPECT(tensor == NULL);
  EXPECT_OK(smd_trial_tensor(trial, "gradient/w", &tensor));
  EXPECT_OK(smd_tensor_value(tensor, 1, SMD_MODE_TRAIN, NULL, &value));
  EXPECT(smd_value_dtype(value) == SMD_FLOAT32 && smd_value_ndim(value) == 2);
  EXPECT(smd_value_shape(value)[1] == 3 && smd_value_nbytes(value) == sizeof example_data);
  EXPECT(memcmp(smd_value_data(value), example_data, sizeof example_data) == 0);
  EXPECT((uintptr_t)smd_value_data(value) % 64 == 0);
  smd_value_free(value);
  EXPECT_OK(smd_tensor_reduction(tensor, 1, SMD_MODE_TRAIN, "", "mean", 0, &value));
  EXPECT_OK(smd_value_to_double(value, &mean));
  EXPECT(mean == 3.5);
  smd_value_free(value);
  EXPECT_CODE(SMD_STEP_UNAVAILABLE, smd_tensor_value(tensor, 9, SMD_MODE_TRAIN, NULL, &value));
  EXPECT_CODE(SMD_WORKER_UNKNOWN, smd_tensor_value(tensor, 1, SMD_MODE_TRAIN, "nobody", &value));
  EXPECT_CODE(SMD_NO_MORE_DATA, smd_trial_wait_for_step(trial, 9, SMD_MODE_TRAIN, -1));
  smd_tensor_free(tensor);
  smd_trial_free(trial);
}

static void evaluate(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  EXPECT_OK(smd_rule_set_new("aws", &set));
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_rule_set_add(set, "VanishingGradients", NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_INVALID_CONFIG,
              smd_rule_set_add(set, "VanishingGradient", "{\"treshold\": \"1\"}", SMD_ACTION_WARN));
  EXPECT_OK(smd_rule_set_add(set, "VanishingGradient", "{\"threshold\": \"10\"}", SMD_ACTION_WARN));
  EXPECT_OK(smd_rule_set_evaluate(set, trial, 0, -1, SMD_EVALUATE_FOLLOW, &found));
  EXPECT(smd_findings_count(found) == 3);
  EXPECT(strstr(smd_findings_get(found, 2)->message, "gradient/w") != NULL);
  smd_findings_free(found);
  EXPECT_OK(smd_rule_set_reset(set));
  EXPECT_CODE(SMD_RULE_CONDITION_MET,
              smd_rule_set_evaluate(set, trial, 1, -1, SMD_EVALUATE_STOP_AT_FINDING, &found));
  EXPECT(smd_findings_count(found) == 1 && smd_findings_get(found, 0)->step == 1);
  smd_findings_free(found);
  smd_rule_set_free(set);
  smd_trial_free(trial);
}

int main(void) {
  const char *path = fresh_folder("smoke");
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  smd_trial *trial = NULL;
  record(path);
  read_back(path);
  evaluate(path);
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_new(options, &hook));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_options_set(options, "outdir", path));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_CODE(SMD_TRIAL_EXISTS, smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  EXPECT_CODE(SMD_UNSUPPORTED, smd_trial_open("gs://bucket/prefix", NULL, &trial));
  remove_folder(path);
  return 0;
}
