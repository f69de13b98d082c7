package smdebug

import (
	"fmt"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Finding is what a rule found at one step.
type Finding struct {
	Rule     string
	Check    string  // which of the rule's checks it was; "" for rules with one
	Tensor   string  // the culprit, or ""
	Worker   string  // the worker that recorded it, or ""
	Message  string  // all that in one sentence
	Step     int64   // the global step
	Mode     Mode    // the step's mode
	ModeStep int64   // its number in that mode
	Action   Action  // what the finding recommends
	Value    float64 // what was measured; NaN if nothing was
	Limit    float64 // the limit that Value passed; NaN if there is none
	Level    Level   // how sure it is
}

// String is the finding as a line of a log.
func (f Finding) String() string {
	look := ""
	if f.Level == LevelWorthALook {
		look = "worth a look: "
	}
	return fmt.Sprintf("%s%s at step %d: %s", look, f.Rule, f.Step, f.Message)
}

// RuleResult is the summary of one rule.
type RuleResult struct {
	Rule         string
	Status       RuleStatus
	FindingCount int64    // without those worth a look
	LookCount    int64    // the findings worth a look
	Message      string   // the first finding, or why there is none
	First        *Finding // the first finding; if there is none, the first worth a look; or nil
}

// String is the result as a line of a log.
func (r RuleResult) String() string { return r.Rule + ": " + r.Message }

// RuleStatus is what a rule reports about all steps that it has evaluated.
type RuleStatus int32

// The statuses.
const (
	RulePassed        RuleStatus = 0 // evaluated, without a finding
	RuleHasFindings   RuleStatus = 1
	RuleNoTensors     RuleStatus = 2 // no matching tensors
	RuleNotEnoughData RuleStatus = 3 // matching tensors, but the rule needs more of them
	RuleWorthALook    RuleStatus = 4 // nothing but findings worth a look
)

// String is the status's name, as "HAS_FINDINGS".
func (s RuleStatus) String() string {
	switch s {
	case RulePassed:
		return "PASSED"
	case RuleHasFindings:
		return "HAS_FINDINGS"
	case RuleNoTensors:
		return "NO_TENSORS"
	case RuleNotEnoughData:
		return "NOT_ENOUGH_DATA"
	case RuleWorthALook:
		return "WORTH_A_LOOK"
	}
	return nameOf("RuleStatus", "", int(s))
}

// Level is how sure a finding is.
type Level int32

// The levels.
const (
	LevelFinding    Level = 0 // something is wrong
	LevelWorthALook Level = 1 // may be wrong; the Action is always ActionContinue
)

// String is the level's name, as "WORTH_A_LOOK".
func (l Level) String() string {
	switch l {
	case LevelFinding:
		return "FINDING"
	case LevelWorthALook:
		return "WORTH_A_LOOK"
	}
	return nameOf("Level", "", int(l))
}

// Action is what a finding recommends; the most severe is the greatest.
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

// outFindings returns the findings that a raw call returns, which it does also with an error.
func outFindings(call func(out raw.Smd_findings) raw.Smd_error) ([]Finding, error) {
	list, err := findingsSlot.out(call)
	taken := raw.TakeFindings(list)
	findings := make([]Finding, len(taken))
	for i, from := range taken {
		findings[i] = toFinding(from)
	}
	return findings, err
}

func toFinding(from raw.Finding) Finding {
	return Finding{
		Rule:     from.Rule,
		Check:    from.Check,
		Tensor:   from.Tensor,
		Worker:   from.Worker,
		Message:  from.Message,
		Step:     from.Step,
		Mode:     Mode(from.Mode),
		ModeStep: from.ModeStep,
		Action:   Action(from.Action),
		Value:    from.Value,
		Limit:    from.Limit,
		Level:    Level(from.Level),
	}
}

func toResult(from raw.Result) RuleResult {
	result := RuleResult{
		Rule:         from.Rule,
		Status:       RuleStatus(from.Status),
		FindingCount: from.Count,
		LookCount:    from.Looks,
		Message:      from.Message,
	}
	if from.First != nil {
		first := toFinding(*from.First)
		result.First = &first
	}
	return result
}
