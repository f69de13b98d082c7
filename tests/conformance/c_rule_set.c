/* Rule sets, while the scenario is recorded and over the stored trial. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "c_runner.h"

static const char *const kActions[] = {"CONTINUE", "WARN", "STOP"};
static const char *const kStatuses[] = {"PASSED", "HAS_FINDINGS", "NO_TENSORS", "NOT_ENOUGH_DATA",
                                        "WORTH_A_LOOK"};
static const char *const kLevels[] = {"FINDING", "WORTH_A_LOOK"};

static smd_action action_named(const char *name) {
  for (smd_action action = SMD_ACTION_CONTINUE; action <= SMD_ACTION_STOP; ++action) {
    if (strcmp(kActions[action], name) == 0) return action;
  }
  exit(1);
}

cJSON *name_of_action(smd_action action) { return cJSON_CreateString(kActions[action]); }

/* Reports what README.md says. */
static smd_error *report_saved(const cJSON *rule, int64_t step, smd_findings *findings) {
  smd_finding saved = SMD_FINDING_INIT;
  smd_finding place = SMD_FINDING_INIT;
  smd_finding look = SMD_FINDING_INIT;
  smd_error *error;
  saved.message = "it was saved";
  place.tensor = member_text(rule, "tensor");
  place.check = "place";
  place.worker = "worker_1";
  place.message = "it has a step";
  place.action = SMD_ACTION_WARN;
  place.value = (double)step;
  place.limit = 0.5;
  look.message = "it is large";
  look.action = SMD_ACTION_STOP;
  look.level = SMD_LEVEL_WORTH_A_LOOK;
  error = smd_findings_add(findings, &saved);
  if (error == NULL) error = smd_findings_add(findings, &place);
  return error != NULL ? error : smd_findings_add(findings, &look);
}

/* A rule: finds the steps at which its tensor was saved. */
static int32_t find_saved(void *rule, smd_trial *trial, int64_t step, smd_findings *findings,
                          smd_error **error) {
  const cJSON *until = cJSON_GetObjectItem(rule, "until");
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  *error = smd_trial_tensor(trial, member_text(rule, "tensor"), &tensor);
  if (*error == NULL) *error = smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, NULL, &value);
  if (*error == NULL) *error = report_saved(rule, step, findings);
  smd_value_free(value);
  smd_tensor_free(tensor);
  if (*error != NULL) return -1;
  return until != NULL && until->valueint == step ? SMD_RULE_FINISHED : SMD_RULE_CONTINUE;
}

static smd_error *add_rule(smd_rule_set *set, cJSON *rule) {
  const smd_action action = action_named(member_text(rule, "action"));
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  smd_error *error;
  char *parameters;
  if (cJSON_HasObjectItem(rule, "function")) {
    ops.invoke = find_saved;
    return smd_rule_set_add_function(set, member_text(rule, "function"), &ops, rule, action);
  }
  parameters = cJSON_PrintUnformatted(member(rule, "parameters"));
  error = smd_rule_set_add(set, member_text(rule, "rule"), parameters, action);
  cJSON_free(parameters);
  return error;
}

smd_error *rule_set_of(const cJSON *settings, smd_rule_set **set) {
  cJSON *rule;
  smd_error *error = smd_rule_set_new(member_text(settings, "profile"), set);
  smd_save_config *saves = save_config_of(cJSON_GetObjectItem(settings, "save_every"));
  if (error == NULL) error = smd_rule_set_set_save_config(*set, saves);
  smd_save_config_free(saves);
  cJSON_ArrayForEach(rule, member(settings, "rules")) {
    if (error == NULL) error = add_rule(*set, rule);
  }
  return error;
}

static void add_number(cJSON *object, const char *name, double number) {
  cJSON *item = isnan(number) ? cJSON_CreateNull() : cJSON_CreateNumber(number);
  cJSON_AddItemToObject(object, name, item);
}

static cJSON *finding_of(const smd_finding *from) {
  cJSON *finding = cJSON_CreateObject();
  cJSON_AddStringToObject(finding, "rule", from->rule);
  cJSON_AddStringToObject(finding, "check", from->check);
  cJSON_AddStringToObject(finding, "tensor", from->tensor);
  cJSON_AddStringToObject(finding, "worker", from->worker);
  cJSON_AddStringToObject(finding, "message", from->message);
  cJSON_AddNumberToObject(finding, "step", (double)from->step);
  cJSON_AddStringToObject(finding, "mode", smd_mode_name(from->mode));
  cJSON_AddNumberToObject(finding, "mode_step", (double)from->mode_step);
  cJSON_AddStringToObject(finding, "action", kActions[from->action]);
  add_number(finding, "value", from->value);
  add_number(finding, "limit", from->limit);
  cJSON_AddStringToObject(finding, "level", kLevels[from->level]);
  return finding;
}

static cJSON *result_of(const smd_rule_result *from) {
  cJSON *result = cJSON_CreateObject();
  cJSON_AddStringToObject(result, "rule", from->rule);
  cJSON_AddStringToObject(result, "status", kStatuses[from->status]);
  cJSON_AddNumberToObject(result, "finding_count", (double)from->finding_count);
  cJSON_AddNumberToObject(result, "look_count", (double)from->look_count);
  cJSON_AddStringToObject(result, "message", from->message);
  cJSON_AddItemToObject(result, "first",
                        from->first == NULL ? cJSON_CreateNull() : finding_of(from->first));
  return result;
}

void add_findings(cJSON *list, smd_findings *findings) {
  for (size_t i = 0; i < smd_findings_count(findings); ++i) {
    cJSON_AddItemToArray(list, finding_of(smd_findings_get(findings, i)));
  }
  smd_findings_free(findings);
}

void add_results(cJSON *list, smd_rule_results *results) {
  for (size_t i = 0; i < smd_rule_results_count(results); ++i) {
    cJSON_AddItemToArray(list, result_of(smd_rule_results_get(results, i)));
  }
  smd_rule_results_free(results);
}

static cJSON *evidence_of(const smd_evidence *from) {
  cJSON *evidence = cJSON_CreateObject();
  cJSON_AddItemToObject(evidence, "first", finding_of(from->first));
  cJSON_AddNumberToObject(evidence, "finding_count", (double)from->finding_count);
  cJSON_AddNumberToObject(evidence, "tensor_count", (double)from->tensor_count);
  return evidence;
}

static cJSON *cause_of(const smd_cause *from) {
  cJSON *cause = cJSON_CreateObject();
  cJSON *evidence = cJSON_AddArrayToObject(cause, "evidence");
  cJSON *missing = cJSON_AddArrayToObject(cause, "missing");
  cJSON_AddStringToObject(cause, "id", from->id);
  cJSON_AddStringToObject(cause, "title", from->title);
  cJSON_AddNumberToObject(cause, "confidence", from->confidence);
  cJSON_AddStringToObject(cause, "advice", from->advice);
  cJSON_AddStringToObject(cause, "link", from->link);
  for (size_t i = 0; i < from->evidence_count; ++i) {
    cJSON_AddItemToArray(evidence, evidence_of(&from->evidence[i]));
  }
  for (size_t i = 0; i < from->missing_count; ++i) {
    cJSON_AddItemToArray(missing, cJSON_CreateString(from->missing[i]));
  }
  return cause;
}

void add_causes(cJSON *list, smd_diagnosis *causes) {
  for (size_t i = 0; i < smd_diagnosis_count(causes); ++i) {
    cJSON_AddItemToArray(list, cause_of(smd_diagnosis_get(causes, i)));
  }
  smd_diagnosis_free(causes);
}
