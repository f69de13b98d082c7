package smdebug

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// RuleFunction is a rule of a [RuleSet] that the caller wrote: it evaluates one step and reports
// what it finds there.  ctx is that of the evaluation.
//
// If the error says that a step, tensor, value or shape is unavailable, the step is skipped.  Any
// other error ends the evaluation, which returns it, wrapped.  A panic ends the evaluation, too,
// and panics in the goroutine that evaluates, with the same value; so does [runtime.Goexit].
//
// The function runs on a goroutine of its own, while the evaluation waits for it.  It may use any
// trial, hook or rule set.  While it runs, its own rule set cannot be changed or evaluated; if it
// closes that, the evaluation ends before the next step.
type RuleFunction func(ctx context.Context, step *RuleStep) error

// RuleStep is one step of a trial that a [RuleFunction] evaluates.  It is valid until the function
// returns; after that, Report fails with [ErrWrongState].
type RuleStep struct {
	trial *Trial
	step  int64

	mutex      sync.Mutex
	findings   raw.Smd_findings // nil once the function has returned
	isFinished bool
}

// Trial returns the trial that is evaluated.  It is not refreshed while it is evaluated.
func (s *RuleStep) Trial() *Trial { return s.trial }

// Step returns the number of the global step.
func (s *RuleStep) Step() int64 { return s.step }

// Report adds a finding.  The rule set fills in its Rule, Step, Mode and ModeStep; of its Action
// and that of the rule, the more severe one holds, unless its Level is LevelWorthALook.  A Value or Limit that does not apply is NaN;
// see [RuleStep.Reportf].
func (s *RuleStep) Report(finding Finding) error {
	for _, text := range []string{finding.Check, finding.Tensor, finding.Worker, finding.Message} {
		if err := checkText("text of a finding", text); err != nil {
			return err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.findings == nil {
		return &Error{
			Code: ErrWrongState,
			Message: fmt.Sprintf("the rule's function has returned from step %d; "+
				"report findings before that", s.step),
		}
	}
	return take(raw.FindingsAdd(s.findings, raw.Finding{
		Check:   finding.Check,
		Tensor:  finding.Tensor,
		Worker:  finding.Worker,
		Message: finding.Message,
		Action:  int32(finding.Action),
		Value:   finding.Value,
		Limit:   finding.Limit,
		Level:   int32(finding.Level),
	}))
}

// Reportf adds a finding that has only a message.
func (s *RuleStep) Reportf(format string, arguments ...any) error {
	return s.Report(Finding{
		Message: fmt.Sprintf(format, arguments...),
		Value:   math.NaN(),
		Limit:   math.NaN(),
	})
}

// Finish ends the rule: unless the function fails, it is not called again until the rule set is
// reset.
func (s *RuleStep) Finish() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isFinished = true
}

// end ends the use of the findings, and returns whether Finish was called.
func (s *RuleStep) end() (isFinished bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.findings = nil
	return s.isFinished
}

// AddFunction adds a rule that the caller wrote, before the first step is evaluated.  Findings name
// it, and recommend at least the action.  A rule set with such a rule reads a trial, so it cannot
// be attached to a hook.
//
// The rule set keeps the function until it is closed or garbage collected.
func (r *RuleSet) AddFunction(name string, function RuleFunction, action Action) error {
	if err := checkText("rule", name); err != nil {
		return err
	}
	if function == nil {
		return invalidArgument("the rule '" + name + "' needs a function")
	}
	handle, err := r.handle.acquire()
	if err != nil {
		return err
	}
	defer r.handle.release()
	return r.functions.add(namedFunction{name, function}, func(number int) error {
		return take(raw.RuleSetAddFunction(handle, name, number, int32(action)))
	})
}

type namedFunction struct {
	name     string
	function RuleFunction
}

// ruleFunctions are the functions of one rule set.  C knows them by their numbers, so that the
// garbage collector may free a rule set to which its own functions refer.
type ruleFunctions struct {
	mutex sync.Mutex
	list  []namedFunction
}

func (f *ruleFunctions) add(function namedFunction, add func(number int) error) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := add(len(f.list)); err != nil {
		return err
	}
	f.list = append(f.list, function)
	return nil
}

func (f *ruleFunctions) at(number int) namedFunction {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.list[number]
}

func (f *ruleFunctions) drop() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.list = nil
}

// functionCalls calls the functions of a rule set during one evaluation, and keeps how the one that
// failed has ended.
type functionCalls struct {
	ctx       context.Context
	trial     *Trial
	functions *ruleFunctions
	failure   error
	panicked  any
	hasExited bool
}

// invoke is the raw layer's Invoke.
func (c *functionCalls) invoke(number int, at int64, findings raw.Smd_findings) int32 {
	called := c.functions.at(number)
	step := &RuleStep{trial: c.trial, step: at, findings: findings}
	err := c.call(called.function, step)
	isFinished := step.end()
	switch {
	case c.panicked != nil || c.hasExited:
		return raw.RuleFailed
	case err != nil && isMissingData(err):
		return raw.RuleSkipped
	case err != nil:
		c.failure = fmt.Errorf("smdebug: rule %s at step %d: %w", called.name, at, err)
		return raw.RuleFailed
	case isFinished:
		return raw.RuleFinished
	}
	return raw.RuleContinue
}

// call calls a function on a goroutine of its own.  A panic must not unwind through C, and Goexit,
// which t.FailNow calls, unwinds a goroutine to its end.
func (c *functionCalls) call(function RuleFunction, step *RuleStep) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		hasReturned := false
		defer func() {
			if c.panicked = recover(); c.panicked == nil && !hasReturned {
				c.hasExited = true
			}
		}()
		err = function(c.ctx, step)
		hasReturned = true
	}()
	<-done
	return err
}

// end ends the evaluation as its functions have ended, or else with the library's error.
func (c *functionCalls) end(err error) error {
	switch {
	case c.panicked != nil:
		panic(c.panicked)
	case c.hasExited:
		runtime.Goexit()
	case c.failure == nil:
		return err
	case errors.Is(err, ErrRuleConditionMet):
		return errors.Join(err, c.failure)
	}
	return c.failure
}
