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

// newRuleSet returns a rule set with VanishingGradient.
func newRuleSet(threshold string, action smdebug.Action) (*smdebug.RuleSet, error) {
	rules, err := smdebug.NewRuleSet(smdebug.ProfileAWS)
	if err != nil {
		return nil, err
	}
	return rules, rules.Add("VanishingGradient", map[string]string{"threshold": threshold}, action)
}

// gradient returns a tensor with 0.1 to the power of the step.
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

func foundAt(findings []smdebug.Finding) []int64 {
	var steps []int64
	for _, finding := range findings {
		steps = append(steps, finding.Step)
	}
	return steps
}

func TestARuleSetEvaluatesATrial(t *testing.T) {
	ctx := context.Background()
	trial := openTrial(t, recordVanishing(t, 10))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, rules.Add("VanishingGradient", nil, smdebug.ActionWarn))
	found := got(rules.Evaluate(ctx, trial, smdebug.StepRange{}))(t)
	if steps := foundAt(found); !slices.Equal(steps, []int64{7, 8, 8, 9, 9}) {
		t.Fatal(steps)
	}
	first := found[0]
	want := smdebug.Finding{
		Rule: "VanishingGradient", Check: "small", Tensor: "gradient/w", Worker: "worker_0",
		Message: first.Message, Step: 7, Mode: smdebug.Train, ModeStep: 7,
		Action: smdebug.ActionStop, Value: first.Value, Limit: 1e-6,
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
	// No step is evaluated twice.
	if again := got(rules.Evaluate(ctx, trial, smdebug.StepRange{}))(t); len(again) != 0 {
		t.Error(again)
	}
	results := got(rules.Results())(t)
	if results[0].First.Step != 7 || results[0].FindingCount != 3 || results[1].First.Step != 8 {
		t.Error(results)
	}
	if !strings.Contains(results[0].Message, "3 findings") {
		t.Error(results[0].Message)
	}
}

func TestARuleSetSaysWhyItFoundNothing(t *testing.T) {
	trial := openTrial(t, record(t, 2, loss))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, two(rules.Evaluate(context.Background(), trial, smdebug.StepRange{})))
	result := got(rules.Results())(t)[0]
	want := smdebug.RuleResult{
		Rule: "VanishingGradient", Status: smdebug.RuleNoTensors, Message: result.Message,
	}
	if result != want || result.String() != "VanishingGradient: "+result.Message {
		t.Errorf("%#v", result)
	}
}

func TestARuleSetBelongsToOneTrial(t *testing.T) {
	ctx := context.Background()
	healthy, ill := openTrial(t, record(t, 2, loss)), openTrial(t, recordVanishing(t, 8))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, two(rules.Evaluate(ctx, healthy, smdebug.StepRange{})))
	if _, err := rules.Evaluate(ctx, ill, smdebug.StepRange{}); !errors.Is(err, smdebug.ErrWrongState) {
		t.Error(err)
	}
	must(t, rules.Reset())
	if found := foundAt(got(rules.Evaluate(ctx, ill, smdebug.StepRange{}))(t)); !slices.Equal(found, []int64{7}) {
		t.Error(found)
	}
}

func TestARuleSetEvaluatesARange(t *testing.T) {
	ctx := context.Background()
	trial := openTrial(t, recordVanishing(t, 12))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	for _, expected := range []struct {
		steps smdebug.StepRange
		found []int64
	}{
		{smdebug.StepRange{First: 8, End: 9}, []int64{8}},
		{smdebug.StepRange{End: 10}, []int64{9}},
		{smdebug.StepRange{First: 11}, []int64{11}}, // step 10 is observed but not reported
		{smdebug.StepRange{}, nil},
	} {
		if found := foundAt(got(rules.Evaluate(ctx, trial, expected.steps))(t)); !slices.Equal(found, expected.found) {
			t.Errorf("%v: %v", expected.steps, found)
		}
	}
}

