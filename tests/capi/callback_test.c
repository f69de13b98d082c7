/* Functions of the caller: rules, log lines, errors made by hand. */
#include "expect.h"

static int destroyed = 0;
static void destroy(void *self) {
  (void)self;
  ++destroyed;
}

/* ---- rules ---- */

typedef struct {
  int judged;
  int64_t at;     /* the step at which it answers ... */
  int32_t answer; /* ... this, with ... */
  smd_code code;  /* ... an error of this code, if any */
} script;

static int32_t judge(void *self, smd_trial *trial, int64_t step, smd_error **error) {
  script *own = self;
  smd_tensor *tensor = NULL;
  ++own->judged;
  EXPECT(trial != NULL && *error == NULL);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  smd_tensor_free(tensor);
  if (step != own->at) return SMD_RULE_NO_FINDING;
  if (own->code != SMD_OK) *error = smd_error_new(own->code, "as told");
  return own->answer;
}

/* Runs a rule over steps 0 to 3; returns how many steps it judged. */
static int run(smd_trial *trial, script *own, smd_code expected, size_t findings_expected) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  smd_rule *rule = NULL;
  smd_steps *findings = NULL;
  const int before = destroyed;
  ops.invoke = judge;
  ops.destroy = destroy;
  EXPECT_OK(smd_rule_new("Own", &ops, own, &rule));
  EXPECT_CODE(expected, smd_rule_run(rule, trial, 0, -1, 0, &findings));
  EXPECT(smd_steps_count(findings) == findings_expected);
  smd_steps_free(findings);
  EXPECT(destroyed == before);
  smd_rule_free(rule);
  EXPECT(destroyed == before + 1);
  return own->judged;
}

static void rules(const char *path) {
  smd_hook *hook = open_hook(path);
  record_steps(hook, 4);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT(run(trial, &(script){0, -1, 0, SMD_OK}, SMD_OK, 0) == 4);
  EXPECT(run(trial, &(script){0, 1, SMD_RULE_FINDING, SMD_OK}, SMD_OK, 1) == 4);
  EXPECT(run(trial, &(script){0, 1, SMD_RULE_FINDING_AND_END, SMD_OK}, SMD_OK, 1) == 2);
  EXPECT(run(trial, &(script){0, 1, -1, SMD_OK}, SMD_CALLBACK_FAILED, 0) == 2);
  EXPECT(run(trial, &(script){0, 1, -1, SMD_IO}, SMD_IO, 0) == 2);
  EXPECT(run(trial, &(script){0, 1, -1, SMD_VALUE_UNAVAILABLE}, SMD_OK, 0) == 4);
  EXPECT(run(trial, &(script){0, 1, 77, SMD_OK}, SMD_CALLBACK_FAILED, 0) == 2);
  smd_trial_free(trial);
}

/* ---- log lines ---- */

static int lines = 0;
static char last_line[500];

static void take_line(void *user_data, smd_log_level level, const char *message) {
  EXPECT(user_data == &lines && level >= SMD_LOG_ERROR && level <= SMD_LOG_DEBUG);
  ++lines;
  snprintf(last_line, sizeof last_line, "%s", message);
}

static void logs(const char *path) {
  smd_hook_options *options = NULL;
  smd_hook *first = NULL;
  smd_hook *second = NULL;
  destroyed = 0;
  EXPECT_OK(smd_hook_options_new(&options));
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_hook_options_set_log(options, 99, take_line, &lines, destroy));
  EXPECT(destroyed == 1);
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_hook_options_set_log(NULL, SMD_LOG_INFO, take_line, &lines, destroy));
  EXPECT(destroyed == 2);
  EXPECT_CODE(SMD_INVALID_ARGUMENT,
              smd_hook_options_set_log(options, SMD_LOG_INFO, NULL, &lines, destroy));
  EXPECT(destroyed == 3);
  EXPECT_OK(smd_hook_options_set(options, "out_dir", path));
  EXPECT_OK(smd_hook_options_set(options, "save_all", "true"));
  EXPECT_OK(smd_hook_new(options, &first));
  EXPECT_OK(smd_hook_options_set_log(options, SMD_LOG_WARNING, take_line, &lines, destroy));
  EXPECT_OK(smd_hook_new(options, &second));
  smd_hook_options_free(options);
  record_steps(first, 1);
  EXPECT_OK(smd_hook_flush(first, 5000));
  EXPECT(lines == 0);
  /* The other has the claim. */
  record_steps(second, 1);
  EXPECT(lines == 1 && strstr(last_line, "another process already records here") != NULL);
  EXPECT(smd_hook_is_recording(first) == 1 && smd_hook_is_recording(second) == 0);
  EXPECT(destroyed == 3);
  smd_hook_free(second);
  EXPECT(destroyed == 4);
  smd_hook_free(first);
}

/* ---- errors ---- */

static void errors(void) {
  smd_error *error = smd_error_new(SMD_STEP_NOT_YET, "a message");
  EXPECT(smd_error_code(error) == SMD_STEP_NOT_YET && smd_error_is_retryable(error) == 1);
  EXPECT(strcmp(smd_error_message(error), "a message") == 0);
  EXPECT(smd_error_detail(error, "step") == NULL && smd_error_detail(error, NULL) == NULL);
  smd_error_free(error);
  for (smd_code code = -1; code < 100; ++code) {
    error = smd_error_new(code, NULL);
    EXPECT(error != NULL && smd_error_message(error) != NULL);
    const int is_known = code != SMD_OK && strcmp(smd_code_name(code), "UNKNOWN") != 0;
    EXPECT(smd_error_code(error) == (is_known ? code : SMD_CALLBACK_FAILED));
    smd_error_free(error);
  }
  EXPECT(strcmp(smd_code_name(SMD_RULE_CONDITION_MET), "RULE_CONDITION_MET") == 0);
  EXPECT(strcmp(smd_code_name(12345), "UNKNOWN") == 0);
  error = smd_require_abi(SMD_ABI_LEVEL + 7);
  EXPECT(strcmp(smd_error_message(error),
                "this library offers ABI 1.0, the caller was built for 1.7") == 0);
  smd_error_free(error);
  EXPECT_CODE(SMD_ABI_MISMATCH, smd_require_abi(2U << 16));
  EXPECT_CODE(SMD_ABI_MISMATCH, smd_require_abi(0));
}

int main(void) {
  const char *path = fresh_folder("callback");
  rules(path);
  remove_folder(path);
  logs(path);
  remove_folder(path);
  errors();
  return 0;
}
