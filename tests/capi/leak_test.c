/* Handles made and freed again and again leave nothing behind. */
#include "expect.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kCycles = 2000, kIsMeasured = 0 }; /* these look for leaks by themselves */
#else
enum { kCycles = 20000, kIsMeasured = 1 };
#endif

static const char *trial_path;
static char written_path[256];

static long resident_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void record_trial(void) {
  smd_hook *hook = open_hook(trial_path);
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
}

static void cycle_recording(void) {
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  smd_save_config *config = NULL;
  smd_reduction_config *reductions = NULL;
  smd_collection *collection = NULL;
  EXPECT_OK(smd_save_config_new(&config));
  EXPECT_OK(smd_reduction_config_new(&reductions));
  EXPECT_OK(smd_reduction_config_add(reductions, "mean,abs_max"));
  EXPECT_OK(smd_collection_new("mine", &collection));
  EXPECT_OK(smd_collection_include_regex(collection, "^weight"));
  EXPECT_OK(smd_collection_set_reduction_config(collection, reductions));
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_set(options, "out_dir", "never-written"));
  EXPECT_OK(smd_hook_options_set_save_config(options, config));
  EXPECT_OK(smd_hook_options_add_collection(options, collection));
  EXPECT_OK(smd_hook_new(options, &hook));
  smd_hook_options_free(options);
  smd_collection_free(collection);
  smd_hook_free(hook);
  smd_save_config_free(config);
  smd_reduction_config_free(reductions);
  smd_profiler_free(open_profiler("never-written"));
}

static void cycle_reading(void) {
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_value *mean = NULL;
  smd_value *none = NULL;
  smd_values *values = NULL;
  smd_integers *steps = NULL;
  smd_strings *names = NULL;
  smd_trial *trial = open_trial(trial_path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT_OK(smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL, NULL, &names));
  EXPECT_OK(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, &value));
  EXPECT_OK(smd_value_reduce(value, "mean", 0, &mean));
  EXPECT_OK(smd_tensor_values(tensor, 0, 9, SMD_MODE_GLOBAL, NULL, &values));
  smd_trial_free(trial);
  smd_values_free(values);
  EXPECT(((const float *)smd_value_data(value))[5] == 6);
  EXPECT_CODE(SMD_STEP_UNAVAILABLE, smd_tensor_value(tensor, 7, SMD_MODE_GLOBAL, NULL, &none));
  smd_tensor_free(tensor);
  smd_value_free(mean);
  smd_value_free(value);
  smd_integers_free(steps);
  smd_strings_free(names);
}

/* The folder is that of a job that has died, so that it may be recorded into again. */
static void cycle_writing(void) {
  char end[300];
  smd_hook *hook = open_hook(written_path);
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  snprintf(end, sizeof end, "%s/training_job_end.ts", written_path);
  EXPECT(unlink(end) == 0);
}

static int32_t find_always(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                           smd_error **error) {
  smd_finding finding = SMD_FINDING_INIT;
  (void)self, (void)trial, (void)step;
  finding.message = "always";
  *error = smd_findings_add(findings, &finding);
  return *error == NULL ? SMD_RULE_CONTINUE : -1;
}

static void cycle_rule_sets(void) {
  smd_rule_set *set = NULL;
  smd_rule_results *results = NULL;
  smd_findings *found = NULL;
  smd_diagnosis *diagnosis = NULL;
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  smd_trial *trial = open_trial(trial_path);
  ops.invoke = find_always;
  EXPECT_OK(smd_rule_set_new("calibrated", &set));
  EXPECT_OK(smd_rule_set_add(set, "VanishingGradient", NULL, SMD_ACTION_STOP));
  EXPECT_OK(smd_rule_set_add_function(set, "Always", &ops, NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_rule_set_add(set, "Nothing", NULL, SMD_ACTION_STOP));
  EXPECT_CODE(SMD_INVALID_CONFIG,
              smd_rule_set_add(set, "VanishingGradient", "{\"a\": \"b\"}", SMD_ACTION_STOP));
  EXPECT_OK(smd_rule_set_evaluate(set, trial, 0, -1, 0, &found));
  EXPECT_OK(smd_rule_set_results(set, &results));
  EXPECT_OK(smd_rule_set_diagnose(set, &diagnosis));
  smd_diagnosis_free(diagnosis);
  EXPECT_OK(smd_rule_set_reset(set));
  smd_trial_free(trial);
  smd_rule_set_free(set);
  EXPECT(smd_rule_results_get(results, 0)->status == SMD_RULE_NO_TENSORS);
  EXPECT((int64_t)smd_findings_count(found) == smd_rule_results_get(results, 1)->finding_count);
  EXPECT(smd_findings_count(found) > 0);
  smd_rule_results_free(results);
  smd_findings_free(found);
}

static void expect_flat(void (*cycle)(void), int cycles, const char *what) {
  long before;
  for (int i = 0; i < cycles / 10; ++i) cycle();
  before = resident_kib();
  for (int i = 0; i < cycles; ++i) cycle();
  if (!kIsMeasured || resident_kib() - before < 512) return;
  fprintf(stderr, "not true: %s is flat: %ld KiB, then %ld\n", what, before, resident_kib());
  abort();
}

int main(void) {
  trial_path = fresh_folder("leak");
  record_trial();
  expect_flat(cycle_recording, kCycles, "recording");
  expect_flat(cycle_reading, kCycles, "reading");
  snprintf(written_path, sizeof written_path, "%s-written", trial_path);
  expect_flat(cycle_writing, kCycles / 10, "writing");
  remove_folder(written_path);
  expect_flat(cycle_rule_sets, kCycles / 10, "rule sets");
  remove_folder(trial_path);
  return 0;
}
