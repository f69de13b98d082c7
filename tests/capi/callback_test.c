/* Functions of the caller: rules, log lines, errors made by hand. */
#include <math.h>
#include <stddef.h>

#include "expect.h"

static int destroyed = 0;
static void destroy(void *self) {
  (void)self;
  ++destroyed;
}

/* ---- rules ---- */

typedef struct {
  int calls;
  int64_t at;     /* the step at which it returns ... */
  int32_t answer; /* ... this, with ... */
  smd_code code;  /* ... an error of this code, if any */
  int finds;      /* ... and this number of findings */
  smd_rule_set *set;
} script;

/* A member that the library does not know is not zero. */
static void refuse_newer_finding(smd_findings *findings) {
  struct {
    smd_finding known;
    int64_t later;
  } newer = {SMD_FINDING_INIT, 1};
  newer.known.struct_size = sizeof newer;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_findings_add(findings, &newer.known));
}

static int32_t evaluate(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                        smd_error **error) {
  script *own = self;
  smd_tensor *tensor = NULL;
  smd_rule_results *results = NULL;
  smd_findings *none = NULL;
  smd_finding finding = SMD_FINDING_INIT;
  ++own->calls;
  EXPECT(trial != NULL && *error == NULL);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  smd_tensor_free(tensor);
  /* No lock is held. */
  EXPECT_OK(smd_rule_set_results(own->set, &results));
  EXPECT(smd_rule_results_count(results) == 1);
  smd_rule_results_free(results);
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_add(own->set, "DeadRelu", NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_reset(own->set));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_evaluate(own->set, trial, 0, -1, 0, &none));
  if (step != own->at) return SMD_RULE_CONTINUE;
  finding.tensor = "w";
  finding.message = "as told";
  finding.value = 7;
  for (int i = 0; i < own->finds; ++i) EXPECT_OK(smd_findings_add(findings, &finding));
  finding.struct_size = 1;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_findings_add(findings, &finding));
  refuse_newer_finding(findings);
  if (own->code != SMD_OK) *error = smd_error_new(own->code, "as told");
  return own->answer;
}

/* Evaluates a rule over steps 0 to 3; returns how often it was called. */
static int run(smd_trial *trial, script own, smd_code expected, size_t expected_count) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  smd_findings *found = NULL;
  const smd_finding *first;
  smd_error *error;
  const int before = destroyed;
  ops.invoke = evaluate;
  ops.destroy = destroy;
  EXPECT_OK(smd_rule_set_new("aws", &own.set));
  EXPECT_OK(smd_rule_set_add_function(own.set, "Own", &ops, &own, SMD_ACTION_STOP));
  error = smd_rule_set_evaluate(own.set, trial, 0, -1, SMD_EVALUATE_FOLLOW, &found);
  if (own.code != SMD_OK && own.code == expected) {
    EXPECT(strcmp(smd_error_message(error), "as told") == 0); /* returned as it is */
  }
  EXPECT_CODE(expected, error);
  EXPECT(smd_findings_count(found) == expected_count);
  first = smd_findings_get(found, 0);
  EXPECT((first != NULL) == (expected_count > 0));
  if (first != NULL) {
    EXPECT(strcmp(first->rule, "Own") == 0 && strcmp(first->message, "as told") == 0);
    EXPECT(first->struct_size == sizeof *first && first->step == own.at && first->value == 7);
    EXPECT(first->action == SMD_ACTION_STOP && isnan(first->limit) && first->check[0] == '\0');
    smd_finding more = SMD_FINDING_INIT;
    EXPECT_CODE(SMD_WRONG_STATE, smd_findings_add(found, &more));
  }
  smd_findings_free(found);
  EXPECT(destroyed == before);
  smd_rule_set_free(own.set);
  EXPECT(destroyed == before + 1);
  return own.calls;
}

