/* In a forked child, calls on the parent's rule sets fail, whatever locks were held. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "expect.h"

static atomic_int has_ended;

static int32_t find_nothing(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                            smd_error **error) {
  (void)self, (void)trial, (void)step, (void)findings, (void)error;
  return SMD_RULE_CONTINUE;
}

static int child(smd_rule_set *set, smd_hook *hook, smd_trial *trial, smd_findings *findings,
                 smd_rule_results *results) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  smd_rule_results *more_results = NULL;
  smd_findings *more_findings = NULL;
  smd_diagnosis *diagnosis = NULL;
  smd_rule_set *own = NULL;
  ops.invoke = find_nothing;
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_results(set, &more_results));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_diagnose(set, &diagnosis));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_evaluate(set, trial, 0, -1, 0, &more_findings));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_add(set, "DeadRelu", NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_add_all(set, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_add_function(set, "Own", &ops, NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_set_save_config(set, NULL));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_reset(set));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_attach(hook, set));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_take_findings(hook, &more_findings));
  EXPECT(smd_hook_action(hook) == SMD_ACTION_CONTINUE);
  /* Lists hold no lock. */
  EXPECT(smd_findings_count(findings) == 0 && smd_rule_results_count(results) == 1);
  EXPECT(smd_builtin_rule_count() == 49);
  EXPECT_OK(smd_rule_set_new("aws", &own));
  EXPECT_OK(smd_rule_set_add(own, "VanishingGradient", NULL, SMD_ACTION_WARN));
  EXPECT_CODE(SMD_AFTER_FORK, smd_rule_set_evaluate(own, trial, 0, -1, 0, &more_findings));
  EXPECT_CODE(SMD_AFTER_FORK, smd_hook_attach(hook, own));
  smd_rule_set_free(own);
  smd_rule_set_free(set);
  smd_rule_results_free(results);
  smd_findings_free(findings);
  return 0;
}

static void *ask_for_ever(void *set) {
  while (!has_ended) {
    smd_rule_results *results = NULL;
    EXPECT_OK(smd_rule_set_results(set, &results));
    smd_rule_results_free(results);
  }
  return NULL;
}

int main(void) {
  char path[256];
  snprintf(path, sizeof path, "%s", fresh_folder("fork-rules"));
  smd_hook *hook = open_hook(path);
  smd_rule_set *set = NULL;
  smd_findings *findings = NULL;
  smd_rule_results *results = NULL;
  pthread_t asker;
  record_steps(hook, 2);
  EXPECT_OK(smd_hook_flush(hook, 5000));
  smd_trial *trial = open_trial(path);
  EXPECT_OK(smd_rule_set_new("calibrated", &set));
  EXPECT_OK(smd_rule_set_add(set, "VanishingGradient", NULL, SMD_ACTION_WARN));
  EXPECT_OK(smd_rule_set_evaluate(set, trial, 0, -1, 0, &findings));
  EXPECT_OK(smd_rule_set_results(set, &results));
  if (MAY_FORK_BESIDE_THREADS) EXPECT(pthread_create(&asker, NULL, ask_for_ever, set) == 0);
  for (int i = 0; i < 20; ++i) {
    int status = -1;
    const pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
      alarm(20);
      _exit(child(set, hook, trial, findings, results));
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  has_ended = 1;
  if (MAY_FORK_BESIDE_THREADS) EXPECT(pthread_join(asker, NULL) == 0);
  smd_rule_results_free(results);
  smd_findings_free(findings);
  smd_rule_set_free(set);
  smd_trial_free(trial);
  EXPECT_OK(smd_hook_close(hook));
  smd_hook_free(hook);
  remove_folder(path);
  return 0;
}
