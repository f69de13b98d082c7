package smdebug_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// newPanel makes a panel with VanishingGradient.
func newPanel(threshold string, action smdebug.Action) (*smdebug.Panel, error) {
	panel, err := smdebug.NewPanel(smdebug.ProfileAWS)
	if err != nil {
		return nil, err
	}
	return panel, panel.Add("VanishingGradient", map[string]string{"threshold": threshold}, action)
}

// gradient is 0.1 to the power of the step.
func gradient(step int64) map[string]smdebug.View {
	value := math.Pow(0.1, float64(step))
	return map[string]smdebug.View{"gradient/w": smdebug.ViewOf([]float64{value, -value})}
}

func recordVanishing(t testing.TB, steps int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, gradients())
	for range steps {
		recordStep(t, hook, gradient)
	}
	must(t, hook.Close())
	return path
}

func gradients() smdebug.HookOptions {
	return smdebug.HookOptions{
		IncludeCollections: []string{"gradients"},
		SaveConfig:         smdebug.SaveEvery(1),
	}
}

func foundAt(verdicts []smdebug.Verdict) []int64 {
	var steps []int64
	for _, verdict := range verdicts {
		steps = append(steps, verdict.Step)
	}
	return steps
}

func TestAPanelJudgesATrial(t *testing.T) {
	ctx := context.Background()
	trial := openTrial(t, recordVanishing(t, 10))
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	must(t, panel.Add("VanishingGradient", nil, smdebug.ActionWarn))
	found := got(panel.Run(ctx, trial, smdebug.StepRange{}))(t)
	if steps := foundAt(found); !slices.Equal(steps, []int64{7, 8, 8, 9, 9}) {
		t.Fatal(steps)
	}
	first := found[0]
	want := smdebug.Verdict{
		Rule: "VanishingGradient", Status: smdebug.StatusFinding, Action: smdebug.ActionStop,
		Step: 7, Mode: smdebug.Train, ModeStep: 7, Worker: "worker_0", Tensor: "gradient/w",
		Value: first.Value, Limit: 1e-6, Label: "small", Message: first.Message,
	}
	if first != want {
		t.Errorf("%#v is not %#v", first, want)
	}
	if math.Abs(first.Value-1e-7) > 1e-15 || !strings.Contains(first.Message, "gradient/w") {
		t.Error(first.Value, first.Message)
	}
	if !strings.HasPrefix(first.String(), "VanishingGradient at step 7: the gradient") {
		t.Error(first)
	}
	if found[2].Action != smdebug.ActionWarn {
		t.Error(found[2].Action)
	}
	// Nothing is judged twice.
	if again := got(panel.Run(ctx, trial, smdebug.StepRange{}))(t); len(again) != 0 {
		t.Error(again)
	}
	outcomes := got(panel.Outcomes())(t)
	if steps := foundAt(outcomes); !slices.Equal(steps, []int64{7, 8}) {
		t.Error(steps)
	}
	if !strings.Contains(outcomes[0].Message, "3 findings") {
		t.Error(outcomes[0].Message)
	}
}

func TestAPanelSaysWhyItFoundNothing(t *testing.T) {
	trial := openTrial(t, record(t, 2, loss))
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	must(t, two(panel.Run(context.Background(), trial, smdebug.StepRange{})))
	outcome := got(panel.Outcomes())(t)[0]
	if !math.IsNaN(outcome.Value) || !math.IsNaN(outcome.Limit) {
		t.Error(outcome.Value, outcome.Limit)
	}
	outcome.Value, outcome.Limit = 0, 0
	want := smdebug.Verdict{
		Rule: "VanishingGradient", Status: smdebug.StatusNoTensor, Step: -1,
		Mode: smdebug.Global, ModeStep: -1, Message: outcome.Message,
	}
	if outcome != want || outcome.String() != "VanishingGradient: "+outcome.Message {
		t.Errorf("%#v", outcome)
	}
}

func TestAPanelJudgesARange(t *testing.T) {
	ctx := context.Background()
	trial := openTrial(t, recordVanishing(t, 12))
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	for _, expected := range []struct {
		steps smdebug.StepRange
		found []int64
	}{
		{smdebug.StepRange{First: 8, End: 9}, []int64{8}},
		{smdebug.StepRange{End: 10}, []int64{9}},
		{smdebug.StepRange{First: 11}, []int64{11}}, // 10 is shown and not reported
		{smdebug.StepRange{}, nil},
	} {
		if found := foundAt(got(panel.Run(ctx, trial, expected.steps))(t)); !slices.Equal(found, expected.found) {
			t.Errorf("%v: %v", expected.steps, found)
		}
	}
}

func TestAPanelFollowsALiveTrial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, gradients())
	recordStep(t, hook, gradient)
	go func() {
		for range 11 {
			time.Sleep(2 * time.Millisecond)
			recordStep(t, hook, gradient)
		}
		hook.Close()
	}()
	trial := openTrial(t, path)
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	var found []smdebug.Verdict
	within(t, 20*time.Second, func() {
		for verdict, err := range panel.Follow(context.Background(), trial, smdebug.StepRange{First: 8}) {
			if err != nil {
				t.Error(err)
			}
			if found = append(found, verdict); verdict.Step == 10 {
				break
			}
		}
	})
	if steps := foundAt(found); !slices.Equal(steps, []int64{8, 9, 10}) {
		t.Error(steps)
	}
	// What was left out by then is judged now.
	within(t, 20*time.Second, func() {
		for verdict, err := range panel.Follow(context.Background(), trial, smdebug.StepRange{}) {
			if err != nil || verdict.Step != 11 {
				t.Error(verdict, err)
			}
		}
	})
}

