/* Answers the queries of the scenario: one function for each call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_runner.h"

#define RETURN_IF_ERROR(call)          \
  do {                                 \
    smd_error *error_of_call = (call); \
    if (error_of_call != NULL) {       \
      return error_of_call;            \
    }                                  \
  } while (0)

/* The arguments of a query.  Missing fields have their defaults. */
typedef struct {
  const cJSON *query;
  const char *out_dir;
  smd_trial *trial;
  const cJSON *attached;
  smd_tensor *tensor;
  smd_mode mode;
  int64_t step;
  const char *worker;
} question;

typedef smd_error *(*answer_fn)(const question *ask, cJSON **value);

static cJSON *names_of(smd_strings *names) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < smd_strings_count(names); ++i) {
    cJSON_AddItemToArray(list, cJSON_CreateString(smd_strings_get(names, i)));
  }
  smd_strings_free(names);
  return list;
}

static cJSON *numbers_of(smd_integers *numbers) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < smd_integers_count(numbers); ++i) {
    cJSON_AddItemToArray(list, cJSON_CreateNumber((double)smd_integers_get(numbers, i)));
  }
  smd_integers_free(numbers);
  return list;
}

static smd_error *tensor_of(smd_value *value, cJSON **out) {
  smd_strings *strings = NULL;
  cJSON *shape = cJSON_CreateArray();
  *out = cJSON_CreateObject();
  for (int32_t i = 0; i < smd_value_ndim(value); ++i) {
    cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)smd_value_shape(value)[i]));
  }
  cJSON_AddStringToObject(*out, "dtype", smd_dtype_name(smd_value_dtype(value)));
  cJSON_AddItemToObject(*out, "shape", shape);
  if (smd_value_dtype(value) == SMD_STRING) {
    must(smd_value_strings(value, &strings));
    cJSON_AddItemToObject(*out, "strings", names_of(strings));
  } else {
    cJSON_AddItemToObject(*out, "data", hex_of(smd_value_data(value), smd_value_nbytes(value)));
  }
  smd_value_free(value);
  return NULL;
}

static smd_error *workers(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  RETURN_IF_ERROR(smd_trial_workers(ask->trial, &names));
  *value = names_of(names);
  return NULL;
}

static smd_error *collections(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  RETURN_IF_ERROR(smd_trial_collections(ask->trial, &names));
  *value = names_of(names);
  return NULL;
}

static smd_error *modes(const question *ask, cJSON **value) {
  smd_integers *found = NULL;
  RETURN_IF_ERROR(smd_trial_modes(ask->trial, &found));
  *value = cJSON_CreateArray();
  for (size_t i = 0; i < smd_integers_count(found); ++i) {
    const char *name = smd_mode_name((smd_mode)smd_integers_get(found, i));
    cJSON_AddItemToArray(*value, cJSON_CreateString(name));
  }
  smd_integers_free(found);
  return NULL;
}

static smd_error *steps(const question *ask, cJSON **value) {
  smd_integers *found = NULL;
  RETURN_IF_ERROR(smd_trial_steps(ask->trial, ask->mode, 0, &found));
  *value = numbers_of(found);
  return NULL;
}

static smd_error *tensor_names(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  smd_strings *regexes = NULL;
  smd_collection *collection = NULL;
  smd_error *error;
  const cJSON *each;
  const cJSON *name = cJSON_GetObjectItem(ask->query, "collection");
  if (cJSON_HasObjectItem(ask->query, "regexes")) must(smd_strings_new(&regexes));
  cJSON_ArrayForEach(each, cJSON_GetObjectItem(ask->query, "regexes")) {
    must(smd_strings_add(regexes, each->valuestring));
  }
  if (name != NULL) must(smd_trial_collection(ask->trial, name->valuestring, &collection));
  error = smd_trial_tensor_names(ask->trial, ask->step, ask->mode, regexes, collection, &names);
  smd_strings_free(regexes);
  smd_collection_free(collection);
  if (error == NULL) *value = names_of(names);
  return error;
}

static smd_error *recorded_names(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  RETURN_IF_ERROR(smd_trial_recorded_names(ask->trial, ask->step, ask->mode, &names));
  *value = names_of(names);
  return NULL;
}

static smd_error *mode_step(const question *ask, cJSON **value) {
  smd_mode mode;
  int64_t step;
  RETURN_IF_ERROR(smd_trial_mode_step(ask->trial, ask->step, &step, &mode));
  if (mode == SMD_MODE_ANY) {
    *value = cJSON_CreateNull();
    return NULL;
  }
  *value = cJSON_CreateArray();
  cJSON_AddItemToArray(*value, cJSON_CreateString(smd_mode_name(mode)));
  cJSON_AddItemToArray(*value, cJSON_CreateNumber((double)step));
  return NULL;
}

