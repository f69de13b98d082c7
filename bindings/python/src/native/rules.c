/* Rule sets: findings and results as Python objects, and rules written in Python. */
#include <string.h>

#include "native.h"

/* ---- lists -------------------------------------------------------------------- */

/* Returns None for NaN. */
static PyObject *Number(double number) {
  if (number != number) Py_RETURN_NONE;
  return PyFloat_FromDouble(number);
}

static PyObject *Text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* Returns the fields in the order of smdebug.core.finding.Finding. */
static PyObject *FindingToTuple(const smd_finding *finding) {
  return Py_BuildValue("(NNNNNLiLiNNi)", Text(finding->rule), Text(finding->check),
                       Text(finding->tensor), Text(finding->worker), Text(finding->message),
                       (long long)finding->step, (int)finding->mode, (long long)finding->mode_step,
                       (int)finding->action, Number(finding->value), Number(finding->limit),
                       (int)finding->level);
}

/* Converts the list, and frees it. */
static PyObject *FindingsToList(smd_findings *findings) {
  const size_t count = smd_findings_count(findings);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *tuple = FindingToTuple(smd_findings_get(findings, i));
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  smd_findings_free(findings);
  return list;
}

static PyObject *ResultToTuple(const smd_rule_result *result) {
  PyObject *first = result->first == NULL ? Py_NewRef(Py_None) : FindingToTuple(result->first);
  if (first == NULL) return NULL;
  return Py_BuildValue("(NiLNNL)", Text(result->rule), (int)result->status,
                       (long long)result->finding_count, Text(result->message), first,
                       (long long)result->look_count);
}

/* take_findings(hook) -> list of tuples */
PyObject *SmdTakeFindings(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_hook *hook = SmdNativePointer(handle, SMD_NATIVE_HOOK);
  smd_findings *findings = NULL;
  smd_error *error;
  if (hook == NULL) return NULL;
  error = smd_hook_take_findings(hook, &findings);
  return error != NULL ? SmdNativeRaise(error) : FindingsToList(findings);
}