func TestARuleSetFollowsALiveTrial(t *testing.T) {
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
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	var found []smdebug.Finding
	within(t, 20*time.Second, func() {
		for finding, err := range rules.Follow(context.Background(), trial, smdebug.StepRange{First: 8}) {
			if err != nil {
				t.Error(err)
			}
			if found = append(found, finding); finding.Step == 10 {
				break
			}
		}
	})
	if steps := foundAt(found); !slices.Equal(steps, []int64{8, 9, 10}) {
		t.Error(steps)
	}
	// Steps that were skipped until now are evaluated now.
	within(t, 20*time.Second, func() {
		for finding, err := range rules.Follow(context.Background(), trial, smdebug.StepRange{}) {
			if err != nil || finding.Step != 11 {
				t.Error(finding, err)
			}
		}
	})
}

func TestRuleSetsEndWithTheirContext(t *testing.T) {
	trial := openTrial(t, recordVanishing(t, 10))
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	if found, err := rules.Evaluate(cancelled(), trial, smdebug.StepRange{}); len(found) != 0 || !errors.Is(err, context.Canceled) {
		t.Error(found, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var found []smdebug.Finding
	var last error
	for finding, err := range rules.Follow(ctx, trial, smdebug.StepRange{}) {
		if last = err; err == nil {
			found = append(found, finding)
			cancel()
		}
	}
	if steps := foundAt(found); !slices.Equal(steps, []int64{7}) || !errors.Is(last, context.Canceled) {
		t.Error(steps, last)
	}
	if steps := foundAt(got(rules.Evaluate(context.Background(), trial, smdebug.StepRange{}))(t)); !slices.Equal(steps, []int64{8, 9}) {
		t.Error(steps)
	}
}

func TestBadRuleSets(t *testing.T) {
	_, err := smdebug.NewRuleSet("best")
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = smdebug.NewRuleSet("aws\x00")
	mustFail(t, err, smdebug.ErrInvalidArgument)
	calibrated := got(smdebug.NewRuleSet(smdebug.ProfileCalibrated))(t)
	must(t, calibrated.Close())
	rules := got(smdebug.NewRuleSet(""))(t)
	defer rules.Close()
	mustFail(t, rules.Add("VanishingGradients", nil, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	mustFail(t, rules.Add("Vanishing\x00", nil, smdebug.ActionWarn), smdebug.ErrInvalidArgument)
	failure := mustFail(t, rules.Add("VanishingGradient", map[string]string{"limit": "1"}, smdebug.ActionWarn), smdebug.ErrInvalidConfig)
	if failure.Detail("key") != "limit" {
		t.Error(failure)
	}
	mustFail(t, rules.Add("VanishingGradient", nil, 7), smdebug.ErrInvalidArgument)
	trial := openTrial(t, record(t, 1, loss))
	must(t, two(rules.Evaluate(context.Background(), trial, smdebug.StepRange{})))
	mustFail(t, rules.Add("VanishingGradient", nil, smdebug.ActionWarn), smdebug.ErrWrongState)
}

func TestAHookWatches(t *testing.T) {
	// The hook saves nothing after the first step.
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(100)})
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, hook.Attach(rules))
	must(t, rules.Close())
	for range 8 {
		if action := hook.Action(); action != smdebug.ActionContinue {
			t.Error(action)
		}
		recordStep(t, hook, gradient)
	}
	if action := hook.Action(); action != smdebug.ActionStop {
		t.Error(action)
	}
	if steps := foundAt(got(hook.TakeFindings())(t)); !slices.Equal(steps, []int64{7}) {
		t.Error(steps)
	}
	if findings := got(hook.TakeFindings())(t); len(findings) != 0 {
		t.Error(findings)
	}
	must(t, two(hook.BeginStep()))
	if !hook.Wants("gradient/w") || hook.Wants("w") {
		t.Error("it wants something else")
	}
	other := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	mustFail(t, hook.Attach(other), smdebug.ErrWrongState)
}

func TestARuleSetLooksAtTheStepsThatItsConfigSaves(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), gradients())
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	mustFail(t, rules.SetSaveConfig(smdebug.SaveEvery(-1)), smdebug.ErrInvalidConfig)
	must(t, rules.SetSaveConfig(smdebug.SaveEvery(9)))
	must(t, hook.Attach(rules))
	for range 10 {
		recordStep(t, hook, gradient)
	}
	// Without the config, steps 7 and 8 would also have findings.
	if steps := foundAt(got(hook.TakeFindings())(t)); !slices.Equal(steps, []int64{9}) {
		t.Error(steps)
	}
	mustFail(t, rules.SetSaveConfig(nil), smdebug.ErrWrongState)
}