static smd_error *global_step(const question *ask, cJSON **value) {
  int64_t step;
  RETURN_IF_ERROR(smd_trial_global_step(ask->trial, ask->step, ask->mode, &step));
  *value = step < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)step);
  return NULL;
}

static smd_error *step_state(const question *ask, cJSON **value) {
  static const char *const names[] = {"UNAVAILABLE", "AVAILABLE", "NOT_YET"};
  smd_step_state state;
  RETURN_IF_ERROR(smd_trial_step_state(ask->trial, ask->step, ask->mode, &state));
  *value = cJSON_CreateString(names[state]);
  return NULL;
}

static smd_error *tensor_steps(const question *ask, cJSON **value) {
  smd_integers *found = NULL;
  RETURN_IF_ERROR(smd_tensor_steps(ask->tensor, ask->mode, 0, &found));
  *value = numbers_of(found);
  return NULL;
}

static smd_error *prev_steps(const question *ask, cJSON **value) {
  smd_integers *found = NULL;
  const int64_t count = member_number(ask->query, "count");
  RETURN_IF_ERROR(smd_tensor_prev_steps(ask->tensor, ask->step, ask->mode, count, &found));
  *value = numbers_of(found);
  return NULL;
}

static smd_error *tensor_workers(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  RETURN_IF_ERROR(smd_tensor_workers(ask->tensor, ask->step, ask->mode, &names));
  *value = names_of(names);
  return NULL;
}

static smd_error *value_at(const question *ask, cJSON **value) {
  smd_value *found = NULL;
  RETURN_IF_ERROR(smd_tensor_value(ask->tensor, ask->step, ask->mode, ask->worker, &found));
  return tensor_of(found, value);
}

static smd_error *reduction(const question *ask, cJSON **value) {
  smd_value *found = NULL;
  RETURN_IF_ERROR(smd_tensor_reduction(ask->tensor, ask->step, ask->mode, ask->worker,
                                       member_text(ask->query, "reduction"),
                                       cJSON_IsTrue(member(ask->query, "absolute")), &found));
  return tensor_of(found, value);
}

static smd_error *reductions(const question *ask, cJSON **value) {
  smd_strings *names = NULL;
  RETURN_IF_ERROR(smd_tensor_reductions(ask->tensor, ask->step, ask->mode, ask->worker, &names));
  *value = names_of(names);
  return NULL;
}

static smd_error *shape(const question *ask, cJSON **value) {
  smd_integers *found = NULL;
  RETURN_IF_ERROR(smd_tensor_shape(ask->tensor, ask->step, ask->mode, ask->worker, &found));
  *value = numbers_of(found);
  return NULL;
}

/* Returns the steps with findings of one rule, without repetitions. */
static smd_error *rule(const question *ask, cJSON **value) {
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_error *error;
  int64_t last = -1;
  char *parameters = cJSON_PrintUnformatted(member(ask->query, "parameters"));
  must(smd_rule_set_new(NULL, &set));
  must(smd_rule_set_add(set, member_text(ask->query, "rule"), parameters, SMD_ACTION_WARN));
  error = smd_rule_set_evaluate(set, ask->trial, 0, -1, 0, &found);
  cJSON_free(parameters);
  smd_rule_set_free(set);
  *value = cJSON_CreateArray();
  for (size_t i = 0; i < smd_findings_count(found); ++i) {
    const int64_t step = smd_findings_get(found, i)->step;
    if (step != last) cJSON_AddItemToArray(*value, cJSON_CreateNumber((double)step));
    last = step;
  }
  smd_findings_free(found);
  return error;
}

/* Evaluates a rule set over the whole trial. */
static smd_error *evaluated(const question *ask, smd_rule_set **set, smd_findings **found) {
  smd_error *error = rule_set_of(member(ask->query, "rule_set"), set);
  if (error != NULL) return error;
  return smd_rule_set_evaluate(*set, ask->trial, 0, -1, SMD_EVALUATE_FOLLOW, found);
}

static smd_error *findings(const question *ask, cJSON **value) {
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_error *error = evaluated(ask, &set, &found);
  smd_rule_set_free(set);
  *value = cJSON_CreateArray();
  add_findings(*value, found);
  return error;
}

static smd_error *results(const question *ask, cJSON **value) {
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_rule_results *list = NULL;
  smd_error *error = evaluated(ask, &set, &found);
  if (error == NULL) error = smd_rule_set_results(set, &list);
  smd_rule_set_free(set);
  smd_findings_free(found);
  *value = cJSON_CreateArray();
  add_results(*value, list);
  return error;
}

