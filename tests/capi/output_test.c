/* One argument NULL, the others right: an error that names it, and every output cleared. */
#include "calls.h"
#include "expect.h"

#define GARBAGE(type) ((type *)(void *)&garbage)
static char garbage;

/* The call is refused and leaves `out` NULL. */
#define CLEARED(type, call)                  \
  do {                                       \
    type *out = GARBAGE(type);               \
    EXPECT_CODE(SMD_INVALID_ARGUMENT, call); \
    EXPECT(out == NULL);                     \
  } while (0)

#define REFUSED(call) EXPECT_CODE(SMD_INVALID_ARGUMENT, call)

static void config(void) {
  smd_save_config *save = NULL;
  smd_reduction_config *reduction = NULL;
  smd_collection *collection = NULL;
  EXPECT_OK(smd_save_config_new(&save));
  EXPECT_OK(smd_reduction_config_new(&reduction));
  EXPECT_OK(smd_collection_new("mine", &collection));
  REFUSED(smd_save_config_set(save, SMD_MODE_TRAIN, 1, 0, -1, NULL, 3));
  REFUSED(smd_save_config_set(save, 77, 1, 0, -1, NULL, 0));
  REFUSED(smd_save_config_merge(save, NULL));
  CLEARED(smd_text, smd_save_config_to_json(NULL, &out));
  CLEARED(smd_save_config, smd_save_config_from_json(NULL, &out));
  CLEARED(smd_save_config, smd_save_config_from_json("", &out));
  REFUSED(smd_reduction_config_add(reduction, NULL));
  CLEARED(smd_strings, smd_reduction_config_reductions(NULL, &out));
  CLEARED(smd_text, smd_reduction_config_to_json(NULL, &out));
  CLEARED(smd_reduction_config, smd_reduction_config_from_json(NULL, &out));
  CLEARED(smd_collection, smd_collection_new(NULL, &out));
  CLEARED(smd_collection, smd_collection_new("", &out));
  CLEARED(smd_collection, smd_collection_new("\xff", &out));
  REFUSED(smd_collection_include_regex(collection, NULL));
  REFUSED(smd_collection_add_tensor(collection, NULL));
  REFUSED(smd_collection_remove_tensor(collection, NULL));
  CLEARED(smd_strings, smd_collection_regexes(NULL, &out));
  CLEARED(smd_strings, smd_collection_tensors(NULL, &out));
  CLEARED(smd_save_config, smd_collection_save_config(NULL, &out));
  CLEARED(smd_reduction_config, smd_collection_reduction_config(NULL, &out));
  CLEARED(smd_text, smd_collection_to_json(NULL, &out));
  CLEARED(smd_collection, smd_collection_from_json(NULL, &out));
  CLEARED(smd_text, smd_collections_to_json(NULL, 1, 1, &out));
  CLEARED(smd_text, smd_collections_to_json((const smd_collection *const[]){NULL}, 1, 1, &out));
  CLEARED(smd_text, smd_collections_to_json(NULL, 0, 0, &out));
  EXPECT_OK(smd_collection_set_save_config(collection, NULL));
  EXPECT_OK(smd_collection_set_reduction_config(collection, NULL));
  smd_save_config_free(save);
  smd_reduction_config_free(reduction);
  smd_collection_free(collection);
}

