/* Panels: built-in rules that look at a job together, stored or running. */
#ifndef SMDEBUG_PANEL_H
#define SMDEBUG_PANEL_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* What a verdict says. */
typedef int32_t smd_verdict_status;
enum {
  SMD_VERDICT_NO_ISSUE = 0,       /* of a whole run: judged, and nothing found */
  SMD_VERDICT_FINDING = 1,        /* at one step */
  SMD_VERDICT_NO_TENSOR = 2,      /* of a whole run: no tensor is one that the rule looks at */
  SMD_VERDICT_NOT_ENOUGH_DATA = 3 /* of a whole run: there was not enough to judge by */
};

/* What is to be done about a finding. */
typedef int32_t smd_action;
enum { SMD_ACTION_CONTINUE = 0, SMD_ACTION_WARN = 1, SMD_ACTION_STOP = 2 };

/* "no_issue", "finding", "no_tensor", "not_enough_data"; "" for anything else.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdict_status_name(smd_verdict_status status) SMD_NOEXCEPT;

/* "continue", "warn", "stop"; "" for anything else.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_action_name(smd_action action) SMD_NOEXCEPT;

/* ---- panels -------------------------------------------------------------- */

/* Makes a panel without rules.  `profile` says which defaults parameters have: "aws", as
 * the training service documents them (also if it is NULL), or "calibrated", ours, which
 * leave healthy runs alone.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_new(const char *profile, smd_panel **out) SMD_NOEXCEPT;

/* Adds a built-in rule (docs/rules.md lists them), before the first step is judged.
 * `parameters` is a JSON object of texts, numbers and switches; NULL: the defaults.
 * `action` is what its findings will ask for.
 *
 * Fails: INVALID_ARGUMENT (unknown rule), INVALID_CONFIG (unknown or bad parameter, by
 * name), WRONG_STATE (a step was judged), and as smd_trial_open() for the other trials that
 * parameters name.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_add(smd_panel *panel, const char *rule, const char *parameters,
                           smd_action action) SMD_NOEXCEPT;

/* Has the panel look only at the steps that `config` (a copy) saves, before the first step is
 * judged: as if a job had been saved so.  Of a mode without settings it looks at every step, as
 * it does of all without the call or with NULL.  A step that it does not look at costs a job no
 * more than a hook does.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (a step was judged).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_set_save_config(smd_panel *panel,
                                       const smd_save_config *config) SMD_NOEXCEPT;

/* Judges the global steps first <= s < end (end -1: all) that were not judged yet.  Earlier
 * steps are shown to the rules and not reported.  If `waits` is not 0, waits for each step
 * until the job ends; else takes the steps that all workers have written (once the job has
 * ended, every step).  `out` gets the findings, also those before a failure.
 *
 * Fails: INVALID_ARGUMENT, CANCELLED, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_run(smd_panel *panel, smd_trial *trial, int64_t first, int64_t end,
                           int32_t waits, smd_verdicts **out) SMD_NOEXCEPT;

/* What each rule has to say of the whole run so far, one verdict each in the order they
 * were added; of a rule with findings the first one, with how many there were.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_outcomes(const smd_panel *panel, smd_verdicts **out) SMD_NOEXCEPT;

/* Frees a panel; a hook that watches with it keeps its rules.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_panel_free(smd_panel *panel) SMD_NOEXCEPT;

/* All built-in rules as JSON: [{"name", "summary", "parameters": [{"name", "aws",
 * "calibrated", "meaning"}]}].
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_panel_rules(smd_text **out) SMD_NOEXCEPT;

/* ---- rules in the training process ---------------------------------------- */

/* From the next step on, has the panel judge every step of the job as it ends, or those that it
 * looks at, whatever is saved of them.  smd_hook_wants() is then 1 for what the rules look at too.
 * Another panel takes the place of the first, whose findings can still be taken.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (a step is open), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_watch(smd_hook *hook, smd_panel *panel) SMD_NOEXCEPT;

/* What the findings of the last step that ended ask for: the most severe of SMD_ACTION_...;
 * CONTINUE if there were none.
 * Thread: any.   Since: 1.0 */
SMD_API smd_action smd_hook_advice(const smd_hook *hook) SMD_NOEXCEPT;

/* The findings since the last call; of more than 10,000 the newest.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_take_verdicts(smd_hook *hook, smd_verdicts **out) SMD_NOEXCEPT;

/* ---- verdicts ------------------------------------------------------------ */

/* How many there are; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_verdicts_count(const smd_verdicts *verdicts) SMD_NOEXCEPT;

/* The rule, and what it says.  Past the end: "" and NO_ISSUE, CONTINUE.  Texts are borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdicts_rule(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* SMD_VERDICT_...; NO_ISSUE past the end.
 * Thread: any.   Since: 1.0 */
SMD_API smd_verdict_status smd_verdicts_status(const smd_verdicts *verdicts,
                                               size_t index) SMD_NOEXCEPT;

/* SMD_ACTION_...; CONTINUE past the end.
 * Thread: any.   Since: 1.0 */
SMD_API smd_action smd_verdicts_action(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* The global step of a finding, its mode and its number in that mode; -1, GLOBAL and -1
 * for what is said of a whole run.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_verdicts_step(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* See smd_verdicts_step().
 * Thread: any.   Since: 1.0 */
SMD_API smd_mode smd_verdicts_mode(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* See smd_verdicts_step().
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_verdicts_mode_step(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* Who recorded it; "" where that is not said.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdicts_worker(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* The tensor that did it; "" where that is not said.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdicts_tensor(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* What was measured; not a number where nothing was.
 * Thread: any.   Since: 1.0 */
SMD_API double smd_verdicts_value(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* The limit that it passed; not a number where there is none.
 * Thread: any.   Since: 1.0 */
SMD_API double smd_verdicts_limit(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* Which of the rule's checks it was; "" for rules with one.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdicts_label(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* All that in one sentence.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_verdicts_message(const smd_verdicts *verdicts, size_t index) SMD_NOEXCEPT;

/* Frees verdicts.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_verdicts_free(smd_verdicts *verdicts) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_PANEL_H */
