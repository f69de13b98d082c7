/* Judges a trial by the built-in rule, and by one of its own: the loss must fall.
 *
 * usage: c_rule TRIAL */
#include "example.h"

typedef struct {
  double last;
} loss_falls;

static int32_t judge_loss(void *self, smd_trial *trial, int64_t step, smd_error **error) {
  loss_falls *rule = self;
  smd_tensor *tensor = NULL;
  smd_value *value = NULL;
  double loss = 0;
  *error = smd_trial_tensor(trial, "loss", &tensor);
  if (*error == NULL) *error = smd_tensor_value(tensor, step, SMD_MODE_GLOBAL, NULL, &value);
  if (*error == NULL) *error = smd_value_to_double(value, &loss);
  smd_value_free(value);
  smd_tensor_free(tensor);
  if (*error != NULL) return -1;
  const int32_t rises = loss > rule->last;
  rule->last = loss;
  return rises ? SMD_RULE_FINDING : SMD_RULE_NO_FINDING;
}

static void run(smd_rule *rule, smd_trial *trial, const char *name) {
  smd_steps *findings = NULL;
  check(smd_rule_run(rule, trial, 0, -1, 0, &findings));
  printf("%-18s %zu findings %s\n", name, smd_steps_count(findings), smd_rule_last_finding(rule));
  smd_steps_free(findings);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s TRIAL\n", argv[0]);
    return 2;
  }
  smd_trial *trial = NULL;
  smd_rule *vanishing = NULL;
  smd_rule *own = NULL;
  loss_falls state = {1e300};
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  ops.invoke = judge_loss;
  check(smd_trial_open(argv[1], NULL, &trial));
  check(smd_rule_new_builtin("VanishingGradient", "{\"threshold\": \"1e-3\"}", &vanishing));
  check(smd_rule_new("LossFalls", &ops, &state, &own));
  run(vanishing, trial, "VanishingGradient");
  run(own, trial, "LossFalls");
  smd_rule_free(own);
  smd_rule_free(vanishing);
  smd_trial_free(trial);
  return 0;
}
