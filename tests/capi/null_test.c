/* NULL in every place: an error or a neutral answer, never a crash. */
#include "expect.h"
#include "smdebug/sys/bucket.h"
#include "smdebug/sys/files.h"

#define REFUSED(call) EXPECT_CODE(SMD_INVALID_ARGUMENT, call)

static void config(void) {
  REFUSED(smd_save_config_new(NULL));
  REFUSED(smd_save_config_set(NULL, SMD_MODE_TRAIN, 1, 0, -1, NULL, 0));
  REFUSED(smd_save_config_merge(NULL, NULL));
  REFUSED(smd_save_config_to_json(NULL, NULL));
  REFUSED(smd_save_config_from_json(NULL, NULL));
  EXPECT(smd_save_config_saves(NULL, 0, SMD_MODE_TRAIN) == 0);
  EXPECT(smd_save_config_equal(NULL, NULL) == 0);
  REFUSED(smd_reduction_config_new(NULL));
  REFUSED(smd_reduction_config_add(NULL, NULL));
  REFUSED(smd_reduction_config_set_raw(NULL, 1));
  REFUSED(smd_reduction_config_set_shape(NULL, 1));
  REFUSED(smd_reduction_config_reductions(NULL, NULL));
  REFUSED(smd_reduction_config_to_json(NULL, NULL));
  REFUSED(smd_reduction_config_from_json(NULL, NULL));
  REFUSED(smd_collection_new(NULL, NULL));
  REFUSED(smd_collection_include_regex(NULL, NULL));
  REFUSED(smd_collection_add_tensor(NULL, NULL));
  REFUSED(smd_collection_remove_tensor(NULL, NULL));
  REFUSED(smd_collection_set_save_config(NULL, NULL));
  REFUSED(smd_collection_set_reduction_config(NULL, NULL));
  REFUSED(smd_collection_set_save_histogram(NULL, 1));
  REFUSED(smd_collection_regexes(NULL, NULL));
  REFUSED(smd_collection_tensors(NULL, NULL));
  REFUSED(smd_collection_save_config(NULL, NULL));
  REFUSED(smd_collection_reduction_config(NULL, NULL));
  REFUSED(smd_collection_to_json(NULL, NULL));
  REFUSED(smd_collection_from_json(NULL, NULL));
  REFUSED(smd_collections_to_json(NULL, 2, 1, NULL));
  EXPECT(smd_collection_name(NULL)[0] == '\0' && smd_collection_has(NULL, NULL) == 0);
}

