package smdebug_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func ruleSetOf(t testing.TB, functions ...smdebug.RuleFunction) *smdebug.RuleSet {
	t.Helper()
	rules := got(smdebug.NewRuleSet(smdebug.ProfileAWS))(t)
	t.Cleanup(func() { rules.Close() })
	for i, function := range functions {
		must(t, rules.AddFunction(fmt.Sprintf("Own%d", i), function, smdebug.ActionWarn))
	}
	return rules
}

// evaluated evaluates all steps of a trial.
func evaluated(rules *smdebug.RuleSet, trial *smdebug.Trial) ([]smdebug.Finding, error) {
	return rules.Evaluate(context.Background(), trial, smdebug.StepRange{})
}

// says describes findings by rule, step and action.
func says(findings []smdebug.Finding) []string {
	var lines []string
	for _, each := range findings {
		lines = append(lines, fmt.Sprintf("%s %d %v", each.Rule, each.Step, each.Action))
	}
	return lines
}

func mustSay(t testing.TB, findings []smdebug.Finding, want ...string) {
	t.Helper()
	if lines := says(findings); !slices.Equal(lines, want) {
		t.Errorf("%q is not %q", lines, want)
	}
}

func TestFunctionsMixWithBuiltinRules(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 9))
	rules := got(newRuleSet("1e-7", smdebug.ActionWarn))(t)
	defer rules.Close()
	must(t, rules.AddFunction("Late", func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Step() < 7 {
			return nil
		}
		return step.Reportf("step %d", step.Step())
	}, smdebug.ActionStop))
	must(t, rules.AddFunction("Zero", func(_ context.Context, step *smdebug.RuleStep) error {
		step.Finish()
		return step.Reportf("100 %%")
	}, smdebug.ActionContinue))
	found := got(evaluated(rules, trial))(t)
	mustSay(t, found, "Zero 0 CONTINUE", "Late 7 STOP", "VanishingGradient 8 WARN", "Late 8 STOP")
	if late := found[1]; late.Message != "step 7" || !math.IsNaN(late.Value) || !math.IsNaN(late.Limit) ||
		late.Mode != smdebug.Train || late.ModeStep != 7 {
		t.Errorf("%#v", late)
	}
	results := got(rules.Results())(t)
	if results[1].FindingCount != 2 || results[2].First.Message != "100 %" {
		t.Error(results)
	}
	// The rule that finished is called again after Reset.
	must(t, rules.Reset())
	if again := got(evaluated(rules, trial))(t); !slices.Equal(says(again), says(found)) {
		t.Error(again)
	}
}

func TestAFunctionReportsWholeFindings(t *testing.T) {
	path := recordVanishing(t, 2)
	trial := openTrial(t, path)
	mine := smdebug.Finding{
		Rule: "another", Check: "sign", Tensor: "gradient/w", Worker: "worker_0", Message: "é is negative",
		Step: 99, Action: smdebug.ActionStop, Value: -1, Limit: 0,
	}
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Trial() != trial {
			t.Error("it is another trial")
		}
		tensor, err := step.Trial().Tensor("gradient/w")
		if err != nil {
			return err
		}
		defer tensor.Close()
		least, err := tensor.Reduction(step.Step(), smdebug.Global, "min")
		if err != nil || least > -1 {
			return err
		}
		mustFail(t, step.Report(smdebug.Finding{Message: "a\x00b"}), smdebug.ErrInvalidArgument)
		mustFail(t, step.Report(smdebug.Finding{Action: 7}), smdebug.ErrInvalidArgument)
		return step.Report(mine)
	})
	found := got(evaluated(rules, trial))(t)
	want := mine
	want.Rule, want.Step, want.Mode = "Own0", 0, smdebug.Train
	if len(found) != 1 || found[0] != want {
		t.Errorf("%#v is not %#v", found, want)
	}
}

