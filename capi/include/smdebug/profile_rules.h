/* Rules over profiles: where the time of a job goes, and what to change. */
#ifndef SMDEBUG_PROFILE_RULES_H
#define SMDEBUG_PROFILE_RULES_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/rule_set.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* An evaluation of rules over one profile. */
typedef struct smd_profile_rules smd_profile_rules;

/* ---- rules --------------------------------------------------------------- */

/* Returns the number of rules over profiles.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_profile_rule_count(void) SMD_NOEXCEPT;

/* Returns a rule, or NULL past the end.  Its `set` is "calibrated" if the profile "aws" does not
 * have it.  A parameter belongs to the profiles in which it has a default.  Never freed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_rule_info *smd_profile_rule(size_t index) SMD_NOEXCEPT;

/* Returns what to do about the findings of a rule; "" for an unknown rule.  Never freed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_profile_rule_advice(const char *rule) SMD_NOEXCEPT;

/* ---- evaluation ---------------------------------------------------------- */

/* Makes an evaluation of the profile in `path`: a folder that holds "system" or "framework", or
 * s3://bucket/prefix.  `profile` selects rules and defaults: "calibrated" (also NULL), whose rules
 * rarely report a healthy job, or "aws", the rules as the original's history defines them.  Nothing
 * is read yet.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_new(const char *path, const char *profile,
                                   smd_profile_rules **out) SMD_NOEXCEPT;

/* Sets an option, before anything is evaluated:
 *   rule               a rule to evaluate; may be set several times (all of the profile)
 *   <Rule>_<name>      a parameter of a rule, such as "CPUBottleneck_threshold"
 *   scan_interval_us   "aws": the time after which rules are evaluated again ("60000000")
 *   s3_...             see smdebug/store.h
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest), INVALID_CONFIG (bad
 * value), WRONG_STATE (something was evaluated), AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_set(smd_profile_rules *rules, const char *name,
                                   const char *value) SMD_NOEXCEPT;

/* Sends the log lines to `log`: what could not be read, and was skipped.  `destroy`, if not NULL,
 * is called once with `user_data`: when the evaluation is freed, or if this fails.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_set_log(smd_profile_rules *rules, smd_log_level level,
                                       smd_log_fn log, void *user_data,
                                       smd_release_fn destroy) SMD_NOEXCEPT;

/* Evaluates the whole profile.  Reads each file once; memory does not grow with the profile.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND (no profile), WRONG_STATE (evaluated already), UNSUPPORTED
 * (the kind of path), IO, PERMISSION, AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_evaluate(smd_profile_rules *rules) SMD_NOEXCEPT;

/* Evaluates what was recorded between two times, in microseconds since 1970, both included, as one
 * more scan of the rules of the profile "aws".  `*out` becomes the names of the rules that fired in
 * it.
 *
 * Fails: as smd_profile_rules_evaluate().
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_scan(smd_profile_rules *rules, int64_t begin_us, int64_t end_us,
                                    smd_strings **out) SMD_NOEXCEPT;

/* Returns the findings so far.  `worker` is the node, `tensor` the culprit: a part of the step or a
 * device; `step` is -1 if the finding belongs to none.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (nothing was evaluated), AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_findings(const smd_profile_rules *rules,
                                        smd_findings **out) SMD_NOEXCEPT;

/* Returns the summary of each rule.
 *
 * Fails: as smd_profile_rules_findings().
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_results(const smd_profile_rules *rules,
                                       smd_rule_results **out) SMD_NOEXCEPT;

/* Returns a rule's file of the original's ProfilerReport: a JSON object of RuleTriggered,
 * Violations, Details, Datapoints and RuleParameters.  Numbers may be NaN or Infinity, as the
 * original writes them.
 *
 * Fails: INVALID_ARGUMENT (a rule that was not evaluated), WRONG_STATE (nothing was evaluated),
 * AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_report(smd_profile_rules *rules, const char *rule,
                                      smd_text **out) SMD_NOEXCEPT;

/* ---- where the time goes ------------------------------------------------- */

/* What a worker's steps spend on one thing.  Times are in microseconds.  A step lasts from its
 * beginning to that of the next one. */
typedef struct smd_profile_phase {
  size_t struct_size; /* sizeof(smd_profile_phase) */
  const char *worker;
  const char *name;
  /* "step": the whole; "part": parts add up to the whole, each moment counts for the innermost
   * event; "overlap": beside the parts; "phase": a row of the timeline */
  const char *kind;
  int64_t count; /* of steps; of a "phase" of events */
  double share;  /* of the steps' time */
  double total_us;
  double p50_us; /* quantiles of the time in a step; 0 for a "phase" */
  double p95_us;
  double p99_us;
  double max_us;
} smd_profile_phase;

/* Returns the number of rows of the table of phases; 0 for NULL or before an evaluation.
 * Thread: one.   Since: 1.0 */
SMD_API size_t smd_profile_phase_count(const smd_profile_rules *rules) SMD_NOEXCEPT;

/* Returns a row, or NULL past the end.  Borrowed until the evaluation is freed.
 * Thread: one.   Since: 1.0 */
SMD_API const smd_profile_phase *smd_profile_phase_get(const smd_profile_rules *rules,
                                                       size_t index) SMD_NOEXCEPT;

/* Returns the figures of charts as JSON: phases over steps, samples over time, and the spans of a
 * usual step and of the slowest one.
 *
 * Fails: as smd_profile_rules_findings(), and as smd_profile_rules_evaluate().
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_charts(smd_profile_rules *rules, smd_text **out) SMD_NOEXCEPT;

/* Writes all timelines and samples of the profile into the file `out_path`, as one trace that
 * Perfetto and chrome://tracing open.  Replaces the file.  Works before and after an evaluation.
 *
 * Fails: as smd_profile_rules_evaluate(), NO_SPACE.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_profile_rules_write_timeline(smd_profile_rules *rules,
                                              const char *out_path) SMD_NOEXCEPT;

/* Frees the evaluation.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_profile_rules_free(smd_profile_rules *rules) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints what rules find in a folder of profiles.
 *
 *   smd_error *print_profile(const char *folder) {
 *     smd_profile_rules *rules;
 *     smd_findings *found = NULL;
 *     smd_error *error = smd_profile_rules_new(folder, "calibrated", &rules);
 *     if (!error) error = smd_profile_rules_evaluate(rules);
 *     if (!error) error = smd_profile_rules_findings(rules, &found);
 *     for (size_t i = 0; i < smd_findings_count(found); i++) {
 *       const smd_finding *finding = smd_findings_get(found, i);
 *       printf("%s\n%s\n", finding->message, smd_profile_rule_advice(finding->rule));
 *     }
 *     smd_findings_free(found);
 *     smd_profile_rules_free(rules);
 *     return error;
 *   } */

#endif /* SMDEBUG_PROFILE_RULES_H */
