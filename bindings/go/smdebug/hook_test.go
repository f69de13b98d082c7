package smdebug_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestAConfigurationFileIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	file := filepath.Join(t.TempDir(), "hook.json")
	text := `{"LocalPath": "nowhere", "HookParameters": {"save_all": true, "save_interval": "2"}}`
	must(t, os.WriteFile(file, []byte(text), 0o600))
	hook := newHook(t, path, smdebug.HookOptions{Configuration: file})
	for range 3 {
		recordStep(t, hook, loss)
	}
	must(t, hook.Close())
	if steps := got(openTrial(t, path).Steps(smdebug.Global))(t); !slices.Equal(steps, []int64{0, 2}) {
		t.Error(steps)
	}
	_, err := smdebug.NewHook(path, smdebug.HookOptions{Configuration: file + ".not"})
	mustFail(t, err, smdebug.ErrNotFound)
}

func TestMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	must(t, hook.SetMetadata("rate", "0.1"))
	must(t, hook.SetMetadata("rate", "層/😀"))
	mustFail(t, hook.SetMetadata("", "x"), smdebug.ErrInvalidArgument)
	mustFail(t, hook.SetMetadata("a\x00b", "x"), smdebug.ErrInvalidArgument)
	mustFail(t, hook.SetMetadata("a", "x\x00y"), smdebug.ErrInvalidArgument)
	recordStep(t, hook, loss)
	must(t, hook.Close())
	metadata := got(openTrial(t, path).Metadata())(t)
	if metadata["rate"] != "層/😀" || metadata["run.go"] != runtime.Version() {
		t.Error(metadata)
	}
}

func TestTensorboard(t *testing.T) {
	path, board := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "board")
	hook := newHook(t, path, smdebug.HookOptions{SaveAll: true, ExportTensorboard: true, TensorboardDir: board})
	for _, saves := range []bool{true, false} {
		must(t, hook.Step(smdebug.Train, func(int64) error {
			if hook.SavesStep() != saves {
				t.Errorf("the step saves: %v", !saves)
			}
			must(t, hook.AddToStep("losses"))
			return hook.Save("loss", smdebug.Scalar(1))
		}))
	}
	mustFail(t, hook.AddToStep("losses"), smdebug.ErrWrongState)
	must(t, hook.Close())
	if files := got(os.ReadDir(filepath.Join(board, "TRAIN")))(t); len(files) != 2 {
		t.Error(files)
	}
	later := filepath.Join(t.TempDir(), "later")
	must(t, openTrial(t, path).ExportTensorboard(later))
	got(os.Stat(filepath.Join(later, "TRAIN", "events.out.tfevents.smdebug")))(t)
}

func TestModesAndSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	if hook.Mode() != smdebug.Global || hook.LastStep(smdebug.Global) != -1 || !hook.IsRecording() {
		t.Error("a new hook is not as it should be")
	}
	for number, mode := range []smdebug.Mode{smdebug.Train, smdebug.Eval, smdebug.Train, smdebug.Predict} {
		must(t, hook.SetMode(mode))
		if step := got(hook.BeginStep())(t); step != int64(number) {
			t.Errorf("step %d is numbered %d", number, step)
		}
		if !hook.Wants("x") {
			t.Error("x is not wanted")
		}
		must(t, hook.Save("x", smdebug.Scalar(number)))
		must(t, hook.EndStep())
	}
	if hook.LastStep(smdebug.Train) != 1 || hook.LastStep(smdebug.Global) != 3 || hook.Mode() != smdebug.Predict {
		t.Error("the last steps are wrong")
	}
	must(t, hook.Flush(context.Background()))
	if hook.Count("steps_written") != 4 || hook.Count("steps_failed") != 0 || hook.Count("apples") != -1 {
		t.Errorf("%d steps were written", hook.Count("steps_written"))
	}
	must(t, hook.Close())

	trial := openTrial(t, path)
	if modes := got(trial.Modes())(t); !slices.Equal(modes, []smdebug.Mode{smdebug.Train, smdebug.Eval, smdebug.Predict}) {
		t.Error(modes)
	}
	if steps := got(trial.Steps(smdebug.Train))(t); !slices.Equal(steps, []int64{0, 1}) {
		t.Error(steps)
	}
	step, mode, err := trial.ModeStep(2)
	if mode != smdebug.Train || step != 1 || err != nil {
		t.Error(mode, step, err)
	}
	if step, mode, err = trial.ModeStep(9); mode != smdebug.AnyMode || step != -1 || err != nil {
		t.Error(mode, step, err)
	}
	if global := got(trial.GlobalStep(0, smdebug.Predict))(t); global != 3 {
		t.Error(global)
	}
	if global := got(trial.GlobalStep(5, smdebug.Predict))(t); global != -1 {
		t.Error(global)
	}
}