static void hook(const char *path) {
  const smd_tensor_view view = example_view();
  const smd_statistics statistics = SMD_STATISTICS_INIT; /* without a dtype */
  const smd_placement scalar = SMD_PLACEMENT_INIT;
  smd_hook_options *options = NULL;
  smd_hook *hook = open_hook(path);
  int64_t step = 77;
  EXPECT_OK(smd_hook_options_new(&options));
  REFUSED(smd_hook_options_set(options, NULL, "x"));
  REFUSED(smd_hook_options_set(options, "out_dir", NULL));
  REFUSED(smd_hook_options_include_regex(options, NULL));
  REFUSED(smd_hook_options_set_save_config(options, NULL));
  REFUSED(smd_hook_options_set_reduction_config(options, NULL));
  REFUSED(smd_hook_options_add_collection(options, NULL));
  REFUSED(smd_hook_options_set_log(options, SMD_LOG_INFO, NULL, NULL, NULL));
  CLEARED(smd_hook, smd_hook_new(NULL, &out));
  CLEARED(smd_hook, smd_hook_new(options, &out));
  REFUSED(smd_hook_new(options, NULL));
  REFUSED(smd_hook_begin_step(NULL, &step));
  EXPECT(step == 0);
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  REFUSED(smd_hook_save(hook, NULL, &view));
  REFUSED(smd_hook_save(hook, "w", NULL));
  REFUSED(smd_hook_save_owned(hook, "w", NULL, NULL, NULL));
  EXPECT_OK(smd_hook_save_owned(hook, "w", &view, NULL, NULL));
  REFUSED(smd_hook_save_dlpack(hook, "w", NULL));
  REFUSED(smd_hook_save_statistics(hook, NULL, &statistics));
  REFUSED(smd_hook_save_statistics(hook, "w", NULL));
  REFUSED(smd_hook_save_statistics(hook, "w", &statistics));
  REFUSED(smd_hook_set_placement(NULL, "w", &scalar));
  REFUSED(smd_hook_set_placement(hook, NULL, &scalar));
  REFUSED(smd_hook_set_placement(hook, "w", NULL));
  REFUSED(smd_hook_save_custom(hook, NULL, &view, NULL));
  REFUSED(smd_hook_save_custom(hook, "w", NULL, NULL));
  REFUSED(smd_hook_save_scalar(hook, NULL, &view, 0));
  REFUSED(smd_hook_save_scalar(hook, "w", NULL, 0));
  REFUSED(smd_hook_save_scalar(hook, "w", &view, 0));
  CLEARED(smd_collection, smd_hook_collection(hook, NULL, &out));
  CLEARED(smd_collection, smd_hook_collection(NULL, "x", &out));
  CLEARED(smd_strings, smd_hook_collections(NULL, &out));
  REFUSED(smd_hook_add_collection(hook, NULL));
  EXPECT(smd_hook_wants(hook, NULL) == 0 && smd_hook_wants(NULL, "w") == 0);
  EXPECT(smd_hook_count(hook, NULL) == -1 && smd_hook_last_step(hook, 0) == -1);
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_hook_options_free(options);
}

static void profile_rules(const char *path) {
  smd_profile_rules *rules = NULL;
  CLEARED(smd_profile_rules, smd_profile_rules_new(path, "no profile", &out));
  EXPECT_OK(smd_profile_rules_new(path, NULL, &rules));
  REFUSED(smd_profile_rules_set(rules, "rule", NULL));
  REFUSED(smd_profile_rules_set(rules, "no option", "1"));
  CLEARED(smd_findings, smd_profile_rules_findings(NULL, &out));
  CLEARED(smd_rule_results, smd_profile_rules_results(NULL, &out));
  CLEARED(smd_text, smd_profile_rules_report(NULL, "Straggler", &out));
  CLEARED(smd_text, smd_profile_rules_charts(NULL, &out));
  CLEARED(smd_strings, smd_profile_rules_scan(NULL, 0, 0, &out));
  REFUSED(smd_profile_rules_scan(rules, 0, 0, NULL));
  REFUSED(smd_profile_rules_write_timeline(rules, NULL));
  smd_profile_rules_free(rules);
}

static void profiler(const char *path) {
  smd_profiler_options *options = NULL;
  smd_profiler *opened = open_profiler(path);
  smd_profiler *followed = GARBAGE(smd_profiler);
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_profiler_follow(".", NULL, &followed));
  EXPECT(followed == NULL);
  EXPECT_OK(smd_profiler_options_new(&options));
  CLEARED(smd_profiler, smd_profiler_new(options, &out));
  CLEARED(smd_text, smd_profiler_options_get(options, "no option", &out));
  REFUSED(smd_profiler_options_set(options, NULL, "x"));
  REFUSED(smd_profiler_options_set(options, "node", NULL));
  REFUSED(smd_profiler_new(options, NULL));
  CLEARED(smd_text, smd_profiler_get(opened, "no setting", &out));
  REFUSED(smd_profiler_get(opened, "out_dir", NULL));
  EXPECT(smd_profiler_is_active(opened, "no feature", 0, NULL) == -1);
  REFUSED(smd_profiler_event(opened, NULL, "p", 0, 0, 0, NULL));
  REFUSED(smd_profiler_event(opened, "e", NULL, 0, 0, 0, NULL));
  REFUSED(smd_profiler_end(opened, NULL));
  smd_profiler_free(opened);
  smd_profiler_options_free(options);
}

