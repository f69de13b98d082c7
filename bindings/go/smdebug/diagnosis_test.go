package smdebug_test

import (
	"context"
	"math"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestARuleSetNamesTheLikelyCause(t *testing.T) {
	path := record(t, 40, func(step int64) map[string]smdebug.View {
		second := float32(1)
		if step >= 33 {
			second = float32(math.Inf(1))
		}
		return map[string]smdebug.View{"log_output_0": smdebug.ViewOf([]float32{0.5, second})}
	})
	rules := got(smdebug.NewRuleSet(smdebug.ProfileCalibrated))(t)
	defer rules.Close()
	for _, rule := range []string{"ExplodingTensor", "FirstNonFinite"} {
		must(t, rules.Add(rule, nil, smdebug.ActionWarn))
	}
	if causes := got(rules.Diagnose())(t); len(causes) != 0 {
		t.Error(causes)
	}
	must(t, two(rules.Evaluate(context.Background(), openTrial(t, path), smdebug.StepRange{})))
	causes := got(rules.Diagnose())(t)
	if len(causes) == 0 || len(causes) > 3 || causes[0].ID != "undefined_operation" {
		t.Fatal(causes)
	}
	first := causes[0].Evidence[0].First
	if first.Step != 33 || first.Tensor != "log_output_0" || causes[0].Confidence >= 1 {
		t.Errorf("%#v", causes[0])
	}
}
