/* Handles share what they need: any order of freeing is right, and a value outlives all. */
#include "expect.h"

/* A hook keeps the rules of a set that it is attached to; findings outlive both. */
static void free_rule_sets_first(void) {
  const char *path = fresh_folder("rule_set");
  smd_hook *hook = open_hook(path);
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  const double gradient = 1e-9;
  smd_rule_set *set = NULL;
  smd_findings *found = NULL;
  smd_rule_results *results = NULL;
  EXPECT_OK(smd_rule_set_new("aws", &set));
  EXPECT_OK(smd_rule_set_add(set, "VanishingGradient", NULL, SMD_ACTION_STOP));
  EXPECT_OK(smd_hook_attach(hook, set));
  smd_rule_set_free(set);
  view.data = &gradient;
  view.dtype = SMD_FLOAT64;
  EXPECT_OK(smd_hook_begin_step(hook, NULL));
  EXPECT_OK(smd_hook_save(hook, "gradient/w", &view));
  EXPECT_OK(smd_hook_end_step(hook));
  EXPECT(smd_hook_action(hook) == SMD_ACTION_STOP);
  EXPECT_OK(smd_hook_take_findings(hook, &found));
  EXPECT_OK(smd_rule_set_new("aws", &set));
  EXPECT_OK(smd_hook_attach(hook, set));
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  EXPECT_OK(smd_rule_set_results(set, &results));
  smd_rule_set_free(set);
  EXPECT(smd_rule_results_count(results) == 0);
  EXPECT(smd_findings_count(found) == 1 && smd_findings_get(found, 0)->step == 0);
  EXPECT(strcmp(smd_findings_get(found, 0)->tensor, "gradient/w") == 0);
  smd_rule_results_free(results);
  smd_findings_free(found);
  remove_folder(path);
}

int main(void) {
  const char *path = fresh_folder("order");
  smd_hook *hook = open_hook(path);
  smd_collection *collection = NULL;
  smd_trial *trial = NULL;
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_value *again = NULL;
  smd_strings *workers = NULL;
  EXPECT_OK(smd_hook_collection(hook, "weights", &collection));
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  EXPECT_OK(smd_collection_include_regex(collection, "relu"));
  EXPECT(smd_collection_has(collection, "relu_1") == 1);
  smd_collection_free(collection);

  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  smd_trial_cancel(trial);
  smd_trial_free(trial);
  EXPECT_CODE(SMD_CANCELLED, smd_tensor_value(tensor, 1, SMD_MODE_GLOBAL, NULL, &value));
  smd_tensor_free(tensor);

  trial = open_trial(path);
  EXPECT_OK(smd_trial_tensor(trial, "w", &tensor));
  EXPECT_OK(smd_tensor_workers(tensor, 0, SMD_MODE_GLOBAL, &workers));
  smd_trial_free(trial);
  EXPECT_OK(smd_tensor_value(tensor, 1, SMD_MODE_GLOBAL, NULL, &value));
  smd_tensor_free(tensor);
  EXPECT(strcmp(smd_strings_get(workers, 0), "worker_0") == 0);
  smd_strings_free(workers);
  again = smd_value_retain(value);
  smd_value_free(value);
  EXPECT(((const float *)smd_value_data(again))[5] == 6);
  smd_value_free(again);

  free_rule_sets_first();
  smd_hook_free(NULL);
  smd_trial_free(NULL);
  smd_tensor_free(NULL);
  smd_value_free(NULL);
  smd_error_free(NULL);
  smd_collection_free(NULL);
  smd_rule_set_free(NULL);
  smd_findings_free(NULL);
  smd_rule_results_free(NULL);
  remove_folder(path);
  return 0;
}