static smd_error *diagnosis(const question *ask, cJSON **value) {
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_diagnosis *causes = NULL;
  smd_error *error = evaluated(ask, &set, &found);
  if (error == NULL) error = smd_rule_set_diagnose(set, &causes);
  smd_rule_set_free(set);
  smd_findings_free(found);
  *value = cJSON_CreateArray();
  add_causes(*value, causes);
  return error;
}

static smd_error *attached(const question *ask, cJSON **value) {
  *value = cJSON_Duplicate(member(ask->attached, ask->worker), 1);
  return NULL;
}

static smd_error *wait_for(const question *ask, cJSON **value) {
  *value = cJSON_CreateNull();
  return smd_trial_wait_for_step(ask->trial, ask->step, ask->mode, -1);
}

static smd_error *include(const question *ask, cJSON **value) {
  smd_collection *collection = NULL;
  smd_error *error;
  must(smd_collection_new("c", &collection));
  error = smd_collection_include_regex(collection, member_text(ask->query, "regex"));
  smd_collection_free(collection);
  *value = cJSON_CreateNull();
  return error;
}

static smd_error *hook(const question *ask, cJSON **value) {
  smd_hook_options *options = NULL;
  smd_hook *made = NULL;
  smd_error *error = NULL;
  const cJSON *each;
  must(smd_hook_options_new(&options));
  must(smd_hook_options_set(options, "worker", "worker_0"));
  cJSON_ArrayForEach(each, member(ask->query, "options")) {
    char *setting = replaced(each->valuestring, "<trial>", ask->out_dir);
    if (error == NULL) error = smd_hook_options_set(options, each->string, setting);
    free(setting);
  }
  if (error == NULL) error = smd_hook_new(options, &made);
  smd_hook_options_free(options);
  smd_hook_free(made);
  *value = cJSON_CreateNull();
  return error;
}

static smd_error *open_trial(const question *ask, cJSON **value) {
  smd_trial_options *options = NULL;
  smd_trial *trial = NULL;
  smd_error *error;
  const cJSON *each;
  char *path = replaced(member_text(ask->query, "path"), "<trial>", ask->out_dir);
  must(smd_trial_options_new(&options));
  cJSON_ArrayForEach(each, member(ask->query, "options")) {
    must(smd_trial_options_set(options, each->string, each->valuestring));
  }
  error = smd_trial_open(path, options, &trial);
  smd_trial_options_free(options);
  smd_trial_free(trial);
  free(path);
  *value = cJSON_CreateNull();
  return error;
}

static const struct {
  const char *call;
  answer_fn function;
} answers[] = {
    {"workers", workers},
    {"collections", collections},
    {"modes", modes},
    {"steps", steps},
    {"tensor_names", tensor_names},
    {"recorded_names", recorded_names},
    {"mode_step", mode_step},
    {"global_step", global_step},
    {"step_state", step_state},
    {"tensor_steps", tensor_steps},
    {"prev_steps", prev_steps},
    {"tensor_workers", tensor_workers},
    {"value", value_at},
    {"reduction", reduction},
    {"reductions", reductions},
    {"shape", shape},
    {"rule", rule},
    {"findings", findings},
    {"results", results},
    {"diagnosis", diagnosis},
    {"attached", attached},
    {"wait", wait_for},
    {"include", include},
    {"hook", hook},
    {"open", open_trial},
};

static const char *optional_text(const cJSON *query, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(query, name));
}

static answer_fn function_of(const char *call) {
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; ++i) {
    if (strcmp(answers[i].call, call) == 0) return answers[i].function;
  }
  fprintf(stderr, "no call is named '%s'\n", call);
  exit(1);
}

smd_error *answer(smd_trial *trial, const cJSON *said, const char *out_dir, const cJSON *query,
                  cJSON **value) {
  question ask = {query, out_dir, trial, said, NULL, SMD_MODE_GLOBAL, -1, NULL};
  smd_error *error = NULL;
  const char *mode = optional_text(query, "mode");
  const char *tensor = optional_text(query, "tensor");
  if (mode != NULL) ask.mode = mode_named(mode);
  if (cJSON_HasObjectItem(query, "step")) ask.step = member_number(query, "step");
  ask.worker = optional_text(query, "worker");
  if (tensor != NULL) error = smd_trial_tensor(trial, tensor, &ask.tensor);
  if (error == NULL) error = function_of(member_text(query, "call"))(&ask, value);
  smd_tensor_free(ask.tensor);
  if (error != NULL) {
    cJSON_Delete(*value);
    *value = NULL;
  }
  return error;
}
