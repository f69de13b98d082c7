/* Configurations through the C interface: what they say, and as JSON there and back. */
#include "expect.h"
#include "smdebug/sys/bucket.h"
#include "smdebug/sys/files.h"

static void save_config(void) {
  static const int64_t steps[2] = {3, 7};
  smd_save_config *config = NULL;
  smd_save_config *same = NULL;
  smd_save_config *defaults = NULL;
  smd_text *json = NULL;
  EXPECT_OK(smd_save_config_new(&config));
  EXPECT(smd_save_config_is_set(config, SMD_MODE_TRAIN) == 0);
  EXPECT(smd_save_config_saves(config, 500, SMD_MODE_TRAIN) == 1);
  EXPECT(smd_save_config_saves(config, 501, SMD_MODE_TRAIN) == 0);
  EXPECT(smd_save_config_saves(config, 0, 77) == 0 && smd_save_config_is_set(config, 77) == 0);
  EXPECT_OK(smd_save_config_set(config, SMD_MODE_TRAIN, 100, 0, 201, steps, 2));
  for (int64_t step = 0; step < 400; ++step) {
    const int32_t wanted = step == 3 || step == 7 || (step % 100 == 0 && step <= 200);
    EXPECT(smd_save_config_saves(config, step, SMD_MODE_TRAIN) == wanted);
  }
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_save_config_set(config, SMD_MODE_TRAIN, 0, 0, -1, NULL, 0));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_save_config_set(config, SMD_MODE_ANY, 1, -1, -1, NULL, 0));
  EXPECT_OK(smd_save_config_to_json(config, &json));
  EXPECT_OK(smd_save_config_from_json(smd_text_data(json), &same));
  EXPECT(smd_save_config_equal(config, same) == 1);
  EXPECT_OK(smd_save_config_new(&defaults));
  EXPECT_OK(smd_save_config_set(defaults, SMD_MODE_ANY, 2, 0, -1, NULL, 0));
  EXPECT_OK(smd_save_config_merge(config, defaults));
  EXPECT(smd_save_config_saves(config, 4, SMD_MODE_EVAL) == 1);
  EXPECT(smd_save_config_saves(config, 4, SMD_MODE_TRAIN) == 0);
  EXPECT(smd_save_config_equal(config, same) == 0);
  EXPECT_OK(smd_save_config_set(config, SMD_MODE_TRAIN, 1, 5, 5, steps, 1));
  EXPECT(smd_save_config_saves(config, 5, SMD_MODE_TRAIN) == 0);
  EXPECT(smd_save_config_saves(config, 6, SMD_MODE_TRAIN) == 0);
  smd_save_config_free(same);
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_save_config_from_json("[]", &same));
  EXPECT(same == NULL);
  smd_text_free(json);
  smd_save_config_free(defaults);
  smd_save_config_free(config);
}

static void expect_settings(const smd_save_config *config, smd_mode mode, int64_t every,
                            int64_t first, int64_t end, const int64_t *steps, size_t step_count) {
  int64_t every_out = 0;
  int64_t first_out = 0;
  int64_t end_out = 0;
  smd_integers *steps_out = NULL;
  EXPECT_OK(smd_save_config_get(config, mode, &every_out, &first_out, &end_out, &steps_out));
  EXPECT(every_out == every && first_out == first && end_out == end);
  EXPECT(smd_integers_count(steps_out) == step_count);
  for (size_t i = 0; i < step_count; ++i) EXPECT(smd_integers_get(steps_out, i) == steps[i]);
  smd_integers_free(steps_out);
}

