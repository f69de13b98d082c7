/* Statistics that the caller computed. */
#include "expect.h"

static smd_statistics example_statistics(const int64_t *shape) {
  smd_statistics statistics = SMD_STATISTICS_INIT;
  statistics.shape = shape;
  statistics.ndim = 1;
  statistics.dtype = SMD_FLOAT32;
  statistics.given = SMD_HAS_MIN | SMD_HAS_VARIANCE;
  statistics.min = -2;
  statistics.variance = 9;
  return statistics;
}

static smd_hook *open_statistics_hook(const char *path) {
  smd_reduction_config *reductions = NULL;
  smd_save_config *every_step = NULL;
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  EXPECT_OK(smd_reduction_config_new(&reductions));
  EXPECT_OK(smd_reduction_config_add(reductions, "min,std"));
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_save_config_new(&every_step));
  EXPECT_OK(smd_save_config_set(every_step, SMD_MODE_ANY, 1, 0, -1, NULL, 0));
  EXPECT_OK(smd_hook_options_set_save_config(options, every_step));
  EXPECT_OK(smd_hook_options_set_reduction_config(options, reductions));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  smd_reduction_config_free(reductions);
  smd_save_config_free(every_step);
  return hook;
}

static void refuse_bad_statistics(smd_hook *hook, const int64_t *shape) {
  const float sample[4] = {0, 0, 0, 0};
  smd_statistics bad = example_statistics(shape);
  bad.struct_size = 8;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad = example_statistics(shape);
  bad.dtype = 999;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad.dtype = SMD_COMPLEX64;
  EXPECT_CODE(SMD_UNSUPPORTED, smd_hook_save_statistics(hook, "w", &bad));
  bad = example_statistics(shape);
  bad.ndim = SMD_MAX_RANK + 1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad = example_statistics(shape);
  bad.given |= 0x80000000U;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad = example_statistics(shape);
  bad.sample_count = 1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad.sample = sample;
  bad.sample_count = 4;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
  bad = example_statistics(shape);
  bad.given = SMD_HAS_MIN;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_save_statistics(hook, "w", &bad));
}

static void expect_reduction(const smd_trial *trial, const char *reduction, double expected) {
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  double number = 0;
  EXPECT_OK(smd_trial_tensor((smd_trial *)trial, "w", &tensor));
  EXPECT_OK(smd_tensor_reduction(tensor, 0, SMD_MODE_GLOBAL, NULL, reduction, 0, &value));
  EXPECT_OK(smd_value_to_double(value, &number));
  EXPECT(number == expected && smd_value_dtype(value) == SMD_FLOAT32);
  smd_value_free(value);
  smd_tensor_free(tensor);
}

int main(void) {
  const char *path = fresh_folder("statistics");
  const int64_t shape[1] = {3};
  const smd_statistics statistics = example_statistics(shape);
  smd_hook *hook = open_statistics_hook(path);
  smd_trial *trial = NULL;
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_save_statistics(hook, "w", &statistics));
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  refuse_bad_statistics(hook, shape);
  EXPECT_OK(smd_hook_save_statistics(hook, "w", &statistics));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  trial = open_trial(path);
  expect_reduction(trial, "min", -2);
  expect_reduction(trial, "std", 3);
  smd_trial_free(trial);
  remove_folder(path);
  return 0;
}
