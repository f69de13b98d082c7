package smdebug

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
)

// Rule is a question asked of a trial at one step after another.
type Rule interface {
	// Name is what findings and errors call the rule.
	Name() string

	// InvokeAtStep judges a global step that is there, and says whether the condition
	// holds.  The trial stands still meanwhile.
	//
	// An error that says a step, tensor, value or shape is not there passes the step
	// over, [ErrEndRun] ends the run well, any other ends it.
	InvokeAtStep(ctx context.Context, trial *Trial, step int64) (bool, error)
}

// Explainer is a [Rule] that has a sentence about its last finding.
type Explainer interface {
	LastFinding() string
}

// ErrEndRun is what a rule returns that has nothing more to judge; beside true, the step
// is a finding.
var ErrEndRun = errors.New("smdebug: the rule has nothing more to judge")

// Finding is a step at which a rule's condition held.
type Finding struct {
	Step    int64
	Message string // what an [Explainer] says, else ""
}

// RunOptions say which steps a rule judges.
type RunOptions struct {
	FirstStep     int64
	EndStep       int64 // not judged from here on; 0: until the job ends
	StopAtFinding bool  // the first ends the run with ErrRuleConditionMet
}

// RunRule lets a rule judge one global step after the other, while the job runs or after
// it.  Steps that were not saved are passed over.  It returns what was found until then
// also with an error.
//
// ctx ends waiting for steps; a rule that takes long looks at it by itself.  A panic of
// the rule becomes an [*Error] with the code [ErrCallbackFailed] and the detail "stack".
func RunRule(ctx context.Context, rule Rule, trial *Trial, options RunOptions) ([]Finding, error) {
	var findings []Finding
	for step, err := range trial.follow(ctx, Global, options.FirstStep, options.EndStep) {
		if err != nil {
			return findings, err
		}
		isMet, err := invokeStandingStill(ctx, rule, trial, step)
		isLast := errors.Is(err, ErrEndRun)
		if err != nil && !isLast {
			if isMissingData(err) {
				continue
			}
			return findings, fmt.Errorf("smdebug: rule %s at step %d: %w", rule.Name(), step, err)
		}
		if isMet {
			findings = append(findings, Finding{step, explain(rule)})
			if options.StopAtFinding {
				return findings, conditionMet(rule, findings[len(findings)-1])
			}
		}
		if isLast {
			break
		}
	}
	return findings, nil
}

func invokeStandingStill(ctx context.Context, rule Rule, trial *Trial, step int64) (isMet bool, err error) {
	defer trial.Still()()
	defer func() {
		if panicked := recover(); panicked != nil {
			isMet, err = false, panicError(panicked)
		}
	}()
	return rule.InvokeAtStep(ctx, trial, step)
}

func panicError(panicked any) error {
	err := &Error{Code: ErrCallbackFailed, Message: fmt.Sprintf("panic: %v", panicked)}
	err.setDetail("stack", string(debug.Stack()))
	err.cause, _ = panicked.(error)
	return err
}

func isMissingData(err error) bool {
	for _, code := range []Code{ErrStepUnavailable, ErrTensorUnavailable, ErrValueUnavailable, ErrShapeUnavailable} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func explain(rule Rule) string {
	if explainer, ok := rule.(Explainer); ok {
		return explainer.LastFinding()
	}
	return ""
}

func conditionMet(rule Rule, finding Finding) error {
	err := &Error{
		Code:    ErrRuleConditionMet,
		Message: fmt.Sprintf("%s is met at step %d", rule.Name(), finding.Step),
	}
	if finding.Message != "" {
		err.Message += ": " + finding.Message
	}
	err.setDetail("rule", rule.Name())
	err.setDetail("step", strconv.FormatInt(finding.Step, 10))
	return err
}