/* The getter returns the parameters of the setter, or the defaults. */
static void save_config_settings(void) {
  static const int64_t steps[2] = {7, 3};
  int64_t number = 1;
  smd_integers *list = NULL;
  smd_save_config *config = NULL;
  EXPECT_OK(smd_save_config_new(&config));
  EXPECT_OK(smd_save_config_set(config, SMD_MODE_TRAIN, 100, 5, 201, steps, 2));
  expect_settings(config, SMD_MODE_TRAIN, 100, 5, 201, steps, 2);
  expect_settings(config, SMD_MODE_EVAL, 500, 0, -1, NULL, 0);
  EXPECT(smd_save_config_is_set(config, SMD_MODE_EVAL) == 0);
  EXPECT_OK(smd_save_config_set(config, SMD_MODE_ANY, 2, 0, 0, NULL, 0));
  expect_settings(config, SMD_MODE_GLOBAL, 2, 0, 0, NULL, 0);
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_save_config_get(config, SMD_MODE_ANY, &number, &number, &number, &list));
  EXPECT(number == 0 && list == NULL);
  smd_save_config_free(config);
  /* -1 means no end, so another negative end, which saves nothing, is returned as 0. */
  EXPECT_OK(smd_save_config_from_json("{\"TRAIN\": {\"end_step\": -1}}", &config));
  EXPECT(smd_save_config_saves(config, 0, SMD_MODE_TRAIN) == 0);
  expect_settings(config, SMD_MODE_TRAIN, 500, 0, 0, NULL, 0);
  smd_save_config_free(config);
}

static void reduction_config(void) {
  smd_reduction_config *config = NULL;
  smd_reduction_config *same = NULL;
  smd_strings *names = NULL;
  smd_text *json = NULL;
  EXPECT_OK(smd_reduction_config_new(&config));
  EXPECT(smd_reduction_config_raw(config) == 0 && smd_reduction_config_shape(config) == 0);
  EXPECT_OK(smd_reduction_config_add(config, "min,abs_mean,l1"));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_reduction_config_add(config, "max,average"));
  EXPECT_OK(smd_reduction_config_set_raw(config, 1));
  EXPECT_OK(smd_reduction_config_set_shape(config, 1));
  EXPECT_OK(smd_reduction_config_reductions(config, &names));
  EXPECT(smd_strings_count(names) == 3);
  EXPECT(strcmp(smd_strings_get(names, 1), "abs_mean") == 0);
  EXPECT(strcmp(smd_strings_get(names, 2), "l1_norm") == 0);
  EXPECT_OK(smd_reduction_config_to_json(config, &json));
  EXPECT_OK(smd_reduction_config_from_json(smd_text_data(json), &same));
  EXPECT(smd_reduction_config_equal(config, same) == 1);
  EXPECT(smd_reduction_config_raw(same) == 1 && smd_reduction_config_shape(same) == 1);
  smd_reduction_config_free(same);
  smd_text_free(json);
  smd_strings_free(names);
  smd_reduction_config_free(config);
}

static void collection(void) {
  smd_collection *collection = NULL;
  smd_collection *same = NULL;
  smd_save_config *save = NULL;
  smd_reduction_config *reduction = NULL;
  smd_strings *list = NULL;
  smd_text *json = NULL;
  EXPECT_OK(smd_collection_new("mine", &collection));
  EXPECT_OK(smd_collection_include_regex(collection, "^conv"));
  smd_error *error = smd_collection_include_regex(collection, "(unclosed");
  EXPECT(strstr(smd_error_message(error), "(unclosed") != NULL);
  EXPECT_CODE(SMD_INVALID_CONFIG, error);
  EXPECT_OK(smd_collection_add_tensor(collection, "bias"));
  EXPECT(smd_collection_has(collection, "conv1") == 1);
  EXPECT(smd_collection_has(collection, "bias") == 1);
  EXPECT(smd_collection_has(collection, "other") == 0);
  EXPECT_OK(smd_collection_remove_tensor(collection, "bias"));
  EXPECT(smd_collection_has(collection, "bias") == 0);
  EXPECT_OK(smd_collection_save_config(collection, &save));
  EXPECT_OK(smd_collection_reduction_config(collection, &reduction));
  EXPECT(save == NULL && reduction == NULL);
  EXPECT_OK(smd_save_config_new(&save));
  EXPECT_OK(smd_collection_set_save_config(collection, save));
  EXPECT_OK(smd_reduction_config_new(&reduction));
  EXPECT_OK(smd_collection_set_reduction_config(collection, reduction));
  EXPECT_OK(smd_collection_set_save_histogram(collection, 0));
  smd_save_config_free(save);
  smd_reduction_config_free(reduction);
  EXPECT_OK(smd_collection_to_json(collection, &json));
  EXPECT_OK(smd_collection_from_json(smd_text_data(json), &same));
  EXPECT(strcmp(smd_collection_name(same), "mine") == 0);
  EXPECT(smd_collection_save_histogram(same) == 0 && smd_collection_has(same, "conv2") == 1);
  EXPECT_OK(smd_collection_regexes(same, &list));
  EXPECT(smd_strings_count(list) == 1 && strcmp(smd_strings_get(list, 0), "^conv") == 0);
  smd_strings_free(list);
  EXPECT_OK(smd_collection_tensors(same, &list));
  EXPECT(smd_strings_count(list) == 0);
  EXPECT_OK(smd_collection_save_config(same, &save));
  EXPECT_OK(smd_collection_reduction_config(same, &reduction));
  EXPECT(save != NULL && reduction != NULL);
  smd_save_config_free(save);
  smd_reduction_config_free(reduction);
  smd_strings_free(list);
  smd_text_free(json);
  smd_collection_free(same);
  smd_collection_free(collection);
}

