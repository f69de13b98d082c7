/* Rule sets: rules that evaluate one job together, stored or running. */
#ifndef SMDEBUG_RULE_SET_H
#define SMDEBUG_RULE_SET_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Actions that findings recommend. */
typedef int32_t smd_action;
enum { SMD_ACTION_CONTINUE = 0, SMD_ACTION_WARN = 1, SMD_ACTION_STOP = 2 };

/* A rule's result over all steps that it has evaluated. */
typedef int32_t smd_rule_status;
enum {
  SMD_RULE_PASSED = 0,          /* evaluated, without a finding */
  SMD_RULE_HAS_FINDINGS = 1,    /* found something at one step or more */
  SMD_RULE_NO_TENSORS = 2,      /* no matching tensors */
  SMD_RULE_NOT_ENOUGH_DATA = 3, /* matching tensors, but the rule needs more of them */
  SMD_RULE_WORTH_A_LOOK = 4     /* nothing but findings worth a look */
};

/* How sure a finding is.  One worth a look may be wrong; its action is SMD_ACTION_CONTINUE. */
typedef int32_t smd_level;
enum { SMD_LEVEL_FINDING = 0, SMD_LEVEL_WORTH_A_LOOK = 1 };

/* Returns "continue", "warn" or "stop"; "" for anything else.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_action_name(smd_action action) SMD_NOEXCEPT;

/* Returns "finding" or "worth_a_look"; "" for anything else.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_level_name(smd_level level) SMD_NOEXCEPT;

/* Returns "passed", "has_findings", "no_tensors", ...; "" for anything else.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_rule_status_name(smd_rule_status status) SMD_NOEXCEPT;

/* ---- findings ------------------------------------------------------------ */

/* A finding of a rule at one step.  No text is NULL in a finding from the library. */
typedef struct smd_finding {
  size_t struct_size; /* sizeof(smd_finding) */
  const char *rule;
  const char *check;   /* which of the rule's checks; "" if it has only one */
  const char *tensor;  /* the culprit, or "" */
  const char *worker;  /* the worker that recorded it, or "" */
  const char *message; /* tensor, value and limit in one sentence */
  int64_t step;        /* the global step */
  int64_t mode_step;   /* its number in `mode` */
  smd_mode mode;
  smd_action action; /* what the finding recommends */
  double value;      /* what was measured, or NaN */
  double limit;      /* the limit that `value` passed, or NaN */
  smd_level level;   /* SMD_LEVEL_FINDING if the caller's struct_size leaves it out */
} smd_finding;
#define SMD_FINDING_INIT                                                                \
  {                                                                                     \
    sizeof(smd_finding), NULL, NULL, NULL, NULL, NULL, -1, -1, 4 /* SMD_MODE_GLOBAL */, \
        SMD_ACTION_CONTINUE, __builtin_nan(""), __builtin_nan(""), SMD_LEVEL_FINDING    \
  }

/* Returns the number of findings; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_findings_count(const smd_findings *findings) SMD_NOEXCEPT;

/* Returns the finding at `index`, or NULL past the end.  Borrowed until the list is freed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_finding *smd_findings_get(const smd_findings *findings,
                                            size_t index) SMD_NOEXCEPT;

/* Appends a copy of `finding`: for functions of smd_rule_ops, during the call that passed
 * `findings`.  The library fills in rule, step, mode and mode_step.  Of the finding's action and
 * that of the rule in its set, the more severe one holds, except of one worth a look.  NULL texts
 * mean "".  If this fails, nothing is added.  The list cannot be read: smd_findings_count() is 0.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (the list is not one that a function was passed).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_findings_add(smd_findings *findings, const smd_finding *finding) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_findings_free(smd_findings *findings) SMD_NOEXCEPT;

/* ---- results ------------------------------------------------------------- */

