package raw

/*
#include <smdebug.h>

// Handles come as numbers, as in cgo.go.

static const smd_finding *findings_get(uintptr_t list, size_t index) {
  return smd_findings_get((const smd_findings *)list, index);
}
static const smd_rule_result *results_get(uintptr_t list, size_t index) {
  return smd_rule_results_get((const smd_rule_results *)list, index);
}
static const smd_cause *diagnosis_get(uintptr_t list, size_t index) {
  return smd_diagnosis_get((const smd_diagnosis *)list, index);
}
*/
import "C"

import "unsafe"

// Finding is smd_finding.
type Finding struct {
	Rule, Check, Tensor, Worker, Message string
	Step, ModeStep                       int64
	Mode, Action, Level                  int32
	Value, Limit                         float64
}

// Result is smd_rule_result; First is nil without findings of any level.
type Result struct {
	Rule, Message string
	Status        int32
	Count, Looks  int64
	First         *Finding
}

// Evidence is smd_evidence.
type Evidence struct {
	First             Finding
	Findings, Tensors int64
}

// Cause is smd_cause.
type Cause struct {
	ID, Title, Advice, Link string
	Confidence              float64
	Evidence                []Evidence
	Missing                 []string
}

// Parameter is smd_rule_parameter.
type Parameter struct {
	Name, AWS, Calibrated, Meaning string
}

// Info is smd_rule_info.
type Info struct {
	Name, Summary string
	Parameters    []Parameter
}

func toFinding(from *C.smd_finding) Finding {
	return Finding{
		Rule:     C.GoString(from.rule),
		Check:    C.GoString(from.check),
		Tensor:   C.GoString(from.tensor),
		Worker:   C.GoString(from.worker),
		Message:  C.GoString(from.message),
		Step:     int64(from.step),
		ModeStep: int64(from.mode_step),
		Mode:     int32(from.mode),
		Action:   int32(from.action),
		Value:    float64(from.value),
		Limit:    float64(from.limit),
		Level:    int32(from.level),
	}
}

// TakeFindings returns the findings of a list, and frees it.
func TakeFindings(list Smd_findings) []Finding {
	defer Smd_findings_free(list)
	taken := make([]Finding, Smd_findings_count(list))
	for i := range taken {
		taken[i] = toFinding(C.findings_get(C.uintptr_t(list.Swigcptr()), C.size_t(i)))
	}
	return taken
}

// TakeResults returns the results of a list, and frees it.
func TakeResults(list Smd_rule_results) []Result {
	defer Smd_rule_results_free(list)
	taken := make([]Result, Smd_rule_results_count(list))
	for i := range taken {
		from := C.results_get(C.uintptr_t(list.Swigcptr()), C.size_t(i))
		taken[i] = Result{
			Rule:    C.GoString(from.rule),
			Message: C.GoString(from.message),
			Status:  int32(from.status),
			Count:   int64(from.finding_count),
			Looks:   int64(from.look_count),
		}
		if from.first != nil {
			first := toFinding(from.first)
			taken[i].First = &first
		}
	}
	return taken
}

// TakeDiagnosis returns the causes of a list, and frees it.
func TakeDiagnosis(list Smd_diagnosis) []Cause {
	defer Smd_diagnosis_free(list)
	taken := make([]Cause, Smd_diagnosis_count(list))
	for i := range taken {
		taken[i] = toCause(C.diagnosis_get(C.uintptr_t(list.Swigcptr()), C.size_t(i)))
	}
	return taken
}

func toCause(from *C.smd_cause) Cause {
	cause := Cause{
		ID:         C.GoString(from.id),
		Title:      C.GoString(from.title),
		Advice:     C.GoString(from.advice),
		Link:       C.GoString(from.link),
		Confidence: float64(from.confidence),
	}
	for _, each := range unsafe.Slice(from.evidence, int(from.evidence_count)) {
		cause.Evidence = append(cause.Evidence, Evidence{
			First:    toFinding(each.first),
			Findings: int64(each.finding_count),
			Tensors:  int64(each.tensor_count),
		})
	}
	for _, each := range unsafe.Slice(from.missing, int(from.missing_count)) {
		cause.Missing = append(cause.Missing, C.GoString(each))
	}
	return cause
}

// BuiltinRules returns all built-in rules.
func BuiltinRules() []Info {
	rules := make([]Info, C.smd_builtin_rule_count())
	for i := range rules {
		from := C.smd_builtin_rule(C.size_t(i))
		rules[i] = Info{Name: C.GoString(from.name), Summary: C.GoString(from.summary)}
		for _, each := range unsafe.Slice(from.parameters, int(from.parameter_count)) {
			rules[i].Parameters = append(rules[i].Parameters, Parameter{
				Name:       C.GoString(each.name),
				AWS:        C.GoString(each.aws),
				Calibrated: C.GoString(each.calibrated),
				Meaning:    C.GoString(each.meaning),
			})
		}
	}
	return rules
}