static void rules(const char *path) {
  smd_hook *hook = open_hook(path);
  record_steps(hook, 4);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  smd_trial *trial = open_trial(path);
  EXPECT(run(trial, (script){0, -1, 0, SMD_OK, 0, NULL}, SMD_OK, 0) == 4);
  EXPECT(run(trial, (script){0, 1, SMD_RULE_CONTINUE, SMD_OK, 1, NULL}, SMD_OK, 1) == 4);
  EXPECT(run(trial, (script){0, 1, SMD_RULE_CONTINUE, SMD_OK, 2, NULL}, SMD_OK, 2) == 4);
  EXPECT(run(trial, (script){0, 1, SMD_RULE_FINISHED, SMD_OK, 1, NULL}, SMD_OK, 1) == 2);
  EXPECT(run(trial, (script){0, 1, -1, SMD_OK, 0, NULL}, SMD_CALLBACK_FAILED, 0) == 2);
  EXPECT(run(trial, (script){0, 1, -1, SMD_IO, 1, NULL}, SMD_IO, 1) == 2);
  static const smd_code skipped[] = {SMD_STEP_UNAVAILABLE, SMD_TENSOR_UNAVAILABLE,
                                     SMD_VALUE_UNAVAILABLE, SMD_SHAPE_UNAVAILABLE};
  for (size_t i = 0; i < sizeof skipped / sizeof *skipped; ++i) {
    EXPECT(run(trial, (script){0, 1, -1, skipped[i], 1, NULL}, SMD_OK, 1) == 4);
  }
  static const smd_code passed_on[] = {SMD_STEP_NOT_YET,   SMD_NO_MORE_DATA, SMD_TIMEOUT,
                                       SMD_WORKER_UNKNOWN, SMD_CANCELLED,    SMD_CORRUPT_DATA};
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; ++i) {
    EXPECT(run(trial, (script){0, 1, -1, passed_on[i], 1, NULL}, passed_on[i], 1) == 2);
  }
  /* An error with a result that is no failure is freed. */
  EXPECT(run(trial, (script){0, 1, SMD_RULE_CONTINUE, SMD_IO, 1, NULL}, SMD_OK, 1) == 4);
  EXPECT(run(trial, (script){0, 1, 77, SMD_OK, 0, NULL}, SMD_CALLBACK_FAILED, 0) == 2);
  smd_trial_free(trial);
}

/* ---- levels ---- */

/* Reports as a caller does that was built before levels, and in each level. */
static int32_t find_levels(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                           smd_error **error) {
  smd_finding finding = SMD_FINDING_INIT;
  (void)self, (void)trial, (void)error;
  finding.action = SMD_ACTION_STOP;
  finding.level = SMD_LEVEL_WORTH_A_LOOK;
  EXPECT_OK(smd_findings_add(findings, &finding));
  finding.level = 2;
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_findings_add(findings, &finding));
  if (step < 2) return SMD_RULE_CONTINUE;
  finding.struct_size = offsetof(smd_finding, level);
  EXPECT_OK(smd_findings_add(findings, &finding));
  return SMD_RULE_FINISHED;
}

static void levels(const char *path) {
  smd_trial *trial = open_trial(path);
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_rule_results *results = NULL;
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  ops.invoke = find_levels;
  EXPECT_OK(smd_rule_set_new(NULL, &set));
  EXPECT_OK(smd_rule_set_add_function(set, "Own", &ops, NULL, SMD_ACTION_STOP));
  EXPECT_OK(smd_rule_set_evaluate(set, trial, 0, 2, SMD_EVALUATE_STOP_AT_FINDING, &found));
  EXPECT(smd_findings_count(found) == 2);
  EXPECT(smd_findings_get(found, 0)->level == SMD_LEVEL_WORTH_A_LOOK);
  EXPECT(smd_findings_get(found, 0)->action == SMD_ACTION_CONTINUE);
  smd_findings_free(found);
  EXPECT_OK(smd_rule_set_results(set, &results));
  EXPECT(smd_rule_results_get(results, 0)->status == SMD_RULE_WORTH_A_LOOK);
  EXPECT(smd_rule_results_get(results, 0)->finding_count == 0);
  EXPECT(smd_rule_results_get(results, 0)->look_count == 2);
  EXPECT(smd_rule_results_get(results, 0)->first->step == 0);
  smd_rule_results_free(results);
  EXPECT_CODE(SMD_RULE_CONDITION_MET,
              smd_rule_set_evaluate(set, trial, 0, -1, SMD_EVALUATE_STOP_AT_FINDING, &found));
  EXPECT(smd_findings_count(found) == 2);
  EXPECT(smd_findings_get(found, 1)->level == SMD_LEVEL_FINDING);
  EXPECT(smd_findings_get(found, 1)->action == SMD_ACTION_STOP);
  smd_findings_free(found);
  EXPECT_OK(smd_rule_set_results(set, &results));
  EXPECT(smd_rule_results_get(results, 0)->status == SMD_RULE_HAS_FINDINGS);
  EXPECT(smd_rule_results_get(results, 0)->finding_count == 1);
  EXPECT(smd_rule_results_get(results, 0)->look_count == 3);
  EXPECT(smd_rule_results_get(results, 0)->first->step == 2);
  smd_rule_results_free(results);
  smd_rule_set_free(set);
  smd_trial_free(trial);
}