func TestAFindingWorthALookRecommendsNothing(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 2))
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		return step.Report(smdebug.Finding{
			Message: "large", Action: smdebug.ActionStop, Level: smdebug.LevelWorthALook,
		})
	})
	found := got(evaluated(rules, trial))(t)
	if found[0].Level != smdebug.LevelWorthALook || found[0].Action != smdebug.ActionContinue ||
		found[0].String() != "worth a look: Own0 at step 0: large" {
		t.Errorf("%#v", found[0])
	}
	result := got(rules.Results())(t)[0]
	if result.Status != smdebug.RuleWorthALook || result.FindingCount != 0 ||
		result.LookCount != int64(len(found)) || *result.First != found[0] {
		t.Errorf("%#v", result)
	}
}

func TestAFunctionWithoutDataSkipsTheStep(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 4))
	missing := []error{
		smdebug.ErrStepUnavailable, smdebug.ErrTensorUnavailable,
		fmt.Errorf("wrapped: %w", smdebug.ErrValueUnavailable), smdebug.ErrShapeUnavailable,
	}
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		return missing[step.Step()]
	})
	mustSay(t, got(evaluated(rules, trial))(t))
	if result := got(rules.Results())(t)[0]; result.Status != smdebug.RuleNotEnoughData {
		t.Error(result)
	}
}

type myError struct{ at int64 }

func (e myError) Error() string { return fmt.Sprint("my error at ", e.at) }

func TestAnErrorOfAFunctionComesBack(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 9))
	sentinel := errors.New("sentinel")
	rules := got(newRuleSet("1e9", smdebug.ActionWarn))(t)
	defer rules.Close()
	must(t, rules.AddFunction("Fails", func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Step() == 1 {
			return errors.Join(myError{step.Step()}, sentinel)
		}
		return nil
	}, smdebug.ActionWarn))
	found, err := evaluated(rules, trial)
	var mine myError
	if !errors.As(err, &mine) || mine.at != 1 || !errors.Is(err, sentinel) || errors.Is(err, smdebug.ErrCallbackFailed) {
		t.Error(err)
	}
	if !strings.HasPrefix(err.Error(), "smdebug: rule Fails at step 1: my error at 1") {
		t.Error(err)
	}
	mustSay(t, found, "VanishingGradient 0 WARN", "VanishingGradient 1 WARN")
	// The next evaluation continues after the step.
	if found := got(evaluated(rules, trial))(t); len(found) != 7 {
		t.Error(found)
	}
}

func TestAnErrorOfTheLibraryComesBackFromAFunction(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 1))
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		return two(step.Trial().Collection("none"))
	})
	_, err := evaluated(rules, trial)
	if failure := mustFail(t, err, smdebug.ErrNotFound); failure.Detail("collection") != "none" {
		t.Error(failure)
	}
}

// recovered returns what do panics with.
func recovered(do func()) (value any) {
	defer func() { value = recover() }()
	do()
	return nil
}

func TestAPanicOfAFunctionPanicsInTheEvaluation(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 3))
	mishap := &myError{7}
	second := 0
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Step() == 1 {
			panic(mishap)
		}
		return nil
	}, func(_ context.Context, step *smdebug.RuleStep) error {
		second++
		return step.Reportf("second")
	})
	if value := recovered(func() { evaluated(rules, trial) }); value != any(mishap) {
		t.Error(value)
	}
	if second != 1 {
		t.Error("the panic did not end the step:", second)
	}
	// Nothing is left in use.
	mustSay(t, got(evaluated(rules, trial))(t), "Own1 2 WARN")
	must(t, rules.Reset())
	if value := recovered(func() {
		for range rules.Follow(context.Background(), trial, smdebug.StepRange{}) {
		}
	}); value != any(mishap) {
		t.Error(value)
	}
}

func TestGoexitInAFunctionEndsTheGoroutineThatEvaluates(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 2))
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Step() == 0 {
			runtime.Goexit()
		}
		return step.Reportf("found")
	})
	done, hasReturned := make(chan struct{}), false
	go func() {
		defer close(done)
		evaluated(rules, trial)
		hasReturned = true
	}()
	<-done
	if hasReturned {
		t.Error("the evaluation went on")
	}
	mustSay(t, got(evaluated(rules, trial))(t), "Own0 1 WARN")
}

