package smdebug_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// ruleOf is a rule that calls one function.
type ruleOf func(ctx context.Context, trial *smdebug.Trial, step int64) (bool, error)

func (ruleOf) Name() string { return "Mine" }

func (r ruleOf) InvokeAtStep(ctx context.Context, trial *smdebug.Trial, step int64) (bool, error) {
	return r(ctx, trial, step)
}

func stepsOf(findings []smdebug.Finding) []int64 {
	var steps []int64
	for _, finding := range findings {
		steps = append(steps, finding.Step)
	}
	return steps
}

func recordGradients(t testing.TB) string {
	return record(t, 5, func(step int64) map[string]smdebug.View {
		size := float32(1)
		if step >= 3 {
			size = 1e-9
		}
		return map[string]smdebug.View{"gradient/w": smdebug.ViewOf([]float32{size, -size})}
	})
}

// atOnce finds a gradient at the first step, also of one axis.
var atOnce = map[string]string{"threshold": "1e-8", "patience": "1", "layers_only": "false"}

func TestBuiltinRule(t *testing.T) {
	trial := openTrial(t, recordGradients(t))
	ctx := context.Background()
	rule := got(smdebug.NewBuiltinRule("VanishingGradient", atOnce))(t)
	if rule.Name() != "VanishingGradient" || rule.LastFinding() != "" {
		t.Error(rule.Name(), rule.LastFinding())
	}
	findings := got(smdebug.RunRule(ctx, rule, trial, smdebug.RunOptions{}))(t)
	if !slices.Equal(stepsOf(findings), []int64{3, 4}) || !strings.Contains(findings[0].Message, "gradient/w") {
		t.Error(findings)
	}
	findings, err := smdebug.RunRule(ctx, rule, trial, smdebug.RunOptions{StopAtFinding: true})
	failure := mustFail(t, err, smdebug.ErrRuleConditionMet)
	if failure.Detail("rule") != "VanishingGradient" || failure.Detail("step") != "3" || len(findings) != 1 ||
		!strings.Contains(failure.Message, "VanishingGradient is met at step 3: the gradient") {
		t.Error(failure, findings)
	}
	for _, test := range []struct {
		name       string
		parameters map[string]string
		code       smdebug.Code
	}{
		{"NoSuchRule", nil, smdebug.ErrInvalidArgument},
		{"a\x00b", nil, smdebug.ErrInvalidArgument},
		{"VanishingGradient", map[string]string{"limit": "1"}, smdebug.ErrInvalidConfig},
		{"VanishingGradient", map[string]string{"threshold": "low"}, smdebug.ErrInvalidConfig},
	} {
		_, err := smdebug.NewBuiltinRule(test.name, test.parameters)
		mustFail(t, err, test.code)
	}
}

func TestARuleOfOnesOwn(t *testing.T) {
	trial := openTrial(t, record(t, 6, loss))
	var evaluated []int64
	rule := ruleOf(func(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
		evaluated = append(evaluated, step)
		tensor, err := trial.Tensor("loss")
		if err != nil {
			return false, err
		}
		defer tensor.Close()
		loss, err := tensor.Reduction(step, smdebug.Global, "mean")
		return loss < 0.4, err
	})
	findings := got(smdebug.RunRule(context.Background(), rule, trial, smdebug.RunOptions{FirstStep: 1, EndStep: 4}))(t)
	if !slices.Equal(stepsOf(findings), []int64{2, 3}) || !slices.Equal(evaluated, []int64{1, 2, 3}) {
		t.Error(findings, evaluated)
	}
}

