/* Panels of rules, while the scenario is recorded and of what was. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "c_runner.h"

static const char *const kActions[] = {"CONTINUE", "WARN", "STOP"};
static const char *const kStatuses[] = {"NO_ISSUE", "FINDING", "NO_TENSOR", "NOT_ENOUGH_DATA"};

static smd_action action_named(const char *name) {
  for (smd_action action = SMD_ACTION_CONTINUE; action <= SMD_ACTION_STOP; ++action) {
    if (strcmp(kActions[action], name) == 0) return action;
  }
  exit(1);
}

cJSON *name_of_action(smd_action action) { return cJSON_CreateString(kActions[action]); }

smd_error *panel_of(const cJSON *settings, smd_panel **panel) {
  const cJSON *rule;
  smd_error *error = smd_panel_new(member_text(settings, "profile"), panel);
  smd_save_config *saves = save_config_of(cJSON_GetObjectItem(settings, "save_every"));
  if (error == NULL) error = smd_panel_set_save_config(*panel, saves);
  smd_save_config_free(saves);
  cJSON_ArrayForEach(rule, member(settings, "rules")) {
    char *parameters = cJSON_PrintUnformatted(member(rule, "parameters"));
    if (error == NULL) {
      error = smd_panel_add(*panel, member_text(rule, "rule"), parameters,
                            action_named(member_text(rule, "action")));
    }
    cJSON_free(parameters);
  }
  return error;
}

static void add_number(cJSON *object, const char *name, double number) {
  cJSON *item = isnan(number) ? cJSON_CreateNull() : cJSON_CreateNumber(number);
  cJSON_AddItemToObject(object, name, item);
}

static cJSON *verdict_of(const smd_verdicts *list, size_t i) {
  cJSON *verdict = cJSON_CreateObject();
  cJSON_AddStringToObject(verdict, "rule", smd_verdicts_rule(list, i));
  cJSON_AddStringToObject(verdict, "status", kStatuses[smd_verdicts_status(list, i)]);
  cJSON_AddStringToObject(verdict, "action", kActions[smd_verdicts_action(list, i)]);
  cJSON_AddNumberToObject(verdict, "step", (double)smd_verdicts_step(list, i));
  cJSON_AddStringToObject(verdict, "mode", smd_mode_name(smd_verdicts_mode(list, i)));
  cJSON_AddNumberToObject(verdict, "mode_step", (double)smd_verdicts_mode_step(list, i));
  cJSON_AddStringToObject(verdict, "worker", smd_verdicts_worker(list, i));
  cJSON_AddStringToObject(verdict, "tensor", smd_verdicts_tensor(list, i));
  add_number(verdict, "value", smd_verdicts_value(list, i));
  add_number(verdict, "limit", smd_verdicts_limit(list, i));
  cJSON_AddStringToObject(verdict, "label", smd_verdicts_label(list, i));
  cJSON_AddStringToObject(verdict, "message", smd_verdicts_message(list, i));
  return verdict;
}

void add_verdicts(cJSON *list, smd_verdicts *verdicts) {
  for (size_t i = 0; i < smd_verdicts_count(verdicts); ++i) {
    cJSON_AddItemToArray(list, verdict_of(verdicts, i));
  }
  smd_verdicts_free(verdicts);
}