func TestAStepIsBorrowed(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 3))
	var kept *smdebug.RuleStep
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		if kept != nil {
			mustFail(t, kept.Reportf("too late"), smdebug.ErrWrongState)
		}
		kept = step
		return nil
	})
	mustSay(t, got(evaluated(rules, trial))(t))
	failure := mustFail(t, kept.Reportf("too late"), smdebug.ErrWrongState)
	if !strings.Contains(failure.Message, "returned from step 2") {
		t.Error(failure)
	}
	kept.Finish()
	if kept.Step() != 2 || kept.Trial() != trial {
		t.Error(kept.Step())
	}
}

// Goroutines that a function leaves behind report while it returns.
func TestReportsOfOtherGoroutines(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 20))
	var all sync.WaitGroup
	reported := make(chan bool, 20*4*25)
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		for range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				for range 25 {
					err := step.Reportf("found")
					if err != nil && !errors.Is(err, smdebug.ErrWrongState) {
						t.Error(err)
					}
					reported <- err == nil
				}
			}()
		}
		return nil
	})
	found := got(evaluated(rules, trial))(t)
	all.Wait()
	close(reported)
	count := 0
	for each := range reported {
		if each {
			count++
		}
	}
	if len(found) != count {
		t.Errorf("%d findings of %d reports", len(found), count)
	}
}

func TestWhatAFunctionDoesToItsRuleSet(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 3))
	var rules *smdebug.RuleSet
	steps := 0
	rules = ruleSetOf(t, func(ctx context.Context, step *smdebug.RuleStep) error {
		steps++
		_, err := rules.Evaluate(ctx, trial, smdebug.StepRange{})
		mustFail(t, err, smdebug.ErrWrongState)
		mustFail(t, rules.Reset(), smdebug.ErrWrongState)
		mustFail(t, rules.Add("VanishingGradient", nil, smdebug.ActionWarn), smdebug.ErrWrongState)
		mustFail(t, rules.SetSaveConfig(nil), smdebug.ErrWrongState)
		none := func(context.Context, *smdebug.RuleStep) error { return nil }
		mustFail(t, rules.AddFunction("More", none, smdebug.ActionWarn), smdebug.ErrWrongState)
		if results := got(rules.Results())(t); len(results) != 1 {
			t.Error(results)
		}
		if step.Step() == 1 {
			must(t, rules.Close())
		}
		return step.Reportf("found")
	})
	found, err := evaluated(rules, trial)
	mustSay(t, found, "Own0 0 WARN", "Own0 1 WARN")
	if !errors.Is(err, smdebug.ErrClosed) || steps != 2 {
		t.Error(steps, err)
	}
}

func TestAFunctionMayCloseItsTrial(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 3))
	rules := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		must(t, trial.Close())
		if _, err := step.Trial().Steps(smdebug.Global); !errors.Is(err, smdebug.ErrClosed) {
			t.Error(err)
		}
		return step.Reportf("found")
	})
	found, err := evaluated(rules, trial)
	mustSay(t, found, "Own0 0 WARN")
	if !errors.Is(err, smdebug.ErrClosed) {
		t.Error(err)
	}
}

func TestAFunctionMayEvaluateAnotherRuleSet(t *testing.T) {
	ctx := context.Background()
	trial, other := openTrial(t, recordVanishing(t, 2)), openTrial(t, recordVanishing(t, 5))
	inner := ruleSetOf(t, func(_ context.Context, step *smdebug.RuleStep) error {
		if step.Trial() != other {
			t.Error("it is the outer trial")
		}
		return step.Reportf("inner")
	})
	rules := ruleSetOf(t, func(ctx context.Context, step *smdebug.RuleStep) error {
		found, err := inner.Evaluate(ctx, other, smdebug.StepRange{End: 2 * (step.Step() + 1)})
		return errors.Join(err, step.Reportf("%d inside", len(found)))
	})
	found := got(rules.Evaluate(ctx, trial, smdebug.StepRange{}))(t)
	if len(found) != 2 || found[0].Message != "2 inside" || found[1].Message != "2 inside" {
		t.Error(found)
	}
}

