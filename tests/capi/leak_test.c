/* Handles made and freed again and again leave nothing behind. */
#include "expect.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kCycles = 2000, kIsMeasured = 0 }; /* these look for leaks by themselves */
#else
enum { kCycles = 100000, kIsMeasured = 1 };
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
  EXPECT_OK(smd_collection_include(collection, "^weight"));
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
}

static void cycle_reading(void) {
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_value *mean = NULL;
  smd_value *none = NULL;
  smd_steps *steps = NULL;
  smd_strings *names = NULL;
  smd_trial *trial = open_trial(trial_path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  EXPECT_OK(smd_trial_steps(trial, SMD_MODE_GLOBAL, 0, &steps));
  EXPECT_OK(smd_trial_tensor_names(trial, -1, SMD_MODE_GLOBAL, NULL, NULL, &names));
  EXPECT_OK(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, &value));
  EXPECT_OK(smd_value_reduce(value, "mean", 0, &mean));
  smd_trial_free(trial);
  EXPECT(((const float *)smd_value_data(value))[5] == 6);
  EXPECT_CODE(SMD_STEP_UNAVAILABLE, smd_tensor_value(tensor, 7, SMD_MODE_GLOBAL, NULL, &none));
  smd_tensor_free(tensor);
  smd_value_free(mean);
  smd_value_free(value);
  smd_steps_free(steps);
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

static void cycle_rules(void) {
  smd_rule *rule = NULL;
  EXPECT_OK(smd_rule_new_builtin("VanishingGradient", NULL, &rule));
  smd_rule_free(rule);
  EXPECT_CODE(SMD_INVALID_CONFIG,
              smd_rule_new_builtin("VanishingGradient", "{\"a\": \"b\"}", &rule));
}

static void cycle_panels(void) {
  smd_panel *panel = NULL;
  smd_verdicts *outcomes = NULL;
  smd_verdicts *found = NULL;
  smd_trial *trial = open_trial(trial_path);
  EXPECT_OK(smd_panel_new("calibrated", &panel));
  EXPECT_OK(smd_panel_add(panel, "VanishingGradient", NULL, SMD_ACTION_STOP));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_panel_add(panel, "Nothing", NULL, SMD_ACTION_STOP));
  EXPECT_OK(smd_panel_run(panel, trial, 0, -1, 0, &found));
  EXPECT(smd_verdicts_count(found) == 0);
  EXPECT_OK(smd_panel_outcomes(panel, &outcomes));
  smd_trial_free(trial);
  smd_panel_free(panel);
  EXPECT(smd_verdicts_status(outcomes, 0) == SMD_VERDICT_NO_TENSOR);
  smd_verdicts_free(outcomes);
  smd_verdicts_free(found);
}

static void expect_flat(void (*cycle)(void), int cycles, const char *what) {
  long before;
  for (int i = 0; i < cycles / 10; ++i) cycle();
  before = resident_kib();
  for (int i = 0; i < cycles; ++i) cycle();
  if (!kIsMeasured || resident_kib() - before < 2048) return;
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
  expect_flat(cycle_rules, kCycles, "rules");
  expect_flat(cycle_panels, kCycles / 10, "panels");
  remove_folder(trial_path);
  return 0;
}