static void metadata(const char *path) {
  smd_hook *hook = open_hook(path);
  REFUSED(smd_hook_set_metadata(NULL, "key", "value"));
  REFUSED(smd_hook_set_metadata(hook, NULL, "value"));
  REFUSED(smd_hook_set_metadata(hook, "key", NULL));
  smd_hook_free(hook);
  CLEARED(smd_strings, smd_trial_metadata(NULL, NULL, &out));
}

static void trial(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_trial_options *options = NULL;
  smd_mode mode = 77;
  smd_step_state state = 77;
  int64_t step = 77;
  EXPECT_OK(smd_trial_options_new(&options));
  REFUSED(smd_trial_options_set(options, NULL, "x"));
  REFUSED(smd_trial_options_set(options, "name", NULL));
  REFUSED(smd_trial_options_set_log(options, SMD_LOG_INFO, NULL, NULL, NULL));
  CLEARED(smd_trial, smd_trial_new(NULL, NULL, &out));
  CLEARED(smd_trial, smd_trial_open(NULL, options, &out));
  CLEARED(smd_trial, smd_trial_open("", NULL, &out));
  CLEARED(smd_integers, smd_trial_steps(NULL, SMD_MODE_TRAIN, 0, &out));
  CLEARED(smd_integers, smd_trial_steps(trial, SMD_MODE_ANY, 0, &out));
  CLEARED(smd_integers, smd_trial_steps(trial, 99, 0, &out));
  CLEARED(smd_integers, smd_trial_modes(NULL, &out));
  REFUSED(smd_trial_mode_step(trial, 0, &step, NULL));
  EXPECT(step == 0);
  REFUSED(smd_trial_mode_step(trial, 0, NULL, &mode));
  EXPECT(mode == SMD_MODE_ANY);
  REFUSED(smd_trial_global_step(NULL, 0, SMD_MODE_TRAIN, &step));
  EXPECT(step == 0);
  REFUSED(smd_trial_step_state(NULL, 0, SMD_MODE_TRAIN, &state));
  EXPECT(state == SMD_STEP_IS_UNAVAILABLE);
  REFUSED(smd_trial_wait_for_step(trial, 0, SMD_MODE_ANY, 0));
  CLEARED(smd_strings, smd_trial_workers(NULL, &out));
  CLEARED(smd_strings, smd_trial_collections(NULL, &out));
  CLEARED(smd_collection, smd_trial_collection(trial, NULL, &out));
  CLEARED(smd_strings, smd_trial_tensor_names(NULL, -1, SMD_MODE_GLOBAL, NULL, NULL, &out));
  CLEARED(smd_strings, smd_trial_tensor_names(trial, -1, SMD_MODE_ANY, NULL, NULL, &out));
  CLEARED(smd_strings, smd_trial_recorded_names(NULL, 0, SMD_MODE_GLOBAL, &out));
  CLEARED(smd_strings, smd_trial_recorded_names(trial, 0, SMD_MODE_ANY, &out));
  CLEARED(smd_tensor, smd_trial_tensor(trial, NULL, &out));
  smd_trial_options_free(options);
  smd_trial_free(trial);
}

