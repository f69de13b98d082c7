/* Records the first half of the scenario. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_runner.h"

smd_save_config *save_config_of(const cJSON *every) {
  smd_save_config *config = NULL;
  const cJSON *mode;
  must(smd_save_config_new(&config));
  cJSON_ArrayForEach(mode, every) {
    must(smd_save_config_set(config, mode_named(mode->string), (int64_t)mode->valuedouble, 0, -1,
                             NULL, 0));
  }
  return config;
}

static void set_save_config(smd_collection *collection, const cJSON *every) {
  smd_save_config *config = save_config_of(every);
  must(smd_collection_set_save_config(collection, config));
  smd_save_config_free(config);
}

static void set_reductions(smd_collection *collection, const cJSON *settings) {
  smd_reduction_config *config = NULL;
  must(smd_reduction_config_new(&config));
  must(smd_reduction_config_add(config, member_text(settings, "reductions")));
  must(smd_reduction_config_set_shape(config, cJSON_IsTrue(member(settings, "shape"))));
  must(smd_collection_set_reduction_config(collection, config));
  smd_reduction_config_free(config);
}

static void add_collection(smd_hook_options *options, const cJSON *settings) {
  smd_collection *collection = NULL;
  const cJSON *regex;
  must(smd_collection_new(member_text(settings, "name"), &collection));
  cJSON_ArrayForEach(regex, member(settings, "regexes")) {
    must(smd_collection_include_regex(collection, regex->valuestring));
  }
  if (cJSON_HasObjectItem(settings, "save_every")) {
    set_save_config(collection, member(settings, "save_every"));
  }
  if (cJSON_HasObjectItem(settings, "reductions")) set_reductions(collection, settings);
  must(smd_hook_options_add_collection(options, collection));
  smd_collection_free(collection);
}

static void attach(smd_hook *hook, const cJSON *settings) {
  smd_rule_set *set = NULL;
  must(rule_set_of(settings, &set));
  must(smd_hook_attach(hook, set));
  smd_rule_set_free(set);
}

static smd_hook *hook_for(const cJSON *scenario, const char *out_dir, const char *worker) {
  smd_hook_options *options = NULL;
  smd_hook *hook = NULL;
  smd_save_config *config = save_config_of(member(scenario, "save_every"));
  const cJSON *each;
  must(smd_hook_options_new(&options));
  must(smd_hook_options_set(options, "out_dir", out_dir));
  must(smd_hook_options_set(options, "worker", worker));
  cJSON_ArrayForEach(each, member(scenario, "options")) {
    must(smd_hook_options_set(options, each->string, each->valuestring));
  }
  must(smd_hook_options_set_save_config(options, config));
  cJSON_ArrayForEach(each, member(scenario, "collections")) add_collection(options, each);
  must(smd_hook_new(options, &hook));
  smd_save_config_free(config);
  smd_hook_options_free(options);
  attach(hook, member(scenario, "attach"));
  return hook;
}

/* A tensor of the scenario, as a view that the library can borrow. */
typedef struct {
  smd_tensor_view view;
  int64_t shape[SMD_MAX_RANK];
  void *data;
} lent_tensor;

static void lend(const cJSON *tensor, const char *worker, lent_tensor *lent) {
  const smd_tensor_view empty = SMD_TENSOR_VIEW_INIT;
  const cJSON *each;
  lent->view = empty;
  lent->view.dtype = dtype_named(member_text(tensor, "dtype"));
  lent->view.shape = lent->shape;
  cJSON_ArrayForEach(each, member(tensor, "shape")) {
    lent->shape[lent->view.ndim++] = (int64_t)each->valuedouble;
  }
  if (lent->view.dtype == SMD_STRING) {
    const cJSON *strings = member(member(tensor, "strings"), worker);
    const char **texts = calloc((size_t)cJSON_GetArraySize(strings), sizeof *texts);
    size_t count = 0;
    cJSON_ArrayForEach(each, strings) texts[count++] = each->valuestring;
    lent->data = texts;
  } else {
    lent->data = bytes_of(member_text(member(tensor, "data"), worker));
  }
  lent->view.data = lent->data;
}

static void save_custom(smd_hook *hook, const cJSON *tensor, const lent_tensor *lent) {
  smd_strings *names = NULL;
  const cJSON *each;
  must(smd_strings_new(&names));
  cJSON_ArrayForEach(each, member(tensor, "collections")) {
    must(smd_strings_add(names, each->valuestring));
  }
  must(smd_hook_save_custom(hook, member_text(tensor, "name"), &lent->view, names));
  smd_strings_free(names);
}

static void save_scalar(smd_hook *hook, const cJSON *scalar) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  const double value = cJSON_GetNumberValue(member(scalar, "value"));
  const int64_t shape[] = {1};
  view.dtype = SMD_FLOAT64;
  view.shape = shape;
  view.ndim = 1;
  view.data = &value;
  must(smd_hook_save_scalar(hook, member_text(scalar, "name"), &view, 0));
}

static void record_step(smd_hook *hook, const cJSON *step, const char *worker) {
  lent_tensor lent;
  const cJSON *each;
  must(smd_hook_set_mode(hook, mode_named(member_text(step, "mode"))));
  must(smd_hook_begin_step(hook, NULL));
  cJSON_ArrayForEach(each, member(step, "tensors")) {
    lend(each, worker, &lent);
    must(smd_hook_save(hook, member_text(each, "name"), &lent.view));
    free(lent.data);
  }
  cJSON_ArrayForEach(each, cJSON_GetObjectItem(step, "scalars")) save_scalar(hook, each);
  cJSON_ArrayForEach(each, cJSON_GetObjectItem(step, "custom")) {
    lend(each, worker, &lent);
    save_custom(hook, each, &lent);
    free(lent.data);
  }
  must(smd_hook_end_step(hook));
}

/* Collects the findings and the action after a step. */
static void note_action(smd_hook *hook, cJSON *attached) {
  smd_findings *findings = NULL;
  cJSON_AddItemToArray(cJSON_GetObjectItem(attached, "actions"),
                       name_of_action(smd_hook_action(hook)));
  must(smd_hook_take_findings(hook, &findings));
  add_findings(cJSON_GetObjectItem(attached, "findings"), findings);
}

cJSON *record(const cJSON *scenario, const char *out_dir) {
  enum { kMostWorkers = 16 };
  smd_hook *hooks[kMostWorkers];
  const cJSON *workers = member(scenario, "workers");
  const int count = cJSON_GetArraySize(workers);
  const cJSON *step;
  cJSON *attached = cJSON_CreateObject();
  if (count > kMostWorkers) exit(1);
  for (int i = 0; i < count; ++i) {
    const char *worker = cJSON_GetArrayItem(workers, i)->valuestring;
    cJSON *said = cJSON_AddObjectToObject(attached, worker);
    cJSON_AddArrayToObject(said, "actions");
    cJSON_AddArrayToObject(said, "findings");
    hooks[i] = hook_for(scenario, out_dir, worker);
  }
  cJSON_ArrayForEach(step, member(scenario, "steps")) {
    for (int i = 0; i < count; ++i) {
      const char *worker = cJSON_GetArrayItem(workers, i)->valuestring;
      record_step(hooks[i], step, worker);
      note_action(hooks[i], cJSON_GetObjectItemCaseSensitive(attached, worker));
    }
  }
  for (int i = 0; i < count; ++i) {
    must(smd_hook_close(hooks[i]));
    smd_hook_free(hooks[i]);
  }
  return attached;
}
