package smdebug_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestFindingsAreJSON(t *testing.T) {
	finding := smdebug.Finding{
		Rule: "VanishingGradient", Message: "small", Step: math.MaxInt64, Mode: smdebug.Train,
		Action: smdebug.ActionStop, Value: 1.5, Limit: math.Inf(1), Level: smdebug.LevelWorthALook,
	}
	text := got(json.Marshal(finding))(t)
	var fields map[string]any
	must(t, json.Unmarshal(text, &fields))
	for name, want := range map[string]any{
		"Rule": "VanishingGradient", "Mode": "TRAIN", "Action": "STOP", "Level": "WORTH_A_LOOK",
		"Value": 1.5, "Limit": nil,
	} {
		if has, is := fields[name], want; !reflect.DeepEqual(has, is) {
			t.Errorf("%s is %v in %s", name, has, text)
		}
	}
	if len(fields) != reflect.TypeOf(finding).NumField() {
		t.Errorf("%d fields in %s", len(fields), text)
	}
	var read smdebug.Finding
	must(t, json.Unmarshal(text, &read))
	if !math.IsNaN(read.Limit) {
		t.Error(read.Limit)
	}
	read.Limit = finding.Limit
	if read != finding {
		t.Error(read)
	}
	result := smdebug.RuleResult{Rule: "r", Status: smdebug.RuleHasFindings, First: &finding}
	var again smdebug.RuleResult
	must(t, json.Unmarshal(got(json.Marshal(result))(t), &again))
	if again.Status != smdebug.RuleHasFindings || again.First.Mode != smdebug.Train {
		t.Error(again)
	}
}

func TestNamesThatAreNoneAreRefused(t *testing.T) {
	var finding smdebug.Finding
	mustFail(t, json.Unmarshal([]byte(`{"Mode": "TRAINING"}`), &finding), smdebug.ErrInvalidArgument)
	mustFail(t, json.Unmarshal([]byte(`{"Action": "GO"}`), &finding), smdebug.ErrInvalidArgument)
	mustFail(t, json.Unmarshal([]byte(`{"Level": ""}`), &finding), smdebug.ErrInvalidArgument)
}

func TestNullChangesNothing(t *testing.T) {
	kept := struct {
		Finding    smdebug.Finding
		Save       smdebug.SaveConfig
		Reductions smdebug.ReductionConfig
	}{Finding: smdebug.Finding{Rule: "r"}, Save: smdebug.SaveEvery(7)}
	read := kept
	must(t, json.Unmarshal([]byte(`{"Finding": null, "Save": null, "Reductions": null}`), &read))
	if !reflect.DeepEqual(read, kept) {
		t.Error(read)
	}
}