static void tensor(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  double number = 77;
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  REFUSED(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, NULL, NULL));
  CLEARED(smd_value, smd_tensor_value(NULL, 0, SMD_MODE_GLOBAL, NULL, &out));
  CLEARED(smd_value, smd_tensor_value(tensor, 0, SMD_MODE_ANY, NULL, &out));
  CLEARED(smd_integers, smd_tensor_shape(NULL, 0, SMD_MODE_GLOBAL, NULL, &out));
  CLEARED(smd_value, smd_tensor_reduction(tensor, 0, SMD_MODE_GLOBAL, NULL, NULL, 0, &out));
  CLEARED(smd_value, smd_tensor_reduction(tensor, 0, SMD_MODE_GLOBAL, NULL, "avg", 0, &out));
  CLEARED(smd_strings, smd_tensor_reductions(NULL, 0, SMD_MODE_GLOBAL, NULL, &out));
  CLEARED(smd_integers, smd_tensor_full_shape(NULL, 0, SMD_MODE_GLOBAL, &out));
  CLEARED(smd_value, smd_tensor_full_value(NULL, 0, SMD_MODE_GLOBAL, &out));
  CLEARED(smd_values, smd_tensor_values(NULL, 0, 1, SMD_MODE_GLOBAL, NULL, &out));
  CLEARED(smd_values, smd_tensor_values(tensor, 0, 1, SMD_MODE_ANY, NULL, &out));
  CLEARED(smd_values,
          smd_tensor_reduction_values(tensor, 0, 1, SMD_MODE_GLOBAL, NULL, "avg", 0, &out));
  CLEARED(smd_value, smd_values_get(NULL, 0, &out));
  CLEARED(smd_value, smd_tensor_full_reduction(tensor, 0, SMD_MODE_GLOBAL, NULL, 0, &out));
  CLEARED(smd_integers, smd_tensor_steps(NULL, SMD_MODE_GLOBAL, 0, &out));
  CLEARED(smd_strings, smd_tensor_workers(NULL, 0, SMD_MODE_GLOBAL, &out));
  CLEARED(smd_text, smd_tensor_original_name(NULL, &out));
  EXPECT_OK(smd_tensor_value(tensor, 0, SMD_MODE_GLOBAL, "", &value));
  CLEARED(smd_value, smd_value_reduce(value, NULL, 0, &out));
  CLEARED(smd_value, smd_value_reduce(NULL, "min", 0, &out));
  REFUSED(smd_value_to_double(value, &number));
  EXPECT(number == 0);
  REFUSED(smd_value_to_dlpack(value, NULL));
  smd_strings *texts = GARBAGE(smd_strings);
  EXPECT_CODE(SMD_UNSUPPORTED, smd_value_strings(value, &texts));
  EXPECT(texts == NULL);
  smd_value_free(value);
  smd_tensor_free(tensor);
  smd_trial_free(trial);
}

static void files_and_rules(const char *path) {
  const smd_tensor_view view = example_view();
  smd_step_file *file = NULL;
  int32_t found = 77;
  CLEARED(smd_step_file, smd_step_file_open(NULL, 0, "worker_0", &out));
  CLEARED(smd_step_file, smd_step_file_open(path, 0, NULL, &out));
  CLEARED(smd_step_file, smd_step_file_open(path, -1, "worker_0", &out));
  EXPECT_OK(smd_step_file_open(path, 9, "worker_0", &file));
  REFUSED(smd_step_file_add_tensor(file, NULL, &view, 0, SMD_MODE_TRAIN, 0));
  REFUSED(smd_step_file_add_tensor(file, "w", NULL, 0, SMD_MODE_TRAIN, 0));
  REFUSED(smd_step_file_add_shape(file, "w", NULL, 2, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_step_file_add_shape(file, "w", example_shape, -1, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_step_file_add_shape(file, "w", example_shape, 33, 0, SMD_MODE_TRAIN, NULL));
  EXPECT(smd_step_file_path(NULL)[0] == '\0');
  smd_step_file_free(file);
  CLEARED(smd_event_file, smd_event_file_open(NULL, &out));
  REFUSED(smd_event_file_next(NULL, &found));
  EXPECT(found == 0);
  CLEARED(smd_value, smd_event_file_value(NULL, &out));
  EXPECT(smd_event_file_tensor(NULL)[0] == '\0' && smd_event_file_step(NULL) == -1);
  CLEARED(smd_rule_set, smd_rule_set_new("x", &out));
  CLEARED(smd_findings, smd_rule_set_evaluate(NULL, NULL, 0, -1, 0, &out));
  CLEARED(smd_rule_results, smd_rule_set_results(NULL, &out));
  CLEARED(smd_diagnosis, smd_rule_set_diagnose(NULL, &out));
  CLEARED(smd_findings, smd_hook_take_findings(NULL, &out));
}

int main(void) {
  const char *path = fresh_folder("output");
  call_with_null();
  config();
  metadata(path);
  profiler(path);
  profile_rules(path);
  hook(path);
  trial(path);
  tensor(path);
  files_and_rules(path);
  remove_folder(path);
  return 0;
}
