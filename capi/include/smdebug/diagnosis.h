/* Diagnoses: the likely causes of what a rule set has found. */
#ifndef SMDEBUG_DIAGNOSIS_H
#define SMDEBUG_DIAGNOSIS_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/rule_set.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* The findings of one check of a rule, or its clues: what is not a problem, but tells causes apart.
 * The level of a clue is SMD_LEVEL_WORTH_A_LOOK. */
typedef struct smd_evidence {
  size_t struct_size;       /* sizeof(smd_evidence) */
  const smd_finding *first; /* the one with the lowest step */
  int64_t finding_count;    /* or of clues */
  int64_t tensor_count;
} smd_evidence;

/* A likely cause.  No text is NULL. */
typedef struct smd_cause {
  size_t struct_size;           /* sizeof(smd_cause) */
  const char *id;               /* such as "rate_too_high"; docs/diagnosis.md lists all */
  const char *title;            /* a few words, such as "the learning rate is too high" */
  double confidence;            /* the chance that this is the cause, from 0 to 1 */
  const char *advice;           /* what to do, in two sentences */
  const char *link;             /* the section of the documentation that says more */
  size_t evidence_count;        /* at least 1 */
  const smd_evidence *evidence; /* an array, the strongest first */
  size_t missing_count;
  const char *const *missing; /* rules without tensors or data, which would make it surer */
} smd_cause;

/* Returns the likely causes of what the set has found so far: at most three, the likeliest first.
 * The set "llm" has causes of its own.  Findings worth a look count too.  The list is empty if
 * nothing was found, if the findings speak for no known cause, and for the profile "aws", whose
 * findings on healthy runs say nothing.  Confidences hold for built-in rules with their calibrated
 * defaults.  May be called during an evaluation, and while the set is attached to a hook.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_rule_set_diagnose(const smd_rule_set *set, smd_diagnosis **out) SMD_NOEXCEPT;

/* Returns the number of causes; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_diagnosis_count(const smd_diagnosis *diagnosis) SMD_NOEXCEPT;

/* Returns the cause at `index`, or NULL past the end.  Borrowed until the list is freed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_cause *smd_diagnosis_get(const smd_diagnosis *diagnosis,
                                           size_t index) SMD_NOEXCEPT;

/* Returns how many checks the diagnosis looked at: those that found something, and those that gave
 * clues.  Clues alone have no cause.  0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_diagnosis_seen_count(const smd_diagnosis *diagnosis) SMD_NOEXCEPT;

/* Returns what a check found, or NULL past the end.  Borrowed until the list is freed.
 * Thread: any.   Since: 1.0 */
SMD_API const smd_evidence *smd_diagnosis_seen(const smd_diagnosis *diagnosis,
                                               size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_diagnosis_free(smd_diagnosis *diagnosis) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints the likeliest cause of what a set has found.
 *
 *   smd_error *print_cause(const smd_rule_set *set) {
 *     smd_diagnosis *causes;
 *     smd_error *error = smd_rule_set_diagnose(set, &causes);
 *     const smd_cause *first = smd_diagnosis_get(causes, 0);
 *     if (first != NULL) printf("%s: %s\n", first->title, first->advice);
 *     smd_diagnosis_free(causes);
 *     return error;
 *   } */

#endif /* SMDEBUG_DIAGNOSIS_H */