func TestTwoGoroutinesEvaluateOneRuleSet(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 60))
	ctxOf := func(name string) context.Context { return context.WithValue(context.Background(), myError{}, name) }
	rules := ruleSetOf(t, func(ctx context.Context, step *smdebug.RuleStep) error {
		runtime.Gosched()
		return step.Reportf("%v", ctx.Value(myError{}))
	})
	var all sync.WaitGroup
	var mutex sync.Mutex
	seen := map[int64]int{}
	for i := range 3 {
		all.Add(1)
		go func() {
			defer all.Done()
			name := fmt.Sprint("goroutine ", i)
			for range 40 {
				found, err := rules.Evaluate(ctxOf(name), trial, smdebug.StepRange{})
				if err != nil && !errors.Is(err, smdebug.ErrWrongState) {
					t.Error(err)
				}
				mutex.Lock()
				for _, finding := range found {
					if seen[finding.Step]++; finding.Message != name {
						t.Errorf("%s has a finding of %s", name, finding.Message)
					}
				}
				mutex.Unlock()
			}
		}()
	}
	all.Wait()
	for step, count := range seen {
		if count != 1 {
			t.Errorf("step %d was evaluated %d times", step, count)
		}
	}
}

func TestAContextReachesTheFunction(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 3))
	ctx, cancel := context.WithCancel(context.Background())
	rules := ruleSetOf(t, func(ctx context.Context, step *smdebug.RuleStep) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := rules.Evaluate(ctx, trial, smdebug.StepRange{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestBadFunctions(t *testing.T) {
	rules := ruleSetOf(t)
	none := func(context.Context, *smdebug.RuleStep) error { return nil }
	mustFail(t, rules.AddFunction("", none, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, rules.AddFunction("a\x00", none, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, rules.AddFunction("Nil", nil, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, rules.AddFunction("Bad", none, 7), smdebug.ErrInvalidArgument)
	// What was refused takes no number of a later function.
	must(t, rules.AddFunction("Good", func(_ context.Context, step *smdebug.RuleStep) error { return step.Reportf("good") }, smdebug.ActionWarn))
	mustSay(t, got(evaluated(rules, openTrial(t, recordVanishing(t, 1))))(t), "Good 0 WARN")
	must(t, rules.Close())
	if err := rules.AddFunction("Late", none, smdebug.ActionWarn); !errors.Is(err, smdebug.ErrClosed) {
		t.Error(err)
	}
}

func TestAHookRefusesFunctions(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), smdebug.HookOptions{})
	rules := ruleSetOf(t, func(context.Context, *smdebug.RuleStep) error { return nil })
	failure := mustFail(t, hook.Attach(rules), smdebug.ErrInvalidArgument)
	if !strings.Contains(failure.Message, "'Own0' is a function") {
		t.Error(failure)
	}
}

func TestFunctionsGoWithTheirRuleSet(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 1))
	type captured struct{ bytes [64]byte }
	isGone := func(what string, pointer weak.Pointer[captured]) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); pointer.Value() != nil; time.Sleep(time.Millisecond) {
			if runtime.GC(); time.Now().After(end) {
				t.Fatal("a function is kept by a rule set that was", what)
			}
		}
	}
	// make returns a rule set, to which its function refers.
	make := func() (*smdebug.RuleSet, weak.Pointer[captured]) {
		data := &captured{}
		rules := got(smdebug.NewRuleSet(smdebug.ProfileAWS))(t)
		must(t, rules.AddFunction("Own", func(_ context.Context, step *smdebug.RuleStep) error {
			return step.Reportf("%d of %v", data.bytes[0], len(got(rules.Results())(t)))
		}, smdebug.ActionWarn))
		runtime.GC()
		mustSay(t, got(evaluated(rules, trial))(t), "Own 0 WARN")
		return rules, weak.Make(data)
	}
	closed, pointer := make()
	must(t, closed.Close())
	isGone("closed", pointer)
	runtime.KeepAlive(closed)
	_, pointer = make()
	isGone("forgotten", pointer)
}

// ---- options -----------------------------------------------------------------------------