/* ---- one set, one job ---- */

static int32_t find_nothing(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                            smd_error **error) {
  (void)self, (void)trial, (void)step, (void)findings, (void)error;
  return SMD_RULE_CONTINUE;
}

static void one_job(const char *path) {
  smd_trial *first = open_trial(path);
  smd_trial *second = open_trial(path);
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  char other[300];
  ops.invoke = find_nothing;
  EXPECT_OK(smd_rule_set_new("calibrated", &set));
  EXPECT_OK(smd_rule_set_add(set, "VanishingGradient", NULL, SMD_ACTION_WARN));
  EXPECT_OK(smd_rule_set_evaluate(set, first, 0, -1, 0, &found));
  smd_findings_free(found);
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_evaluate(set, second, 0, -1, 0, &found));
  EXPECT(found == NULL);
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_rule_set_evaluate(set, first, 0, -1, 64, &found));
  snprintf(other, sizeof other, "%s/other", path);
  smd_hook *hook = open_hook(other);
  EXPECT_CODE(SMD_WRONG_STATE, smd_hook_attach(hook, set));
  EXPECT_OK(smd_rule_set_reset(set));
  EXPECT_OK(smd_hook_attach(hook, set));
  EXPECT_OK(smd_hook_attach(hook, set));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_evaluate(set, second, 0, -1, 0, &found));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_reset(set));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_add(set, "DeadRelu", NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_WRONG_STATE, smd_rule_set_set_save_config(set, NULL));
  smd_rule_set_free(set);
  /* A function reads a trial. */
  EXPECT_OK(smd_rule_set_new("aws", &set));
  EXPECT_OK(smd_rule_set_add_function(set, "Own", &ops, NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_INVALID_ARGUMENT, smd_hook_attach(hook, set));
  smd_rule_set_free(set);
  smd_hook_free(hook);
  smd_trial_free(first);
  smd_trial_free(second);
}

/* ---- the list of built-in rules ---- */

static void builtin_rules(void) {
  const size_t count = smd_builtin_rule_count();
  EXPECT(count == 49 && smd_builtin_rule(count) == NULL);
  for (size_t i = 0; i < count; ++i) {
    const smd_rule_info *info = smd_builtin_rule(i);
    EXPECT(info->struct_size == sizeof *info && info == smd_builtin_rule(i));
    EXPECT(info->name[0] != '\0' && info->summary[0] != '\0');
    for (size_t k = 0; k < info->parameter_count; ++k) {
      const smd_rule_parameter *each = info->parameters[k];
      EXPECT(each->struct_size == sizeof *each && each->name[0] != '\0');
      EXPECT(strlen(each->name) < 40 && strlen(each->aws) < 300 && strlen(each->calibrated) < 300);
      EXPECT(strlen(each->meaning) < 300);
    }
  }
  EXPECT(strcmp(smd_builtin_rule(0)->name, "VanishingGradient") == 0);
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
  EXPECT(lines == 1 && strstr(last_line, "already records here") != NULL);
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
  levels(path);
  one_job(path);
  builtin_rules();
  remove_folder(path);
  logs(path);
  remove_folder(path);
  errors();
  return 0;
}