/* The summary of one rule. */
typedef struct smd_rule_result {
  size_t struct_size; /* sizeof(smd_rule_result) */
  const char *rule;
  smd_rule_status status;
  int64_t finding_count;    /* of SMD_LEVEL_FINDING */
  const char *message;      /* the first finding, or why there is none */
  const smd_finding *first; /* the first finding, else the first worth a look; or NULL */
  int64_t look_count;       /* of SMD_LEVEL_WORTH_A_LOOK */
} smd_rule_result;

/* Returns the number of results; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_rule_results_count(const smd_rule_results *results) SMD_NOEXCEPT;

/* Returns the result at `index`, or NULL past the end.  Borrowed until the list is freed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_rule_result *smd_rule_results_get(const smd_rule_results *results,
                                                    size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_rule_results_free(smd_rule_results *results) SMD_NOEXCEPT;

/* ---- built-in rules ------------------------------------------------------ */

/* A parameter of a built-in rule.  A default of "" means none. */
typedef struct smd_rule_parameter {
  size_t struct_size; /* sizeof(smd_rule_parameter) */
  const char *name;
  const char *aws;        /* the default in the profile "aws" */
  const char *calibrated; /* the default in the profile "calibrated" */
  const char *meaning;
} smd_rule_parameter;

/* A built-in rule. */
typedef struct smd_rule_info {
  size_t struct_size; /* sizeof(smd_rule_info) */
  const char *name;
  const char *summary; /* when the rule finds something, in one sentence */
  size_t parameter_count;
  const smd_rule_parameter *const *parameters;
  const char *set; /* the set that alone evaluates the rule unasked, as "llm"; "" for any set */
} smd_rule_info;

/* Returns the number of built-in rules.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_builtin_rule_count(void) SMD_NOEXCEPT;

/* Returns the built-in rule at `index`, or NULL past the end.  Static memory.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_rule_info *smd_builtin_rule(size_t index) SMD_NOEXCEPT;

/* ---- rule sets ----------------------------------------------------------- */

/* Results of a rule's function; negative for a failure. */
enum {
  SMD_RULE_CONTINUE = 0, /* evaluate the next step too */
  SMD_RULE_FINISHED = 1  /* do not call the function again */
};

/* A rule of the caller's.  Its functions run on the thread that evaluates, with no lock held: they
 * may use any handle, but the set answers WRONG_STATE to a change or another evaluation. */
typedef struct smd_rule_ops {
  size_t struct_size; /* sizeof(smd_rule_ops) at the caller */

  /* Evaluates the global step `step` of `trial` and adds what it finds to `findings` by
   * smd_findings_add().  Both are borrowed during the call.  Returns SMD_RULE_CONTINUE,
   * SMD_RULE_FINISHED, or a negative number if it failed: then *error may be set to an error from
   * any smd function, or from smd_error_new(), which the library frees.  STEP_UNAVAILABLE,
   * TENSOR_UNAVAILABLE, VALUE_UNAVAILABLE and SHAPE_UNAVAILABLE skip the step for this rule.
   * Another one ends the evaluation, which returns it, or CALLBACK_FAILED if *error is not set. */
  int32_t (*invoke)(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                    smd_error **error);

  /* Called once with `self` when the rule is freed, or could not be added.  May be NULL. */
  void (*destroy)(void *self);
} smd_rule_ops;
#define SMD_RULE_OPS_INIT \
  { sizeof(smd_rule_ops), NULL, NULL }