/* Getters find; one function creates, and its name says so. */
static void getters(void) {
  const char *path = fresh_folder("settings");
  smd_hook *hook = open_hook(path);
  smd_collection *collection = NULL;
  smd_strings *names = NULL;
  EXPECT_CODE(SMD_NOT_FOUND, smd_hook_collection(hook, "mine", &collection));
  EXPECT(collection == NULL);
  EXPECT_OK(smd_hook_ensure_collection(hook, "mine", &collection));
  EXPECT(strcmp(smd_collection_name(collection), "mine") == 0);
  EXPECT_OK(smd_collection_add_tensor(collection, "w"));
  smd_collection_free(collection);
  EXPECT_OK(smd_hook_collection(hook, "mine", &collection));
  smd_collection_free(collection);
  record_steps(hook, 1);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT_CODE(SMD_NOT_FOUND, smd_trial_collection(trial, "yours", &collection));
  EXPECT(collection == NULL);
  EXPECT_OK(smd_trial_collections(trial, &names));
  for (size_t i = 0; i < smd_strings_count(names); ++i) {
    EXPECT(strcmp(smd_strings_get(names, i), "yours") != 0);
  }
  EXPECT_OK(smd_trial_collection(trial, "mine", &collection));
  smd_collection_free(collection);
  smd_strings_free(names);
  smd_trial_free(trial);
  remove_folder(path);
}

static void names(void) {
  EXPECT(strcmp(smd_mode_name(SMD_MODE_TRAIN), "TRAIN") == 0 && smd_mode_name(0)[0] == '\0');
  EXPECT(strcmp(smd_dtype_name(SMD_BFLOAT16), "bfloat16") == 0 && smd_dtype_name(7)[0] == '\0');
  EXPECT(strcmp(smd_rule_status_name(SMD_RULE_NO_TENSORS), "no_tensors") == 0);
  EXPECT(strcmp(smd_action_name(SMD_ACTION_STOP), "stop") == 0);
  EXPECT(strcmp(smd_rule_status_name(SMD_RULE_WORTH_A_LOOK), "worth_a_look") == 0);
  EXPECT(strcmp(smd_level_name(SMD_LEVEL_FINDING), "finding") == 0);
  EXPECT(strcmp(smd_level_name(SMD_LEVEL_WORTH_A_LOOK), "worth_a_look") == 0);
  EXPECT(smd_level_name(2)[0] == '\0' && smd_rule_status_name(5)[0] == '\0' &&
         smd_action_name(-1)[0] == '\0');
  EXPECT(smd_dtype_size(SMD_COMPLEX128) == 16 && smd_dtype_size(SMD_STRING) == 0);
  EXPECT(smd_dtype_size(-1) == 0 && smd_dtype_size(1000) == 0);
#define MAJOR SMD_VERSION_MAJOR
#define MINOR SMD_VERSION_MINOR
#define PATCH SMD_VERSION_PATCH
#if !SMD_VERSION_AT_LEAST(MAJOR, MINOR, PATCH) || !SMD_VERSION_AT_LEAST(MAJOR - 1, 99, 99) ||     \
    SMD_VERSION_AT_LEAST(MAJOR, MINOR, PATCH + 1) || SMD_VERSION_AT_LEAST(MAJOR, MINOR + 1, 0) || \
    SMD_VERSION_AT_LEAST(MAJOR + 1, 0, 0)
#error "SMD_VERSION_AT_LEAST compares wrongly"
#endif
  char version[40];
  snprintf(version, sizeof(version), "%d.%d.%d", MAJOR, MINOR, PATCH);
  EXPECT(strcmp(smd_version_string(), version) == 0 && smd_abi_level() == SMD_ABI_LEVEL);
}

