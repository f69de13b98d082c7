/* Rules: a question asked of a trial at one step after another. */
#ifndef SMDEBUG_RULE_H
#define SMDEBUG_RULE_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* What a rule's function says of a step. */
enum { SMD_RULE_NO_FINDING = 0, SMD_RULE_FINDING = 1, SMD_RULE_FINDING_AND_END = 2 };

/* A rule written by the caller.  All are called on the thread that runs the rule,
 * with no lock held. */
typedef struct smd_rule_ops {
  size_t struct_size; /* sizeof(smd_rule_ops) at the caller */

  /* Judges a global step.  Returns one of SMD_RULE_..., or a negative number to
   * say that it could not: then *error may be set to an error from any smd
   * function, or from smd_error_new(); it becomes the library's.  An error that
   * says a step or tensor is not there skips the step, any other ends the run. */
  int32_t (*invoke)(void *self, smd_trial *trial, int64_t step, smd_error **error);

  /* Called once with `self` when the rule is gone, or could not be made.  May be
   * NULL. */
  void (*destroy)(void *self);
} smd_rule_ops;
#define SMD_RULE_OPS_INIT \
  { sizeof(smd_rule_ops), NULL, NULL }

/* Makes a rule from functions.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_new(const char *name, const smd_rule_ops *ops, void *self,
                          smd_rule **out) SMD_NOEXCEPT;

/* Makes a built-in rule (docs/rules.md lists them), with the defaults of the profile
 * "aws".  `parameters` is a JSON object of texts, numbers and switches; NULL: the defaults.
 *
 * Fails: INVALID_ARGUMENT (unknown rule), INVALID_CONFIG (unknown or bad parameter, by
 * name), and as smd_trial_open() for the other trials that parameters name.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_new_builtin(const char *name, const char *parameters,
                                  smd_rule **out) SMD_NOEXCEPT;

/* Judges the global steps first <= s < end (end -1: until the job ends), one after
 * the other: waits for the step, then lets the rule judge it with refreshing
 * switched off.  Steps that were not saved are passed over.
 * `findings` gets the steps at which the condition held, also those before a failure.
 * If `stop_at_finding` is not 0, the first ends the run with RULE_CONDITION_MET
 * (details "rule", "step").
 *
 * Fails: INVALID_ARGUMENT, RULE_CONDITION_MET, CALLBACK_FAILED, CANCELLED, and as
 * smd_trial_refresh().
 * Thread: any on the trial; one on the rule.   Since: 1.0 */
SMD_FALLIBLE smd_rule_run(smd_rule *rule, smd_trial *trial, int64_t first, int64_t end,
                          int32_t stop_at_finding, smd_steps **findings) SMD_NOEXCEPT;

/* The last finding's sentence, with tensor, value and limit where the rule names
 * them; "" before there is one.  Borrowed until the next run.
 * Thread: one.   Since: 1.0 */
SMD_API const char *smd_rule_last_finding(const smd_rule *rule) SMD_NOEXCEPT;

/* Frees a rule.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_rule_free(smd_rule *rule) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_RULE_H */