static void hook(void) {
  REFUSED(smd_hook_options_new(NULL));
  REFUSED(smd_hook_options_set(NULL, NULL, NULL));
  REFUSED(smd_rule_set_new(NULL, NULL));
  REFUSED(smd_rule_set_set_save_config(NULL, NULL));
  REFUSED(smd_rule_set_add(NULL, NULL, NULL, SMD_ACTION_WARN));
  REFUSED(smd_rule_set_evaluate(NULL, NULL, 0, -1, 0, NULL));
  REFUSED(smd_rule_set_results(NULL, NULL));
  REFUSED(smd_rule_set_diagnose(NULL, NULL));
  REFUSED(smd_rule_set_reset(NULL));
  REFUSED(smd_hook_attach(NULL, NULL));
  REFUSED(smd_hook_take_findings(NULL, NULL));
  EXPECT(smd_hook_action(NULL) == SMD_ACTION_CONTINUE && smd_findings_count(NULL) == 0);
  EXPECT(smd_findings_get(NULL, 0) == NULL && smd_rule_results_get(NULL, 0) == NULL);
  REFUSED(smd_hook_options_load(NULL, NULL));
  REFUSED(smd_hook_options_get(NULL, NULL, NULL));
  REFUSED(smd_hook_options_regexes(NULL, NULL));
  REFUSED(smd_hook_options_collections(NULL, NULL));
  REFUSED(smd_hook_options_collection(NULL, NULL, NULL));
  REFUSED(smd_hook_options_save_config(NULL, NULL));
  REFUSED(smd_hook_options_reduction_config(NULL, NULL));
  REFUSED(smd_hook_options_include_regex(NULL, NULL));
  REFUSED(smd_hook_options_set_save_config(NULL, NULL));
  REFUSED(smd_hook_options_set_reduction_config(NULL, NULL));
  REFUSED(smd_hook_options_add_collection(NULL, NULL));
  REFUSED(smd_hook_options_set_log(NULL, SMD_LOG_INFO, NULL, NULL, NULL));
  REFUSED(smd_hook_new(NULL, NULL));
  REFUSED(smd_hook_flush(NULL, 0));
  REFUSED(smd_hook_close(NULL));
  REFUSED(smd_hook_set_mode(NULL, SMD_MODE_TRAIN));
  REFUSED(smd_hook_begin_step(NULL, NULL));
  REFUSED(smd_hook_end_step(NULL));
  REFUSED(smd_hook_discard_step(NULL));
  REFUSED(smd_hook_save(NULL, NULL, NULL));
  REFUSED(smd_hook_save_owned(NULL, NULL, NULL, NULL, NULL));
  REFUSED(smd_hook_save_dlpack(NULL, NULL, NULL));
  REFUSED(smd_hook_save_statistics(NULL, NULL, NULL));
  REFUSED(smd_hook_set_placement(NULL, NULL, NULL));
  REFUSED(smd_hook_save_custom(NULL, NULL, NULL, NULL));
  REFUSED(smd_hook_save_scalar(NULL, NULL, NULL, 0));
  REFUSED(smd_hook_collection(NULL, NULL, NULL));
  REFUSED(smd_hook_ensure_collection(NULL, NULL, NULL));
  REFUSED(smd_hook_add_collection(NULL, NULL));
  REFUSED(smd_hook_collections(NULL, NULL));
  REFUSED(smd_hook_export_collections(NULL));
  REFUSED(smd_hook_add_to_step(NULL, NULL));
  EXPECT(smd_hook_wants(NULL, NULL) == 0 && smd_hook_saves_step(NULL) == 0 &&
         smd_hook_last_step(NULL, 1) == -1);
  EXPECT(smd_hook_is_recording(NULL) == 0 && smd_hook_count(NULL, NULL) == -1);
}

static void profiler(void) {
  REFUSED(smd_profiler_options_new(NULL));
  REFUSED(smd_profiler_options_set(NULL, NULL, NULL));
  REFUSED(smd_profiler_options_get(NULL, NULL, NULL));
  REFUSED(smd_profiler_options_set_log(NULL, SMD_LOG_INFO, NULL, NULL, NULL));
  REFUSED(smd_profiler_new(NULL, NULL));
  REFUSED(smd_profiler_follow(NULL, NULL, NULL));
  REFUSED(smd_profiler_get(NULL, NULL, NULL));
  REFUSED(smd_profile_import_trace(NULL, NULL, NULL, NULL));
  EXPECT(smd_profiler_update(NULL) == 0);
  EXPECT(smd_profiler_is_active(NULL, "python", 0, NULL) == -1);
  REFUSED(smd_profiler_flush(NULL, 0));
  REFUSED(smd_profiler_close(NULL));
  REFUSED(smd_profiler_event(NULL, NULL, NULL, 0, 0, 0, NULL));
  REFUSED(smd_profiler_begin(NULL, NULL, NULL, 0, NULL));
  REFUSED(smd_profiler_end(NULL, NULL));
  REFUSED(smd_profiler_instant(NULL, NULL, NULL, 0, NULL));
  EXPECT(smd_profiler_now(NULL) == 0 && smd_profiler_count(NULL, NULL) == -1);
  smd_profiler_options_free(NULL);
  smd_profiler_free(NULL);
}