func TestAStepEndsWhateverHappens(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), everything())
	mishap := errors.New("mishap")
	if err := hook.Step(smdebug.Train, func(int64) error { return mishap }); !errors.Is(err, mishap) {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		hook.Step(smdebug.Train, func(int64) error { panic("mishap") })
	}()
	must(t, hook.Step(smdebug.Train, func(step int64) error {
		if step != 2 {
			t.Errorf("step %d", step)
		}
		mustFail(t, hook.Step(smdebug.Train, nil), smdebug.ErrWrongState)
		return nil
	}))
	mustFail(t, hook.EndStep(), smdebug.ErrWrongState)
	mustFail(t, hook.Save("x", smdebug.Scalar(1)), smdebug.ErrWrongState)
}

func TestOptionsReachTheLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	own := got(smdebug.NewCollection("own"))(t)
	must(t, own.Include("^own/"))
	must(t, own.SetSaveConfig(smdebug.SaveConfig{smdebug.Train: {Interval: 2}}))
	hook := newHook(t, path, smdebug.HookOptions{
		Worker:             "worker_0",
		NumWorkers:         1,
		AllWorkers:         true,
		IncludeCollections: []string{"own", "default", "weights"},
		IncludeRegexes:     []string{"^relu", "^gelu"},
		Collections:        []*smdebug.Collection{own},
		SaveConfig:         smdebug.SaveConfig{smdebug.AnyMode: {Interval: 3}, smdebug.Train: {Interval: 1, Start: 1, Steps: []int64{}}},
		ReductionConfig:    &smdebug.ReductionConfig{Reductions: []string{"mean", "abs_max"}, SaveShape: true},
		Settings:           map[string]string{"queue_bytes": "1048576", "durability": "step", "s3_region": "eu-west-1"},
	})
	for range 4 {
		recordStep(t, hook, func(int64) map[string]smdebug.View {
			view := smdebug.ViewOf([]float32{-3, 1})
			return map[string]smdebug.View{"own/x": view, "relu": view, "gelu": view, "other": view, "weight": view}
		})
	}
	must(t, hook.Close())
	trial := openTrial(t, path)
	names := got(trial.TensorNames())(t)
	if !slices.Equal(names, []string{"gelu", "own/x", "relu", "weight"}) {
		t.Error(names)
	}
	relu, x := got(trial.Tensor("relu"))(t), got(trial.Tensor("own/x"))(t)
	if steps := got(relu.Steps(smdebug.Train))(t); !slices.Equal(steps, []int64{1, 2, 3}) {
		t.Error(steps)
	}
	if steps := got(x.Steps(smdebug.Train))(t); !slices.Equal(steps, []int64{0, 2}) {
		t.Error(steps)
	}
	if names := got(relu.Reductions(1, smdebug.Train))(t); !slices.Equal(names, []string{"abs_max", "mean"}) {
		t.Error(names)
	}
	if mean := got(relu.Reduction(1, smdebug.Train, "abs_max"))(t); mean != 3 {
		t.Error(mean)
	}
	if shape := got(relu.Shape(1, smdebug.Train))(t); !slices.Equal(shape, []int{2}) {
		t.Error(shape)
	}
	_, err := relu.Value(1, smdebug.Train)
	mustFail(t, err, smdebug.ErrValueUnavailable)
}

func TestBadOptions(t *testing.T) {
	closed := got(smdebug.NewCollection("closed"))(t)
	closed.Close()
	for name, test := range map[string]struct {
		outDir  string
		options smdebug.HookOptions
		code    smdebug.Code
		says    string
	}{
		"no folder":         {"", smdebug.HookOptions{}, smdebug.ErrInvalidArgument, "out_dir"},
		"NUL in the folder": {"a\x00b", smdebug.HookOptions{}, smdebug.ErrInvalidArgument, "NUL"},
		"unknown setting":   {"run", smdebug.HookOptions{Settings: map[string]string{"quee_bytes": "1"}}, smdebug.ErrInvalidArgument, "queue_bytes"},
		"NUL in a name":     {"run", smdebug.HookOptions{Settings: map[string]string{"dry\x00": "1"}}, smdebug.ErrInvalidArgument, "NUL"},
		"NUL in a value":    {"run", smdebug.HookOptions{Settings: map[string]string{"worker": "w\x00"}}, smdebug.ErrInvalidArgument, "NUL"},
		"bad value":         {"run", smdebug.HookOptions{Settings: map[string]string{"queue_bytes": "much"}}, smdebug.ErrInvalidConfig, "much"},
		"workers":           {"run", smdebug.HookOptions{NumWorkers: -1}, smdebug.ErrInvalidConfig, "-1"},
		"comma":             {"run", smdebug.HookOptions{IncludeCollections: []string{"a,b"}}, smdebug.ErrInvalidArgument, "comma"},
		"regex":             {"run", smdebug.HookOptions{IncludeRegexes: []string{"("}}, smdebug.ErrInvalidConfig, "("},
		"NUL in a regex":    {"run", smdebug.HookOptions{IncludeRegexes: []string{"\x00"}}, smdebug.ErrInvalidArgument, "NUL"},
		"interval":          {"run", smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(-1)}, smdebug.ErrInvalidConfig, "-1"},
		"mode":              {"run", smdebug.HookOptions{SaveConfig: smdebug.SaveConfig{9: {}}}, smdebug.ErrInvalidArgument, "9"},
		"reduction":         {"run", smdebug.HookOptions{ReductionConfig: &smdebug.ReductionConfig{Reductions: []string{"mode"}}}, smdebug.ErrInvalidConfig, "mode"},
		"nil collection":    {"run", smdebug.HookOptions{Collections: []*smdebug.Collection{nil}}, smdebug.ErrInvalidArgument, "nil"},
		"closed collection": {"run", smdebug.HookOptions{Collections: []*smdebug.Collection{closed}}, smdebug.ErrWrongState, "closed"},
		"scheme":            {"gopher://run", smdebug.HookOptions{}, smdebug.ErrUnsupported, "gopher"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			hook, err := smdebug.NewHook(test.outDir, test.options)
			if hook != nil {
				t.Error("there is a hook")
			}
			if failure := mustFail(t, err, test.code); !strings.Contains(failure.Message, test.says) {
				t.Errorf("the message does not speak of %q: %v", test.says, failure)
			}
		})
	}
}

