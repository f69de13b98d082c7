/* Evaluates a built-in rule and one of its own on a trial: the loss must fall.
 *
 * usage: c_rule TRIAL */
#include "example.h"

typedef struct {
  double last;
} loss_falls;

static int32_t check_loss(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                          smd_error **error) {
  loss_falls *rule = self;
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  smd_finding finding = SMD_FINDING_INIT;
  double loss = 0;
  *error = smd_trial_tensor(trial, "loss", &tensor);
  if (*error == NULL) *error = smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, NULL, &value);
  if (*error == NULL) *error = smd_value_to_double(value, &loss);
  smd_value_free(value);
  smd_tensor_free(tensor);
  if (*error == NULL && loss > rule->last) {
    finding.tensor = "loss";
    finding.message = "the loss rises";
    finding.value = loss;
    finding.limit = rule->last;
    *error = smd_findings_add(findings, &finding);
  }
  rule->last = loss;
  return *error == NULL ? SMD_RULE_CONTINUE : -1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s TRIAL\n", argv[0]);
    return 2;
  }
  smd_trial *trial = NULL;
  smd_rule_set *set = NULL;
  smd_findings *findings = NULL;
  smd_rule_results *results = NULL;
  loss_falls state = {1e300};
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  ops.invoke = check_loss;
  check(smd_trial_open(argv[1], NULL, &trial));
  check(smd_rule_set_new(NULL, &set));
  check(smd_rule_set_add(set, "VanishingGradient", "{\"threshold\": \"1e-3\"}", SMD_ACTION_WARN));
  check(smd_rule_set_add_function(set, "LossFalls", &ops, &state, SMD_ACTION_WARN));
  check(smd_rule_set_evaluate(set, trial, 0, -1, SMD_EVALUATE_FOLLOW, &findings));
  check(smd_rule_set_results(set, &results));
  for (size_t i = 0; i < smd_rule_results_count(results); ++i) {
    const smd_rule_result *result = smd_rule_results_get(results, i);
    printf("%-18s %s\n", result->rule, result->message);
  }
  smd_rule_results_free(results);
  smd_findings_free(findings);
  smd_rule_set_free(set);
  smd_trial_free(trial);
  return 0;
}
