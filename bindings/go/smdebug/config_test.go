package smdebug_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestSaveConfigSaves(t *testing.T) {
	config := smdebug.SaveConfig{
		smdebug.AnyMode: {Interval: 100, Start: 150, End: 401, Steps: []int64{3, 7}},
		smdebug.Eval:    {},
	}
	var wanted []int64
	for step := range int64(1000) {
		if got(config.Saves(step, smdebug.Train))(t) {
			wanted = append(wanted, step)
		}
	}
	if !slices.Equal(wanted, []int64{3, 7, 200, 300, 400}) {
		t.Error(wanted)
	}
	if !got(config.Saves(500, smdebug.Eval))(t) || got(config.Saves(200, smdebug.Eval))(t) {
		t.Error("the zero value is not every 500th step")
	}
	for _, bad := range []smdebug.SaveConfigMode{
		{Interval: -1}, {Start: -1}, {Steps: []int64{-1}},
	} {
		_, err := smdebug.SaveConfig{smdebug.Train: bad}.Saves(0, smdebug.Train)
		mustFail(t, err, smdebug.ErrInvalidConfig)
	}
}

func TestAnEndNotAfterTheStartSwitchesSavingOff(t *testing.T) {
	for _, off := range []smdebug.SaveConfigMode{{Interval: 1, Start: 5, End: 5}, {Interval: 1, End: -1}} {
		config := smdebug.SaveConfig{smdebug.Train: off}
		var read smdebug.SaveConfig
		must(t, json.Unmarshal(got(json.Marshal(config))(t), &read))
		for _, each := range []smdebug.SaveConfig{config, read} {
			if got(each.Saves(0, smdebug.Train))(t) || got(each.Saves(5, smdebug.Train))(t) {
				t.Errorf("%v saves a step", each)
			}
		}
	}
}

func TestConfigsAsJSON(t *testing.T) {
	save := smdebug.SaveConfig{
		smdebug.Train:   {Interval: 2, Start: 4, End: 9, Steps: []int64{1, 3}},
		smdebug.Predict: {Interval: 500, Steps: []int64{}},
	}
	reductions := smdebug.ReductionConfig{Reductions: []string{"min", "abs_l1_norm", "median"}, SaveShape: true}
	var saveRead smdebug.SaveConfig
	text := got(json.Marshal(save))(t)
	must(t, json.Unmarshal(text, &saveRead))
	if !reflect.DeepEqual(saveRead, save) {
		t.Errorf("%v became %s and %v", save, text, saveRead)
	}
	var reductionsRead smdebug.ReductionConfig
	text = got(json.Marshal(reductions))(t)
	must(t, json.Unmarshal(text, &reductionsRead))
	if !reflect.DeepEqual(reductionsRead, reductions) {
		t.Errorf("%v became %s and %v", reductions, text, reductionsRead)
	}
	mustFail(t, json.Unmarshal([]byte(`{"TRAIN": {"save_interval": 0}}`), &saveRead), smdebug.ErrInvalidConfig)
	mustFail(t, json.Unmarshal([]byte(`{"reductions": "mode"}`), &reductionsRead), smdebug.ErrInvalidConfig)
	_, err := json.Marshal(smdebug.SaveEvery(-1))
	mustFail(t, err, smdebug.ErrInvalidConfig)
	_, err = json.Marshal(smdebug.ReductionConfig{Reductions: []string{"mean\x00"}})
	mustFail(t, err, smdebug.ErrInvalidArgument)
}

func TestCollection(t *testing.T) {
	collection := got(smdebug.NewCollection("mine"))(t)
	defer collection.Close()
	must(t, collection.Include("relu$", "^attention/"))
	must(t, collection.AddTensors("x", "y", "z"))
	must(t, collection.RemoveTensors("z", "never"))
	if collection.Name() != "mine" || !collection.Has("block/relu") || !collection.Has("x") ||
		collection.Has("z") || collection.Has("x\x00") {
		t.Error("it has what it should not")
	}
	if regexes := got(collection.Regexes())(t); !slices.Equal(regexes, []string{"relu$", "^attention/"}) {
		t.Error(regexes)
	}
	if tensors := got(collection.Tensors())(t); !slices.Equal(tensors, []string{"x", "y"}) {
		t.Error(tensors)
	}
	mustFail(t, collection.Include("fine", "("), smdebug.ErrInvalidConfig)
	mustFail(t, collection.Include("\x00"), smdebug.ErrInvalidArgument)
	_, err := smdebug.NewCollection("")
	mustFail(t, err, smdebug.ErrInvalidArgument)
}

func TestCollectionsConfigs(t *testing.T) {
	collection := got(smdebug.NewCollection("mine"))(t)
	defer collection.Close()
	if config, err := collection.SaveConfig(); config != nil || err != nil {
		t.Error(config, err)
	}
	if config, err := collection.ReductionConfig(); config != nil || err != nil {
		t.Error(config, err)
	}
	save := smdebug.SaveConfig{smdebug.Eval: {Interval: 3, Steps: []int64{}}}
	reductions := smdebug.ReductionConfig{Reductions: []string{"mean"}, SaveRaw: true}
	must(t, collection.SetSaveConfig(save))
	must(t, collection.SetReductionConfig(&reductions))
	if config := got(collection.SaveConfig())(t); !reflect.DeepEqual(config, save) {
		t.Error(config)
	}
	if config := got(collection.ReductionConfig())(t); !reflect.DeepEqual(*config, reductions) {
		t.Error(config)
	}
	must(t, collection.SetSaveHistogram(false))
	if collection.SaveHistogram() {
		t.Error("histograms are made")
	}
	var form map[string]any
	must(t, json.Unmarshal(got(json.Marshal(collection))(t), &form))
	if form["name"] != "mine" {
		t.Error(form)
	}
	must(t, collection.SetSaveConfig(nil))
	must(t, collection.SetReductionConfig(nil))
	if config := got(collection.SaveConfig())(t); config != nil {
		t.Error(config)
	}
	mustFail(t, collection.SetSaveConfig(smdebug.SaveEvery(-1)), smdebug.ErrInvalidConfig)
	mustFail(t, collection.SetReductionConfig(&smdebug.ReductionConfig{Reductions: []string{"?"}}), smdebug.ErrInvalidConfig)
}