func TestStopAtFinding(t *testing.T) {
	ctx := context.Background()
	trial := openTrial(t, recordVanishing(t, 12))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	defer rules.Close()
	found, err := rules.Evaluate(ctx, trial, smdebug.StepRange{}, smdebug.StopAtFinding)
	failure := mustFail(t, err, smdebug.ErrRuleConditionMet)
	if failure.Detail("rule") != "VanishingGradient" || failure.Detail("step") != "7" {
		t.Error(failure)
	}
	mustSay(t, found, "VanishingGradient 7 STOP")
	found, err = nil, nil
	for finding, failed := range rules.Follow(ctx, trial, smdebug.StepRange{}, smdebug.StopAtFinding) {
		if failed == nil {
			found = append(found, finding)
		}
		err = failed
	}
	mustFail(t, err, smdebug.ErrRuleConditionMet)
	mustSay(t, found, "VanishingGradient 8 STOP")
	_, err = rules.Evaluate(ctx, trial, smdebug.StepRange{}, smdebug.EvaluateOption(1))
	mustFail(t, err, smdebug.ErrInvalidArgument)
	for _, err := range rules.Follow(ctx, trial, smdebug.StepRange{}, smdebug.EvaluateOption(8)) {
		mustFail(t, err, smdebug.ErrInvalidArgument)
	}
	if found := foundAt(got(evaluated(rules, trial))(t)); !slices.Equal(found, []int64{9, 10, 11}) {
		t.Error(found)
	}
}

func TestStoppingAtAFindingLosesNoError(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 1))
	rules := ruleSetOf(t,
		func(_ context.Context, step *smdebug.RuleStep) error { return step.Reportf("found") },
		func(_ context.Context, step *smdebug.RuleStep) error { return myError{3} })
	_, err := rules.Evaluate(context.Background(), trial, smdebug.StepRange{}, smdebug.StopAtFinding)
	var mine myError
	if !errors.Is(err, smdebug.ErrRuleConditionMet) || !errors.As(err, &mine) {
		t.Error(err)
	}
}

// recordByTwo records with two workers; the second has not written the last step.
func recordByTwo(t *testing.T, steps int) (path string, late func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run")
	var hooks []*smdebug.Hook
	for i := range 2 {
		options := gradients()
		options.Worker, options.NumWorkers, options.AllWorkers = fmt.Sprint("worker_", i), 2, true
		hooks = append(hooks, newHook(t, path, options))
	}
	for step := range steps {
		recordStep(t, hooks[0], gradient)
		if step < steps-1 {
			recordStep(t, hooks[1], gradient)
		}
	}
	for _, hook := range hooks {
		must(t, hook.Flush(context.Background()))
	}
	return path, func() {
		recordStep(t, hooks[1], gradient)
		for _, hook := range hooks {
			must(t, hook.Close())
		}
	}
}

func TestIncludeIncomplete(t *testing.T) {
	ctx := context.Background()
	path, late := recordByTwo(t, 9)
	trial := openTrial(t, path)
	complete, incomplete := got(newRuleSet("1e-7", smdebug.ActionWarn))(t), got(newRuleSet("1e-7", smdebug.ActionWarn))(t)
	defer complete.Close()
	defer incomplete.Close()
	mustSay(t, got(complete.Evaluate(ctx, trial, smdebug.StepRange{}))(t))
	mustSay(t, got(incomplete.Evaluate(ctx, trial, smdebug.StepRange{}, smdebug.IncludeIncomplete))(t),
		"VanishingGradient 8 WARN")
	following := got(newRuleSet("1e-7", smdebug.ActionWarn))(t)
	defer following.Close()
	within(t, 20*time.Second, func() {
		// Nobody completes step 8 before it is found.
		for finding, err := range following.Follow(ctx, trial, smdebug.StepRange{First: 1}, smdebug.IncludeIncomplete) {
			if err != nil || finding.Step != 8 {
				t.Error(finding, err)
			}
			break
		}
	})
	late()
	if found := got(complete.Evaluate(ctx, trial, smdebug.StepRange{}))(t); len(found) != 2 {
		t.Error(found)
	}
	within(t, 20*time.Second, func() {
		for finding, err := range following.Follow(ctx, trial, smdebug.StepRange{}, smdebug.IncludeIncomplete) {
			t.Error(finding, err)
		}
	})
}