/* Makes an empty rule set.  `profile` selects the defaults of parameters: "calibrated" or NULL for
 * ours, which spare healthy runs; "aws" for those that the training service documents.  "llm" makes
 * a set that holds the rules for large trainings, with the defaults of "calibrated" for others.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_new(const char *profile, smd_rule_set **out) SMD_NOEXCEPT;

/* Adds a built-in rule (docs/all_rules.md lists them).  `parameters` is a JSON object of texts,
 * numbers and switches; NULL: the defaults.  `action` is what its findings recommend.
 *
 * Fails: INVALID_ARGUMENT (unknown rule), INVALID_CONFIG (unknown or bad parameter, by name),
 * WRONG_STATE (a step was evaluated, or the set is attached to a hook or being evaluated),
 * AFTER_FORK, and as smd_trial_open() for the other trials that parameters name.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_add(smd_rule_set *set, const char *rule, const char *parameters,
                              smd_action action) SMD_NOEXCEPT;

/* Adds every built-in rule that needs no parameter and that the set does not hold: what `smdebug
 * rules` evaluates without --rule.  A rule that it holds, as a set made for "llm" does, keeps its
 * parameters, and the more severe of its action and `action`.  If this fails, it adds none.
 *
 * Fails: as smd_rule_set_add_function().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_add_all(smd_rule_set *set, smd_action action) SMD_NOEXCEPT;

/* Adds a rule of the caller's, named `name` in findings.  It takes part like a built-in rule, but
 * not in a set that is attached to a hook: it reads a trial, which a running job does not have.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (a step was evaluated, or a hook has the set), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_add_function(smd_rule_set *set, const char *name, const smd_rule_ops *ops,
                                       void *self, smd_action action) SMD_NOEXCEPT;

/* Evaluates only the steps that `config` (a copy) selects, as if the job had saved no others: all
 * steps of a mode if it is NULL or has no settings for it.  Others cost as a hook without rules.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (evaluation has begun, or a hook has the set), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_set_save_config(smd_rule_set *set,
                                          const smd_save_config *config) SMD_NOEXCEPT;

/* Flags of smd_rule_set_evaluate(). */
enum {
  SMD_EVALUATE_FOLLOW = 1,          /* wait for each step until the job ends */
  SMD_EVALUATE_STOP_AT_FINDING = 2, /* fail with RULE_CONDITION_MET at an SMD_LEVEL_FINDING */
  SMD_EVALUATE_INCOMPLETE = 4       /* also steps that a worker may still write to */
};

/* Evaluates the global steps first <= s < end (end -1: all) of `trial` that the set has not
 * evaluated yet.  Built-in rules also observe the steps before `first`, unreported.  `flags` is a
 * sum of SMD_EVALUATE_...; without FOLLOW, the steps that all workers have written are evaluated
 * (of a job that has ended all, and rules hear of its end).  With STOP_AT_FINDING, a finding hides
 * the failure of a function at the same step.  A set belongs to the first trial of which it
 * evaluated a step, until smd_rule_set_reset().  `out` gets findings, also before a failure.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (it evaluated another trial, a hook has it, or another call
 * evaluates it), RULE_CONDITION_MET (details "rule", "step"), CALLBACK_FAILED, the error that a
 * function of smd_rule_ops returned, AFTER_FORK, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_evaluate(smd_rule_set *set, smd_trial *trial, int64_t first, int64_t end,
                                   uint32_t flags, smd_findings **out) SMD_NOEXCEPT;

/* Returns the summary of each rule so far, as they were added; also during an evaluation.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_results(const smd_rule_set *set, smd_rule_results **out) SMD_NOEXCEPT;

/* Forgets the trial, its steps and all results; keeps the rules, whose functions are not told.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (the set is evaluated, or attached to a hook), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_reset(smd_rule_set *set) SMD_NOEXCEPT;

/* Frees a rule set; a hook that it is attached to keeps its rules.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_rule_set_free(smd_rule_set *set) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints at which steps gradients of a trial vanish.
 *
 *   smd_error *print_vanishing(smd_trial *trial) {
 *     smd_rule_set *set;
 *     smd_findings *found = NULL;
 *     smd_error *error = smd_rule_set_new("calibrated", &set);
 *     if (!error) error = smd_rule_set_add(set, "VanishingGradient", NULL, SMD_ACTION_WARN);
 *     if (!error) error = smd_rule_set_evaluate(set, trial, 0, -1, 0, &found);
 *     for (size_t i = 0; i < smd_findings_count(found); i++) {
 *       const smd_finding *finding = smd_findings_get(found, i);
 *       printf("%" PRId64 ": %s\n", finding->step, finding->message);
 *     }
 *     smd_findings_free(found);
 *     smd_rule_set_free(set);
 *     return error;
 *   } */

#endif /* SMDEBUG_RULE_SET_H */
