package smdebug

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
)

// Rule is a condition that is evaluated at each step of a trial.
type Rule interface {
	// Name returns the name that findings and errors use for the rule.
	Name() string

	// InvokeAtStep evaluates a complete global step and reports whether the condition
	// holds.  The trial is not refreshed during the call.
	//
	// If the error says that a step, tensor, value or shape is unavailable, the step is
	// skipped.  [ErrEndRun] ends the run without an error; any other error ends the run
	// with it.
	InvokeAtStep(ctx context.Context, trial *Trial, step int64) (bool, error)
}

// Explainer is a [Rule] that describes its last finding in a sentence.
type Explainer interface {
	LastFinding() string
}

// ErrEndRun ends a run: a rule returns it if it has nothing more to evaluate.  If the rule
// also returns true, the step is a finding.
var ErrEndRun = errors.New("smdebug: the rule has nothing more to evaluate")

// RunOptions select the steps that a rule evaluates.
type RunOptions struct {
	FirstStep     int64
	EndStep       int64 // first step not evaluated; 0: until the job ends
	StopAtFinding bool  // end the run at the first finding, with ErrRuleConditionMet
}

// RunRule evaluates a rule on one global step after the other, during or after the job.  It
// skips steps that were not saved.  It returns the findings made before an error together
// with the error.  The message of a finding comes from the [Explainer], or is "".
//
// ctx ends the wait for steps; a rule that takes long must check it itself.  A panic of the
// rule becomes an [*Error] with the code [ErrCallbackFailed] and the detail "stack".
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
			findings = append(findings, findingOf(rule, trial, step))
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

func findingOf(rule Rule, trial *Trial, step int64) Finding {
	finding := Finding{
		Rule:     rule.Name(),
		Message:  explain(rule),
		Step:     step,
		Mode:     Global,
		ModeStep: step,
		Action:   ActionWarn,
		Value:    math.NaN(),
		Limit:    math.NaN(),
	}
	if modeStep, mode, err := trial.ModeStep(step); err == nil && modeStep >= 0 {
		finding.Mode, finding.ModeStep = mode, modeStep
	}
	return finding
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