static void profile_rules(void) {
  REFUSED(smd_profile_rules_new(NULL, NULL, NULL));
  REFUSED(smd_profile_rules_set(NULL, NULL, NULL));
  REFUSED(smd_profile_rules_set_log(NULL, SMD_LOG_INFO, NULL, NULL, NULL));
  REFUSED(smd_profile_rules_evaluate(NULL));
  REFUSED(smd_profile_rules_scan(NULL, 0, 0, NULL));
  REFUSED(smd_profile_rules_findings(NULL, NULL));
  REFUSED(smd_profile_rules_results(NULL, NULL));
  REFUSED(smd_profile_rules_report(NULL, NULL, NULL));
  REFUSED(smd_profile_rules_charts(NULL, NULL));
  REFUSED(smd_profile_rules_write_timeline(NULL, NULL));
  EXPECT(smd_profile_phase_count(NULL) == 0 && smd_profile_phase_get(NULL, 0) == NULL);
  EXPECT(smd_profile_rule(smd_profile_rule_count()) == NULL);
  EXPECT(smd_profile_rule_advice(NULL)[0] == '\0');
  smd_profile_rules_free(NULL);
}

static void metadata(void) {
  REFUSED(smd_hook_set_metadata(NULL, NULL, NULL));
  REFUSED(smd_hook_describe_run(NULL));
  REFUSED(smd_trial_metadata(NULL, NULL, NULL));
}

static void late_tensors(void) {
  REFUSED(smd_hook_expect(NULL, NULL, NULL));
  REFUSED(smd_hook_save_late(NULL, NULL, 0, NULL));
  REFUSED(smd_hook_save_late_dlpack(NULL, NULL, 0, NULL));
  REFUSED(smd_hook_save_late_statistics(NULL, NULL, 0, NULL));
  REFUSED(smd_hook_forgo(NULL, NULL, 0));
}

