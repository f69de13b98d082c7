package smdebug

import (
	"fmt"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Verdict is one thing that a rule of a [Panel] says: a finding at a step, or what is to
// be said of a whole run.
type Verdict struct {
	Rule     string
	Status   VerdictStatus
	Action   Action  // what is to be done about a finding
	Step     int64   // the global step of a finding; -1 for what is said of a whole run
	Mode     Mode    // what the step was done for; Global of a whole run
	ModeStep int64   // its number in that mode, or -1
	Worker   string  // who recorded it; "" where that is not said
	Tensor   string  // the one that did it; "" where that is not said
	Value    float64 // what was measured; NaN where nothing was
	Limit    float64 // the limit that it passed; NaN where there is none
	Label    string  // which of the rule's checks it was; "" for rules with one
	Message  string  // all that in one sentence
}

// String is the verdict as a line of a log.
func (v Verdict) String() string {
	if v.Step < 0 {
		return v.Rule + ": " + v.Message
	}
	return fmt.Sprintf("%s at step %d: %s", v.Rule, v.Step, v.Message)
}

// VerdictStatus is what a verdict says.
type VerdictStatus int32

// What a verdict says.  StatusFinding is said of a step; of a whole run, any of them.
const (
	StatusNoIssue       VerdictStatus = 0 // judged, and nothing found
	StatusFinding       VerdictStatus = 1
	StatusNoTensor      VerdictStatus = 2 // no tensor is one that the rule looks at
	StatusNotEnoughData VerdictStatus = 3 // there was not enough to judge by
)

// String is the status's name, as "FINDING".
func (s VerdictStatus) String() string {
	switch s {
	case StatusNoIssue:
		return "NO_ISSUE"
	case StatusFinding:
		return "FINDING"
	case StatusNoTensor:
		return "NO_TENSOR"
	case StatusNotEnoughData:
		return "NOT_ENOUGH_DATA"
	}
	return nameOf("VerdictStatus", "", int(s))
}

// Action is what is to be done about a finding; the most severe is the greatest.
type Action int32

// The actions.
const (
	ActionContinue Action = 0
	ActionWarn     Action = 1
	ActionStop     Action = 2
)

// String is the action's name, as "STOP".
func (a Action) String() string {
	switch a {
	case ActionContinue:
		return "CONTINUE"
	case ActionWarn:
		return "WARN"
	case ActionStop:
		return "STOP"
	}
	return nameOf("Action", "", int(a))
}

// outVerdicts returns those that a raw call gives out, which it does also with an error.
func outVerdicts(call func(out raw.Smd_verdicts) raw.Smd_error) ([]Verdict, error) {
	list, err := verdictsSlot.out(call)
	defer raw.Smd_verdicts_free(list)
	verdicts := make([]Verdict, raw.Smd_verdicts_count(list))
	for i := range verdicts {
		verdicts[i] = verdictAt(list, int64(i))
	}
	return verdicts, err
}

func verdictAt(list raw.Smd_verdicts, at int64) Verdict {
	return Verdict{
		Rule:     raw.Smd_verdicts_rule(list, at),
		Status:   VerdictStatus(raw.Smd_verdicts_status(list, at)),
		Action:   Action(raw.Smd_verdicts_action(list, at)),
		Step:     raw.Smd_verdicts_step(list, at),
		Mode:     Mode(raw.Smd_verdicts_mode(list, at)),
		ModeStep: raw.Smd_verdicts_mode_step(list, at),
		Worker:   raw.Smd_verdicts_worker(list, at),
		Tensor:   raw.Smd_verdicts_tensor(list, at),
		Value:    raw.Smd_verdicts_value(list, at),
		Limit:    raw.Smd_verdicts_limit(list, at),
		Label:    raw.Smd_verdicts_label(list, at),
		Message:  raw.Smd_verdicts_message(list, at),
	}
}