/* Converts the list, and frees it. */
static PyObject *ResultsToList(smd_rule_results *results) {
  PyObject *list = PyList_New((Py_ssize_t)smd_rule_results_count(results));
  for (size_t i = 0; list != NULL && i < smd_rule_results_count(results); ++i) {
    PyObject *tuple = ResultToTuple(smd_rule_results_get(results, i));
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  smd_rule_results_free(results);
  return list;
}

/* rule_results(set) -> list of tuples */
PyObject *SmdRuleResults(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_rule_set *set = SmdNativePointer(handle, SMD_NATIVE_RULE_SET);
  smd_rule_results *results = NULL;
  smd_error *error;
  if (set == NULL) return NULL;
  error = smd_rule_set_results(set, &results);
  return error != NULL ? SmdNativeRaise(error) : ResultsToList(results);
}

/* profile_findings(rules) -> list of tuples */
PyObject *SmdProfileFindings(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_profile_rules *rules = SmdNativePointer(handle, SMD_NATIVE_PROFILE_RULES);
  smd_findings *findings = NULL;
  smd_error *error;
  if (rules == NULL) return NULL;
  error = smd_profile_rules_findings(rules, &findings);
  return error != NULL ? SmdNativeRaise(error) : FindingsToList(findings);
}

/* profile_results(rules) -> list of tuples */
PyObject *SmdProfileResults(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_profile_rules *rules = SmdNativePointer(handle, SMD_NATIVE_PROFILE_RULES);
  smd_rule_results *results = NULL;
  smd_error *error;
  if (rules == NULL) return NULL;
  error = smd_profile_rules_results(rules, &results);
  return error != NULL ? SmdNativeRaise(error) : ResultsToList(results);
}

/* profile_phases(rules) -> list of (worker, name, kind, count, share, total, p50, p95, p99, max) */
PyObject *SmdProfilePhases(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_profile_rules *rules = SmdNativePointer(handle, SMD_NATIVE_PROFILE_RULES);
  PyObject *list;
  if (rules == NULL) return NULL;
  list = PyList_New((Py_ssize_t)smd_profile_phase_count(rules));
  for (size_t i = 0; list != NULL && i < smd_profile_phase_count(rules); ++i) {
    const smd_profile_phase *each = smd_profile_phase_get(rules, i);
    PyObject *tuple = Py_BuildValue("(sssLdddddd)", each->worker, each->name, each->kind,
                                    (long long)each->count, each->share, each->total_us,
                                    each->p50_us, each->p95_us, each->p99_us, each->max_us);
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Returns a list of (first, number of findings, number of tensors). */
static PyObject *EvidenceOf(const smd_evidence *evidence, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    const smd_evidence *each = &evidence[i];
    PyObject *first = FindingToTuple(each->first);
    PyObject *tuple = first == NULL ? NULL
                                    : Py_BuildValue("(NLL)", first, (long long)each->finding_count,
                                                    (long long)each->tensor_count);
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  return list;
}

/* Returns the fields in the order of smdebug.core.diagnosis.Cause. */
static PyObject *CauseToTuple(const smd_cause *cause) {
  PyObject *evidence = EvidenceOf(cause->evidence, cause->evidence_count);
  PyObject *missing = PyList_New((Py_ssize_t)cause->missing_count);
  for (size_t i = 0; missing != NULL && i < cause->missing_count; ++i) {
    PyObject *rule = Text(cause->missing[i]);
    if (rule == NULL || PyList_SetItem(missing, (Py_ssize_t)i, rule) < 0) Py_CLEAR(missing);
  }
  if (evidence == NULL || missing == NULL) {
    Py_XDECREF(evidence);
    Py_XDECREF(missing);
    return NULL;
  }
  return Py_BuildValue("(ssdssNN)", cause->id, cause->title, cause->confidence, cause->advice,
                       cause->link, evidence, missing);
}

/* Returns NULL with an exception set if there is none. */
static smd_diagnosis *DiagnosisOf(PyObject *handle) {
  smd_rule_set *set = SmdNativePointer(handle, SMD_NATIVE_RULE_SET);
  smd_diagnosis *diagnosis = NULL;
  smd_error *error;
  if (set == NULL) return NULL;
  error = smd_rule_set_diagnose(set, &diagnosis);
  if (error != NULL) SmdNativeRaise(error);
  return diagnosis;
}

/* diagnose(set) -> list of tuples */
PyObject *SmdDiagnose(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_diagnosis *diagnosis = DiagnosisOf(handle);
  PyObject *list;
  if (diagnosis == NULL) return NULL;
  list = PyList_New((Py_ssize_t)smd_diagnosis_count(diagnosis));
  for (size_t i = 0; list != NULL && i < smd_diagnosis_count(diagnosis); ++i) {
    PyObject *tuple = CauseToTuple(smd_diagnosis_get(diagnosis, i));
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  smd_diagnosis_free(diagnosis);
  return list;
}

/* diagnosis_seen(set) -> list of (first, number of findings, number of tensors) */
PyObject *SmdDiagnosisSeen(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_diagnosis *diagnosis = DiagnosisOf(handle);
  PyObject *list;
  if (diagnosis == NULL) return NULL;
  /* The checks lie one behind the other. */
  list = EvidenceOf(smd_diagnosis_seen(diagnosis, 0), smd_diagnosis_seen_count(diagnosis));
  smd_diagnosis_free(diagnosis);
  return list;
}

static PyObject *ParametersOf(const smd_rule_info *info) {
  PyObject *list = PyList_New((Py_ssize_t)info->parameter_count);
  for (size_t i = 0; list != NULL && i < info->parameter_count; ++i) {
    const smd_rule_parameter *each = info->parameters[i];
    PyObject *tuple =
        Py_BuildValue("(ssss)", each->name, each->aws, each->calibrated, each->meaning);
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *RuleToTuple(const smd_rule_info *info) {
  PyObject *parameters = ParametersOf(info);
  if (parameters == NULL) return NULL;
  return Py_BuildValue("(ssNs)", info->name, info->summary, parameters, info->set);
}

/* builtin_rules() -> list of (name, summary, list of (name, aws, calibrated, meaning), set) */
PyObject *SmdBuiltinRules(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  const size_t count = smd_builtin_rule_count();
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *tuple = RuleToTuple(smd_builtin_rule(i));
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  return list;
}

/* profile_rules() -> the same of the rules over profiles */
PyObject *SmdProfileRules(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
  const size_t count = smd_profile_rule_count();
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *tuple = RuleToTuple(smd_profile_rule(i));
    if (tuple == NULL || PyList_SetItem(list, (Py_ssize_t)i, tuple) < 0) Py_CLEAR(list);
  }
  return list;
}

/* evaluate(set, trial, first, end, flags) -> (list of tuples, exception or None) */
PyObject *SmdEvaluate(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *handles[2];
  PyObject *list;
  PyObject *exception;
  long long first;
  long long end;
  unsigned int flags;
  smd_rule_set *set;
  smd_trial *trial;
  smd_findings *findings = NULL;
  smd_error *error;
  if (!PyArg_ParseTuple(args, "OOLLI:evaluate", &handles[0], &handles[1], &first, &end, &flags)) {
    return NULL;
  }
  set = SmdNativePointer(handles[0], SMD_NATIVE_RULE_SET);
  trial = set == NULL ? NULL : SmdNativePointer(handles[1], SMD_NATIVE_TRIAL);
  if (trial == NULL) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = smd_rule_set_evaluate(set, trial, first, end, flags, &findings);
  Py_END_ALLOW_THREADS
  list = FindingsToList(findings);
  exception = error == NULL ? Py_NewRef(Py_None) : SmdNativeException(error);
  if (list == NULL || exception == NULL) {
    Py_XDECREF(list);
    Py_XDECREF(exception);
    return NULL;
  }
  return Py_BuildValue("(NN)", list, exception);
}

/* ---- rules written in Python ---------------------------------------------------- */

/* How a call has ended, next to SMD_RULE_CONTINUE and SMD_RULE_FINISHED; as in
 * rules/function_calls.py. */
enum { kSkipped = -2, kFailed = -1 };

/* Adds (check, tensor, worker, message, action, value, limit, level) to the findings.  Returns -1
 * with an exception set. */
static int AddFinding(smd_findings *findings, PyObject *item) {
  smd_finding finding = SMD_FINDING_INIT;
  int action;
  int level;
  smd_error *error;
  if (!PyArg_ParseTuple(item, "ssssiddi", &finding.check, &finding.tensor, &finding.worker,
                        &finding.message, &action, &finding.value, &finding.limit, &level)) {
    return -1;
  }
  finding.action = action;
  finding.level = level;
  error = smd_findings_add(findings, &finding);
  if (error == NULL) return 0;
  SmdNativeRaise(error);
  return -1;
}

/* `answer` is (findings, how the call has ended). */
static int32_t TakeAnswer(PyObject *answer, smd_findings *findings, smd_error **error) {
  PyObject *list;
  int outcome;
  if (!PyArg_ParseTuple(answer, "O!i", &PyList_Type, &list, &outcome)) return kFailed;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    if (AddFinding(findings, PyList_GetItem(list, i)) < 0) return kFailed;
  }
  if (outcome == kSkipped) {
    *error = smd_error_new(SMD_VALUE_UNAVAILABLE, "data that the rule needs is missing");
  }
  return outcome;
}

typedef struct {
  PyObject *function;
  int64_t step;
  smd_findings *findings;
  smd_error **error;
  int32_t result;
} Invocation;

static void InvokeWithLock(void *argument) {
  Invocation *call = argument;
  PyObject *answer = PyObject_CallFunction(call->function, "L", (long long)call->step);
  if (answer != NULL) call->result = TakeAnswer(answer, call->findings, call->error);
  Py_XDECREF(answer);
  /* The function keeps its own exceptions; see RuleSet. */
  if (PyErr_Occurred()) PyErr_WriteUnraisable(call->function);
}

static int32_t Invoke(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                      smd_error **error) {
  Invocation call = {self, step, findings, error, kFailed};
  (void)trial;
  SmdNativeWithLock(InvokeWithLock, &call);
  return call.result;
}

static void Release(void *function) { Py_DECREF((PyObject *)function); }

static void Destroy(void *self) {
  /* During interpreter shutdown, the process frees the memory. */
  if (Py_IsInitialized()) SmdNativeWithLock(Release, self);
}

/* add_function(set, name, function, action); function(step) returns what TakeAnswer() expects */
PyObject *SmdAddFunction(PyObject *Py_UNUSED(module), PyObject *args) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  PyObject *handle;
  PyObject *function;
  const char *name;
  int action;
  smd_rule_set *set;
  smd_error *error;
  if (!PyArg_ParseTuple(args, "OsOi:add_function", &handle, &name, &function, &action)) return NULL;
  set = SmdNativePointer(handle, SMD_NATIVE_RULE_SET);
  if (set == NULL) return NULL;
  ops.invoke = Invoke;
  ops.destroy = Destroy;
  error = smd_rule_set_add_function(set, name, &ops, Py_NewRef(function), action);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}
