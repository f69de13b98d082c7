package raw

/*
#include <stdlib.h>
#include <smdebug.h>

extern int32_t smdebugGoInvoke(uintptr_t invoke, uintptr_t rule, int64_t step, uintptr_t findings);

// The Go handle of the evaluation that this thread is inside.  A rule's function is called on the
// thread that evaluates, so nothing that C keeps refers to Go.
static _Thread_local uintptr_t current;

static int32_t invoke_rule(void *rule, smd_trial *trial, int64_t step, smd_findings *findings,
                           smd_error **error) {
  int32_t answer;
  (void)trial;
  if (current == 0) return -1;
  answer = smdebugGoInvoke(current, (uintptr_t)rule, step, (uintptr_t)findings);
  if (answer == -2) {
    *error = smd_error_new(SMD_VALUE_UNAVAILABLE, "data that the rule needs is missing");
  }
  return answer;
}

static uintptr_t rule_set_add_function(uintptr_t set, const char *name, uintptr_t rule,
                                       smd_action action) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  ops.invoke = invoke_rule;
  return (uintptr_t)smd_rule_set_add_function((smd_rule_set *)set, name, &ops, (void *)rule, action);
}

static uintptr_t rule_set_evaluate(uintptr_t set, uintptr_t trial, int64_t first, int64_t end,
                                   uint32_t flags, uintptr_t out, uintptr_t invoke) {
  const uintptr_t outer = current;
  smd_error *error;
  current = invoke;
  error = smd_rule_set_evaluate((smd_rule_set *)set, (smd_trial *)trial, first, end, flags,
                                (smd_findings **)out);
  current = outer;
  return (uintptr_t)error;
}

static uintptr_t findings_add(uintptr_t list, const char *check, const char *tensor,
                              const char *worker, const char *message, smd_action action,
                              double value, double limit, smd_level level) {
  smd_finding finding = SMD_FINDING_INIT;
  finding.check = check;
  finding.tensor = tensor;
  finding.worker = worker;
  finding.message = message;
  finding.action = action;
  finding.value = value;
  finding.limit = limit;
  finding.level = level;
  return (uintptr_t)smd_findings_add((smd_findings *)list, &finding);
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// What Invoke returns.
const (
	RuleContinue int32 = C.SMD_RULE_CONTINUE
	RuleFinished int32 = C.SMD_RULE_FINISHED
	RuleFailed   int32 = -1
	RuleSkipped  int32 = -2 // data that the rule needs is missing
)

// The flags of RuleSetEvaluate.
const (
	StopAtFinding     uint32 = C.SMD_EVALUATE_STOP_AT_FINDING
	IncludeIncomplete uint32 = C.SMD_EVALUATE_INCOMPLETE
)

// Invoke calls the rule of a caller that RuleSetAddFunction has given that number.  The findings
// are valid during the call.  It must not panic.
type Invoke func(rule int, step int64, findings Smd_findings) int32

// RuleSetAddFunction is smd_rule_set_add_function of a rule that Invoke knows by its number.
func RuleSetAddFunction(set Smd_rule_set, name string, rule int, action int32) Smd_error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return SwigcptrSmd_error(C.rule_set_add_function(C.uintptr_t(set.Swigcptr()), text,
		C.uintptr_t(rule), C.smd_action(action)))
}

// RuleSetEvaluate is smd_rule_set_evaluate; invoke calls the rules of the caller.
func RuleSetEvaluate(set Smd_rule_set, trial Smd_trial, first, end int64, flags uint32,
	out Smd_findings, invoke Invoke) Smd_error {
	handle := cgo.NewHandle(invoke)
	defer handle.Delete()
	return SwigcptrSmd_error(C.rule_set_evaluate(C.uintptr_t(set.Swigcptr()),
		C.uintptr_t(trial.Swigcptr()), C.int64_t(first), C.int64_t(end), C.uint32_t(flags),
		C.uintptr_t(out.Swigcptr()), C.uintptr_t(handle)))
}

// FindingsAdd is smd_findings_add; the library fills in the rule, the step and the mode.
func FindingsAdd(list Smd_findings, finding Finding) Smd_error {
	var texts [4]*C.char
	for i, text := range []string{finding.Check, finding.Tensor, finding.Worker, finding.Message} {
		texts[i] = C.CString(text)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	return SwigcptrSmd_error(C.findings_add(C.uintptr_t(list.Swigcptr()), texts[0], texts[1],
		texts[2], texts[3], C.smd_action(finding.Action), C.double(finding.Value),
		C.double(finding.Limit), C.smd_level(finding.Level)))
}

//export smdebugGoInvoke
func smdebugGoInvoke(invoke, rule C.uintptr_t, step C.int64_t, findings C.uintptr_t) C.int32_t {
	call := cgo.Handle(invoke).Value().(Invoke)
	return C.int32_t(call(int(rule), int64(step), SwigcptrSmd_findings(findings)))
}
