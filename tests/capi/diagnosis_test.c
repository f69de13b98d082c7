/* The likely causes of what a rule set has found, of a stored trial and of a running job. */
#include <math.h>

#include "expect.h"

static const char *const kRules[] = {"ExplodingTensor", "FirstNonFinite", "WeightUpdateRatio"};

static smd_rule_set *make_set(const char *profile) {
  smd_rule_set *set = NULL;
  EXPECT_OK(smd_rule_set_new(profile, &set));
  for (size_t i = 0; i < sizeof kRules / sizeof *kRules; ++i) {
    EXPECT_OK(smd_rule_set_add(set, kRules[i], NULL, SMD_ACTION_WARN));
  }
  return set;
}

static size_t count_causes(const smd_rule_set *set) {
  smd_diagnosis *diagnosis = NULL;
  EXPECT_OK(smd_rule_set_diagnose(set, &diagnosis));
  const size_t count = smd_diagnosis_count(diagnosis);
  smd_diagnosis_free(diagnosis);
  return count;
}

/* The output of a layer is not finite at every step from `first` on. */
static void record_broken(smd_hook *hook, int steps, int first) {
  float data[2] = {1, 2};
  const int64_t shape[1] = {2};
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  view.data = data;
  view.shape = shape;
  view.ndim = 1;
  view.dtype = SMD_FLOAT32;
  for (int i = 0; i < steps; ++i) {
    data[1] = i < first ? 2 : INFINITY;
    EXPECT_OK(smd_hook_begin_step(hook, NULL));
    EXPECT_OK(smd_hook_save(hook, "log_output_0", &view));
    EXPECT_OK(smd_hook_end_step(hook));
  }
}

static void check_cause(const smd_cause *cause, int64_t step) {
  EXPECT(cause->struct_size == sizeof(smd_cause));
  EXPECT(cause->confidence > 0 && cause->confidence < 1);
  EXPECT(cause->title[0] != '\0' && cause->advice[0] != '\0');
  EXPECT(strstr(cause->link, cause->id) != NULL);
  EXPECT(cause->evidence_count >= 1);
  for (size_t i = 0; i < cause->evidence_count; ++i) {
    const smd_evidence *evidence = &cause->evidence[i];
    EXPECT(evidence->struct_size == sizeof(smd_evidence));
    EXPECT(evidence->finding_count >= 1 && evidence->tensor_count == 1);
    EXPECT(evidence->first->step == step);
    EXPECT(strcmp(evidence->first->tensor, "log_output_0") == 0);
  }
  for (size_t i = 0; i < cause->missing_count; ++i) {
    EXPECT(strcmp(cause->missing[i], "WeightUpdateRatio") == 0);
  }
}

/* Nothing but what the rules found: the job has no weights, which would give clues. */
static void check_seen(const smd_diagnosis *diagnosis, int64_t step) {
  const size_t count = smd_diagnosis_seen_count(diagnosis);
  EXPECT(count == 2);
  for (size_t i = 0; i < count; ++i) {
    const smd_evidence *seen = smd_diagnosis_seen(diagnosis, i);
    EXPECT(seen->first->level == SMD_LEVEL_FINDING);
    EXPECT(seen->first->step == step);
    EXPECT(strcmp(seen->first->check, "inf") == 0);
  }
  EXPECT(smd_diagnosis_seen(diagnosis, count) == NULL);
  EXPECT(smd_diagnosis_seen_count(NULL) == 0);
  EXPECT(smd_diagnosis_seen(NULL, 0) == NULL);
}

static void check_broken(const smd_rule_set *set, int64_t step) {
  smd_diagnosis *diagnosis = NULL;
  EXPECT_OK(smd_rule_set_diagnose(set, &diagnosis));
  const size_t count = smd_diagnosis_count(diagnosis);
  EXPECT(count >= 1 && count <= 3);
  double confidence = 1;
  for (size_t i = 0; i < count; ++i) {
    const smd_cause *cause = smd_diagnosis_get(diagnosis, i);
    EXPECT(cause->confidence <= confidence);
    confidence = cause->confidence;
    check_cause(cause, step);
  }
  EXPECT(strcmp(smd_diagnosis_get(diagnosis, 0)->id, "undefined_operation") == 0);
  EXPECT(smd_diagnosis_get(diagnosis, count) == NULL);
  check_seen(diagnosis, step);
  smd_diagnosis_free(diagnosis);
}

int main(void) {
  char path[256];
  snprintf(path, sizeof path, "%s", fresh_folder("diagnosis"));
  smd_hook *hook = open_hook(path);
  smd_rule_set *live = make_set("calibrated");
  smd_rule_set *stored = make_set("calibrated");
  smd_rule_set *aws = make_set("aws");
  smd_findings *findings = NULL;
  EXPECT_OK(smd_hook_attach(hook, live));
  EXPECT(count_causes(live) == 0);
  record_broken(hook, 40, 33);
  check_broken(live, 33); /* while it is attached */
  EXPECT_OK(smd_hook_close(hook));
  smd_trial *trial = open_trial(path);
  EXPECT_OK(smd_rule_set_evaluate(stored, trial, 0, 20, 0, &findings));
  smd_findings_free(findings);
  EXPECT(count_causes(stored) == 0);
  EXPECT_OK(smd_rule_set_evaluate(stored, trial, 0, -1, 0, &findings));
  smd_findings_free(findings);
  check_broken(stored, 33);
  EXPECT_OK(smd_rule_set_reset(stored));
  EXPECT(count_causes(stored) == 0);
  EXPECT_OK(smd_rule_set_evaluate(aws, trial, 0, -1, 0, &findings));
  EXPECT(smd_findings_count(findings) > 0 && count_causes(aws) == 0);
  smd_findings_free(findings);
  smd_trial_free(trial);
  smd_rule_set_free(live);
  smd_rule_set_free(stored);
  smd_rule_set_free(aws);
  smd_hook_free(hook);
  EXPECT(smd_diagnosis_count(NULL) == 0 && smd_diagnosis_get(NULL, 0) == NULL);
  smd_diagnosis_free(NULL);
  remove_folder(path);
  return 0;
}