func TestWhatARuleReturns(t *testing.T) {
	trial := openTrial(t, record(t, 4, loss))
	mishap := errors.New("mishap")
	missing := func(name string, value func(*smdebug.Tensor) error) func(*smdebug.Trial) error {
		return func(trial *smdebug.Trial) error {
			tensor, err := trial.Tensor(name)
			if err != nil {
				return err
			}
			return value(tensor)
		}
	}
	for name, test := range map[string]struct {
		atStepOne func(*smdebug.Trial) (bool, error)
		found     []int64 // in addition to step 2
		err       error
	}{
		"no tensor": {func(trial *smdebug.Trial) (bool, error) { return true, missing("nothing", nil)(trial) }, []int64{2}, nil},
		"no step": {func(trial *smdebug.Trial) (bool, error) {
			return true, missing("loss", func(tensor *smdebug.Tensor) error {
				_, err := tensor.Value(99, smdebug.Global)
				return err
			})(trial)
		}, []int64{2}, nil},
		"an error":       {func(*smdebug.Trial) (bool, error) { return true, mishap }, nil, mishap},
		"the end":        {func(*smdebug.Trial) (bool, error) { return false, smdebug.ErrEndRun }, nil, nil},
		"found, the end": {func(*smdebug.Trial) (bool, error) { return true, smdebug.ErrEndRun }, []int64{1}, nil},
		"a panic":        {func(*smdebug.Trial) (bool, error) { panic("mishap") }, nil, smdebug.ErrCallbackFailed},
		"an error's":     {func(*smdebug.Trial) (bool, error) { panic(mishap) }, nil, mishap},
		"a nil pointer":  {func(*smdebug.Trial) (bool, error) { return *(*bool)(nil), nil }, nil, smdebug.ErrCallbackFailed},
	} {
		t.Run(name, func(t *testing.T) {
			rule := ruleOf(func(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
				if step == 1 {
					return test.atStepOne(trial)
				}
				return step == 2, nil
			})
			findings, err := smdebug.RunRule(context.Background(), rule, trial, smdebug.RunOptions{})
			if !errors.Is(err, test.err) || !slices.Equal(stepsOf(findings), test.found) {
				t.Error(findings, err)
			}
			var failure *smdebug.Error
			if errors.As(err, &failure) && !strings.Contains(failure.Detail("stack"), "rule_test.go") {
				t.Error(failure.Detail("stack"))
			}
		})
	}
	if steps := got(trial.Steps(smdebug.Train))(t); len(steps) != 4 {
		t.Error(steps)
	}
}

func TestTheTrialStandsStillWhileARuleEvaluates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	next := func() {
		recordStep(t, hook, loss)
		must(t, hook.Flush(context.Background()))
	}
	next()
	trial := openTrial(t, path)
	rule := ruleOf(func(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
		before := got(trial.Steps(smdebug.Global))(t)
		next()
		if after := got(trial.Steps(smdebug.Global))(t); len(after) != len(before) {
			t.Errorf("at step %d, %v became %v", step, before, after)
		}
		return true, nil
	})
	got(smdebug.RunRule(context.Background(), rule, trial, smdebug.RunOptions{EndStep: 3}))(t)
}

func TestSeveralRulesOnOneTrial(t *testing.T) {
	trial := openTrial(t, recordGradients(t))
	shared := got(smdebug.NewBuiltinRule("VanishingGradient", atOnce))(t)
	var runs sync.WaitGroup
	for number := range 8 {
		runs.Add(1)
		go func() {
			defer runs.Done()
			var rule smdebug.Rule = shared
			if number%2 == 0 {
				rule = ruleOf(func(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
					time.Sleep(time.Millisecond)
					return step >= 3, nil
				})
			}
			findings, err := smdebug.RunRule(context.Background(), rule, trial, smdebug.RunOptions{})
			if err != nil || !slices.Equal(stepsOf(findings), []int64{3, 4}) {
				t.Error(findings, err)
			}
		}()
	}
	within(t, 20*time.Second, runs.Wait)
}

func TestARuleThatClosesItsTrial(t *testing.T) {
	trial := openTrial(t, record(t, 3, loss))
	closer := ruleOf(func(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
		return false, io.Closer(trial).Close()
	})
	_, err := smdebug.RunRule(context.Background(), closer, trial, smdebug.RunOptions{})
	if !errors.Is(err, smdebug.ErrClosed) {
		t.Error(err)
	}
}