static void configuration_file(void) {
  static const char *const path = "settings-test-hook.json";
  smd_hook_options *options = NULL;
  FILE *file = fopen(path, "w");
  EXPECT(file != NULL);
  fputs("{\"LocalPath\": \"somewhere\", \"HookParameters\": {\"save_interval\": 7}}", file);
  fclose(file);
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_OK(smd_hook_options_load(options, path));
  EXPECT_CODE(SMD_NOT_FOUND, smd_hook_options_load(options, "nowhere/hook.json"));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_hook_options_load(options, "/dev/null"));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_options_load(NULL, path));
  EXPECT(remove(path) == 0);
  smd_hook_options_free(options);
}

/* Failures that the environment causes are those that the comments list. */
static void environment(void) {
  const char *path = fresh_folder("loop");
  smd_trial_options *options = NULL;
  smd_trial *trial = NULL;
  smd_bucket *bucket = NULL;
  smd_step_file *file = NULL;
  EXPECT(setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "soon", 1) == 0);
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_trial_options_new(&options));
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_trial_new("run", NULL, &trial));
  EXPECT(unsetenv("SMDEBUG_TRIAL_WAIT_SECONDS") == 0);
  /* A link to itself cannot be opened. */
  EXPECT(symlink(path, path) == 0 && setenv("AWS_CONFIG_FILE", path, 1) == 0);
  EXPECT_CODE(SMD_IO, smd_trial_new("s3://bucket/run", NULL, &trial));
  EXPECT_CODE(SMD_IO, smd_bucket_open("bucket", NULL, &bucket));
  EXPECT_CODE(SMD_IO, smd_step_file_open("s3://bucket/run", 0, "worker_0", &file));
  EXPECT(unlink(path) == 0 && unsetenv("AWS_CONFIG_FILE") == 0);
  EXPECT(setenv("SMDEBUG_S3_ADDRESSING", "sideways", 1) == 0);
  EXPECT_CODE(SMD_INVALID_CONFIG, smd_step_file_open("s3://bucket/run", 0, "worker_0", &file));
  EXPECT(unsetenv("SMDEBUG_S3_ADDRESSING") == 0);
}

/* A refresh loads a trial first, so it fails as that does. */
static void refresh(void) {
  const char *path = fresh_folder("refresh");
  smd_trial_options *options = NULL;
  smd_trial *trial = NULL;
  EXPECT_OK(smd_trial_options_new(&options));
  EXPECT_OK(smd_trial_options_set(options, "wait_seconds", "0"));
  EXPECT_OK(smd_trial_new(path, options, &trial));
  EXPECT_CODE(SMD_MISSING_COLLECTIONS, smd_trial_refresh(trial));
  EXPECT_CODE(SMD_UNSUPPORTED, smd_trial_export_tensorboard(trial, "gs://bucket/board"));
  smd_trial_free(trial);
  smd_trial_options_free(options);
}

int main(void) {
  configuration_file();
  save_config();
  save_config_settings();
  reduction_config();
  collection();
  names();
  getters();
  environment();
  refresh();
  return 0;
}