func TestCustomTensorsAndScalars(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(1)})
	must(t, hook.SaveCustom("confusion", smdebug.ViewOf([]int32{1, 0, 0, 1}, 2, 2), "diagnostics", "more"))
	must(t, hook.SaveCustom("alone", smdebug.ViewOfStrings([]string{"text"})))
	must(t, hook.SaveScalar("accuracy", 0.75))
	must(t, hook.SaveScalarAt("earlier", 0.5, time.Unix(1_600_000_000, 0)))
	recordStep(t, hook, loss)
	must(t, hook.Close())
	trial := openTrial(t, path)
	names := got(trial.TensorNames())(t)
	if !slices.Equal(names, []string{"alone", "confusion", "loss", "scalar/accuracy", "scalar/earlier"}) {
		t.Error(names)
	}
	if names := got(trial.TensorNames(smdebug.InCollection("diagnostics")))(t); !slices.Equal(names, []string{"confusion"}) {
		t.Error(names)
	}
	accuracy := valueOf(t, trial, "scalar/accuracy", 0)
	if number := got(accuracy.Float64())(t); number != 0.75 || !slices.Equal(accuracy.Shape(), []int{1}) {
		t.Error(number, accuracy.Shape())
	}
	for _, err := range []error{
		hook.SaveScalar("a\x00", 1),
		hook.SaveCustom("a\x00", smdebug.Scalar(1)),
		newHook(t, path+"2", everything()).SaveCustom("a", smdebug.Scalar(1), "b\x00"),
	} {
		if err == nil {
			t.Error("a bad name is taken")
		}
	}
}

func TestCollectionsOfAHook(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), everything())
	_, err := hook.Collection("mine")
	mustFail(t, err, smdebug.ErrNotFound)
	must(t, got(hook.EnsureCollection("mine"))(t).Close())
	must(t, got(hook.Collection("mine"))(t).Close())
	biases := got(hook.Collection("biases"))(t)
	if regexes := got(biases.Regexes())(t); len(regexes) != 1 {
		t.Error(regexes)
	}
	mine := got(smdebug.NewCollection("mine"))(t)
	must(t, mine.AddTensors("x"))
	must(t, hook.AddCollection(mine))
	names := got(hook.Collections())(t)
	if !slices.Contains(names, "mine") || !slices.Contains(names, "gradients") {
		t.Error(names)
	}
	must(t, hook.ExportCollections())
	mustFail(t, hook.AddCollection(nil), smdebug.ErrInvalidArgument)
	_, err = hook.Collection("a\x00")
	mustFail(t, err, smdebug.ErrInvalidArgument)
}

func TestAForgottenHookWritesWhatEnded(t *testing.T) {
	// The hook may still release the folder when the test is over.
	folder := got(os.MkdirTemp("", "smdebug"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "run")
	func() {
		hook := got(smdebug.NewHook(path, everything()))(t)
		recordStep(t, hook, loss)
	}()
	collectGarbageUntil(t, func() bool {
		options := smdebug.TrialOptions{Settings: map[string]string{"wait_seconds": "0"}}
		trial, err := smdebug.OpenTrial(context.Background(), path, options)
		if err != nil {
			return false
		}
		defer trial.Close()
		return reflect.DeepEqual(got(trial.Steps(smdebug.Train))(t), []int64{0}) && !trial.HasEnded()
	})
}