static void trial(void) {
  REFUSED(smd_trial_options_new(NULL));
  REFUSED(smd_trial_options_set(NULL, NULL, NULL));
  REFUSED(smd_trial_options_set_log(NULL, SMD_LOG_INFO, NULL, NULL, NULL));
  REFUSED(smd_trial_new(NULL, NULL, NULL));
  REFUSED(smd_trial_load(NULL));
  REFUSED(smd_trial_open(NULL, NULL, NULL));
  REFUSED(smd_trial_refresh(NULL));
  REFUSED(smd_trial_steps(NULL, SMD_MODE_TRAIN, 0, NULL));
  REFUSED(smd_trial_modes(NULL, NULL));
  REFUSED(smd_trial_mode_step(NULL, 0, NULL, NULL));
  REFUSED(smd_trial_global_step(NULL, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_trial_step_state(NULL, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_trial_wait_for_step(NULL, 0, SMD_MODE_TRAIN, 0));
  REFUSED(smd_trial_workers(NULL, NULL));
  REFUSED(smd_trial_collections(NULL, NULL));
  REFUSED(smd_trial_collection(NULL, NULL, NULL));
  REFUSED(smd_trial_tensor_names(NULL, -1, SMD_MODE_GLOBAL, NULL, NULL, NULL));
  REFUSED(smd_trial_recorded_names(NULL, 0, SMD_MODE_GLOBAL, NULL));
  REFUSED(smd_trial_tensor(NULL, NULL, NULL));
  REFUSED(smd_tensor_original_name(NULL, NULL));
  REFUSED(smd_tensor_steps(NULL, SMD_MODE_TRAIN, 0, NULL));
  REFUSED(smd_tensor_prev_steps(NULL, 0, SMD_MODE_TRAIN, 0, NULL));
  REFUSED(smd_tensor_workers(NULL, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_tensor_value(NULL, 0, SMD_MODE_TRAIN, NULL, NULL));
  REFUSED(smd_tensor_shape(NULL, 0, SMD_MODE_TRAIN, NULL, NULL));
  REFUSED(smd_tensor_reduction(NULL, 0, SMD_MODE_TRAIN, NULL, NULL, 0, NULL));
  REFUSED(smd_tensor_reductions(NULL, 0, SMD_MODE_TRAIN, NULL, NULL));
  REFUSED(smd_tensor_full_shape(NULL, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_tensor_full_value(NULL, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_tensor_values(NULL, 0, 1, SMD_MODE_TRAIN, NULL, NULL));
  REFUSED(smd_tensor_reduction_values(NULL, 0, 1, SMD_MODE_TRAIN, NULL, NULL, 0, NULL));
  REFUSED(smd_values_get(NULL, 0, NULL));
  REFUSED(smd_tensor_full_reduction(NULL, 0, SMD_MODE_TRAIN, NULL, 0, NULL));
  EXPECT(smd_trial_has_ended(NULL) == 0 && smd_trial_last_complete_step(NULL) == -1);
  EXPECT(smd_trial_path(NULL)[0] == '\0' && smd_trial_name(NULL)[0] == '\0');
  smd_trial_cancel(NULL);
}

static void rest(void) {
  REFUSED(smd_strings_new(NULL));
  REFUSED(smd_strings_add(NULL, NULL));
  REFUSED(smd_value_to_dlpack(NULL, NULL));
  REFUSED(smd_value_strings(NULL, NULL));
  REFUSED(smd_value_reduce(NULL, NULL, 0, NULL));
  REFUSED(smd_value_to_double(NULL, NULL));
  REFUSED(smd_rule_set_add_all(NULL, SMD_ACTION_WARN));
  REFUSED(smd_rule_set_add_function(NULL, NULL, NULL, NULL, SMD_ACTION_WARN));
  REFUSED(smd_findings_add(NULL, NULL));
  REFUSED(smd_step_file_open(NULL, 0, NULL, NULL));
  REFUSED(smd_step_file_add_tensor(NULL, NULL, NULL, 0, SMD_MODE_TRAIN, 0));
  REFUSED(smd_step_file_add_shape(NULL, NULL, NULL, 0, 0, SMD_MODE_TRAIN, NULL));
  REFUSED(smd_step_file_close(NULL));
  REFUSED(smd_event_file_open(NULL, NULL));
  REFUSED(smd_event_file_next(NULL, NULL));
  REFUSED(smd_event_file_value(NULL, NULL));
  REFUSED(smd_store_check(NULL, NULL, NULL));
  REFUSED(smd_bucket_open(NULL, NULL, NULL));
  REFUSED(smd_bucket_list(NULL, NULL, NULL, NULL, NULL));
  REFUSED(smd_bucket_read(NULL, NULL, 0, -1, NULL));
  REFUSED(smd_bucket_write(NULL, NULL, NULL, 0));
  REFUSED(smd_bucket_remove(NULL, NULL));
  smd_bucket_free(NULL);
  REFUSED(smd_trial_export_tensorboard(NULL, NULL));
  REFUSED(smd_trial_prefetch(NULL, NULL, NULL, 1, SMD_MODE_TRAIN));
  EXPECT(smd_store_report_count(NULL) == 0 && smd_store_report_name(NULL, 0)[0] == '\0');
  EXPECT(smd_store_report_code(NULL, 0) == SMD_INVALID_ARGUMENT);
  EXPECT(smd_store_report_message(NULL, 0)[0] == '\0');
  smd_store_report_free(NULL);
  EXPECT(smd_value_retain(NULL) == NULL && smd_value_data(NULL) == NULL);
  EXPECT(smd_strings_count(NULL) == 0 && smd_integers_count(NULL) == 0);
  EXPECT(smd_error_code(NULL) == SMD_OK && smd_error_detail(NULL, NULL) == NULL);
  EXPECT(smd_has_feature(NULL) == 0 && smd_has_feature("local") == 1);
  EXPECT_OK(smd_require_abi(SMD_ABI_LEVEL));
  EXPECT_CODE(SMD_ABI_MISMATCH, smd_require_abi(SMD_ABI_LEVEL + 7));
}

int main(void) {
  config();
  hook();
  late_tensors();
  metadata();
  profiler();
  profile_rules();
  trial();
  rest();
  return 0;
}