func TestPanelsEndWithTheirContext(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 10))
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	if found, err := panel.Run(cancelled(), trial, smdebug.StepRange{}); len(found) != 0 || !errors.Is(err, context.Canceled) {
		t.Error(found, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var found []smdebug.Verdict
	var last error
	for verdict, err := range panel.Follow(ctx, trial, smdebug.StepRange{}) {
		if last = err; err == nil {
			found = append(found, verdict)
			cancel()
		}
	}
	if steps := foundAt(found); !slices.Equal(steps, []int64{7}) || !errors.Is(last, context.Canceled) {
		t.Error(steps, last)
	}
	if steps := foundAt(got(panel.Run(context.Background(), trial, smdebug.StepRange{}))(t)); !slices.Equal(steps, []int64{8, 9}) {
		t.Error(steps)
	}
}

func TestBadPanels(t *testing.T) {
	_, err := smdebug.NewPanel("best")
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = smdebug.NewPanel("aws\x00")
	mustFail(t, err, smdebug.ErrInvalidArgument)
	calibrated := got(smdebug.NewPanel(smdebug.ProfileCalibrated))(t)
	must(t, calibrated.Close())
	panel := got(smdebug.NewPanel(""))(t)
	defer panel.Close()
	mustFail(t, panel.Add("VanishingGradients", nil, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, panel.Add("Vanishing\x00", nil, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, panel.Add("VanishingGradient", map[string]string{"limit": "1"}, smdebug.ActionWarn), smdebug.ErrInvalidConfig)
	mustFail(t, panel.Add("VanishingGradient", nil, 7), smdebug.ErrInvalidArgument)
	trial := openTrial(t, record(t, 1, loss))
	must(t, two(panel.Run(context.Background(), trial, smdebug.StepRange{})))
	mustFail(t, panel.Add("VanishingGradient", nil, smdebug.ActionWarn), smdebug.ErrWrongState)
}

func TestAHookWatches(t *testing.T) {
	// Nothing is saved after the first step.
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(100)})
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	must(t, hook.Watch(panel))
	must(t, panel.Close())
	for range 8 {
		if advice := hook.Advice(); advice != smdebug.ActionContinue {
			t.Error(advice)
		}
		recordStep(t, hook, gradient)
	}
	if advice := hook.Advice(); advice != smdebug.ActionStop {
		t.Error(advice)
	}
	if steps := foundAt(got(hook.TakeVerdicts())(t)); !slices.Equal(steps, []int64{7}) {
		t.Error(steps)
	}
	if verdicts := got(hook.TakeVerdicts())(t); len(verdicts) != 0 {
		t.Error(verdicts)
	}
	must(t, two(hook.BeginStep()))
	if !hook.Wants("gradient/w") || hook.Wants("w") {
		t.Error("it wants something else")
	}
	other := got(newPanel("1e-6", smdebug.ActionStop))(t)
	mustFail(t, hook.Watch(other), smdebug.ErrWrongState)
}

func TestAPanelLooksAtTheStepsThatItsConfigSaves(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), gradients())
	panel := got(newPanel("1e-6", smdebug.ActionStop))(t)
	mustFail(t, panel.SetSaveConfig(smdebug.SaveEvery(-1)), smdebug.ErrInvalidConfig)
	must(t, panel.SetSaveConfig(smdebug.SaveEvery(9)))
	must(t, hook.Watch(panel))
	for range 10 {
		recordStep(t, hook, gradient)
	}
	// Steps 7 and 8 would be found too.
	if steps := foundAt(got(hook.TakeVerdicts())(t)); !slices.Equal(steps, []int64{9}) {
		t.Error(steps)
	}
	mustFail(t, panel.SetSaveConfig(nil), smdebug.ErrWrongState)
}

func TestLiveAndStoredVerdictsAreEqual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, gradients())
	live := got(newPanel("1e-6", smdebug.ActionStop))(t)
	must(t, hook.Watch(live))
	for range 10 {
		recordStep(t, hook, gradient)
	}
	watched := got(hook.TakeVerdicts())(t)
	must(t, hook.Close())
	later := got(newPanel("1e-6", smdebug.ActionStop))(t)
	stored := got(later.Run(context.Background(), openTrial(t, path), smdebug.StepRange{}))(t)
	if len(stored) != 3 || !reflect.DeepEqual(watched, stored) {
		t.Errorf("%v is not %v", watched, stored)
	}
	if live, later := got(live.Outcomes())(t), got(later.Outcomes())(t); !reflect.DeepEqual(live, later) {
		t.Errorf("%v is not %v", live, later)
	}
}

func TestBuiltinRules(t *testing.T) {
	rules := got(smdebug.BuiltinRules())(t)
	at := slices.IndexFunc(rules, func(rule smdebug.RuleInfo) bool { return rule.Name == "VanishingGradient" })
	if at < 0 || rules[at].Summary == "" {
		t.Fatal(rules)
	}
	threshold := rules[at].Parameters[0]
	if threshold.Name != "threshold" || threshold.AWS != "1e-7" || threshold.Calibrated == "" || threshold.Meaning == "" {
		t.Error(threshold)
	}
}

func TestNamesOfVerdicts(t *testing.T) {
	for want, name := range map[string]interface{ String() string }{
		"NO_ISSUE": smdebug.StatusNoIssue, "FINDING": smdebug.StatusFinding, "NO_TENSOR": smdebug.StatusNoTensor,
		"NOT_ENOUGH_DATA": smdebug.StatusNotEnoughData, "VerdictStatus(9)": smdebug.VerdictStatus(9),
		"CONTINUE": smdebug.ActionContinue, "WARN": smdebug.ActionWarn, "STOP": smdebug.ActionStop, "Action(9)": smdebug.Action(9),
	} {
		if name.String() != want {
			t.Errorf("%s is not %s", name, want)
		}
	}
}