func TestLiveAndStoredFindingsAreEqual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, gradients())
	live := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, hook.Attach(live))
	for range 10 {
		recordStep(t, hook, gradient)
	}
	watched := got(hook.TakeFindings())(t)
	must(t, hook.Close())
	later := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	stored := got(later.Evaluate(context.Background(), openTrial(t, path), smdebug.StepRange{}))(t)
	if len(stored) != 3 || !reflect.DeepEqual(watched, stored) {
		t.Errorf("%v is not %v", watched, stored)
	}
	if live, later := got(live.Results())(t), got(later.Results())(t); !reflect.DeepEqual(live, later) {
		t.Errorf("%v is not %v", live, later)
	}
}

func TestAllRulesAreAdded(t *testing.T) {
	counts := map[smdebug.Profile]int{"": 29, smdebug.ProfileCalibrated: 29, smdebug.ProfileAWS: 26, smdebug.ProfileLLM: 23}
	for profile, count := range counts {
		rules := got(smdebug.NewRuleSet(profile))(t)
		must(t, rules.AddAll(smdebug.ActionWarn))
		if results := got(rules.Results())(t); len(results) != count {
			t.Errorf("%q has %d rules, not %d", profile, len(results), count)
		}
	}
	rules := got(newRuleSet("1e-6", smdebug.ActionStop))(t)
	must(t, rules.AddAll(smdebug.ActionWarn))
	got(rules.Evaluate(context.Background(), openTrial(t, recordVanishing(t, 8)), smdebug.StepRange{}))(t)
	first := got(rules.Results())(t)[0].First
	if first == nil || first.Step != 7 || first.Limit != 1e-6 || first.Action != smdebug.ActionStop {
		t.Error(first)
	}
	if err := rules.AddAll(smdebug.ActionWarn); !errors.Is(err, smdebug.ErrWrongState) {
		t.Error(err)
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

func TestNamesOfFindings(t *testing.T) {
	for want, name := range map[string]interface{ String() string }{
		"PASSED": smdebug.RulePassed, "HAS_FINDINGS": smdebug.RuleHasFindings, "NO_TENSORS": smdebug.RuleNoTensors,
		"NOT_ENOUGH_DATA": smdebug.RuleNotEnoughData, "RuleStatus(9)": smdebug.RuleStatus(9),
		"CONTINUE": smdebug.ActionContinue, "WARN": smdebug.ActionWarn, "STOP": smdebug.ActionStop, "Action(9)": smdebug.Action(9),
	} {
		if name.String() != want {
			t.Errorf("%s is not %s", name, want)
		}
	}
}

// In a bucket, each look costs requests.
func TestEvaluatingLooksForStepsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	for range 3 {
		recordStep(t, hook, loss)
	}
	must(t, hook.Flush(t.Context()))
	trial := openTrial(t, path)
	rules := got(smdebug.NewRuleSet(smdebug.ProfileCalibrated))(t)
	var seen []int
	must(t, rules.AddFunction("own", func(_ context.Context, step *smdebug.RuleStep) error {
		recordStep(t, hook, loss)
		if err := hook.Flush(t.Context()); err != nil {
			return err
		}
		steps, err := step.Trial().AllSteps(smdebug.Global)
		seen = append(seen, len(steps))
		return err
	}, smdebug.ActionWarn))
	must(t, two(rules.Evaluate(t.Context(), trial, smdebug.StepRange{}, smdebug.IncludeIncomplete)))
	if !slices.Equal(seen, []int{3, 3, 3}) {
		t.Error(seen)
	}
	must(t, hook.Close())
}
