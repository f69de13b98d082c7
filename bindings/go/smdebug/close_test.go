package smdebug_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func collectGarbageUntil(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		if done() {
			return
		}
	}
	t.Fatal("what was forgotten was not freed")
}

// opened holds one of each type that has a Close method.
type opened struct {
	hook       *smdebug.Hook
	trial      *smdebug.Trial
	tensor     *smdebug.Tensor
	value      *smdebug.Value
	collection *smdebug.Collection
	rule       *smdebug.BuiltinRule
	rules      *smdebug.RuleSet
}

func openAll(t testing.TB, path string) opened {
	t.Helper()
	hook := got(smdebug.NewHook(filepath.Join(t.TempDir(), "other"), everything()))(t)
	trial := openTrial(t, path)
	tensor := got(trial.Tensor("loss"))(t)
	value := got(tensor.Value(0, smdebug.Train))(t)
	collection := got(trial.Collection("losses"))(t)
	rule := got(smdebug.NewBuiltinRule("VanishingGradient", nil))(t)
	rules := got(smdebug.NewRuleSet(smdebug.ProfileAWS))(t)
	return opened{hook, trial, tensor, value, collection, rule, rules}
}

func (o *opened) closers() []io.Closer {
	return []io.Closer{o.hook, o.trial, o.tensor, o.value, o.collection, o.rule, o.rules}
}

// uses makes one call to each type; calls to others use the trial.
func (o *opened) uses() map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"Save":               func() error { return o.hook.Save("x", smdebug.Scalar(1)) },
		"SaveCustom":         func() error { return o.hook.SaveCustom("x", smdebug.Scalar(1)) },
		"SaveScalar":         func() error { return o.hook.SaveScalar("x", 1) },
		"SetMode":            func() error { return o.hook.SetMode(smdebug.Eval) },
		"SetMetadata":        func() error { return o.hook.SetMetadata("rate", "0.1") },
		"BeginStep":          func() error { return two(o.hook.BeginStep()) },
		"EndStep":            o.hook.EndStep,
		"Step":               func() error { return o.hook.Step(smdebug.Train, func(int64) error { return nil }) },
		"Flush":              func() error { return o.hook.Flush(ctx) },
		"h.Collection":       func() error { return two(o.hook.Collection("x")) },
		"h.EnsureCollection": func() error { return two(o.hook.EnsureCollection("x")) },
		"h.Collectns":        func() error { return two(o.hook.Collections()) },
		"AddCollectn":        func() error { return o.hook.AddCollection(o.collection) },
		"Export":             o.hook.ExportCollections,

		"Attach":       func() error { return o.hook.Attach(o.rules) },
		"TakeFindings": func() error { return two(o.hook.TakeFindings()) },

		"Add":      func() error { return o.rules.Add("VanishingGradient", nil, smdebug.ActionWarn) },
		"Results":  func() error { return two(o.rules.Results()) },
		"Diagnose": func() error { return two(o.rules.Diagnose()) },
		"Run":      func() error { return two(o.rules.Evaluate(ctx, o.trial, smdebug.StepRange{})) },
		"p.Follow": func() (err error) {
			for _, err = range o.rules.Follow(ctx, o.trial, smdebug.StepRange{}) {
			}
			return err
		},

		"Refresh":       o.trial.Refresh,
		"Steps":         func() error { return two(o.trial.Steps(smdebug.Train)) },
		"Modes":         func() error { return two(o.trial.Modes()) },
		"ModeStep":      func() error { _, _, err := o.trial.ModeStep(0); return err },
		"GlobalStep":    func() error { return two(o.trial.GlobalStep(0, smdebug.Train)) },
		"StepState":     func() error { return two(o.trial.StepState(0, smdebug.Train)) },
		"WaitForStep":   func() error { return o.trial.WaitForStep(ctx, 0, smdebug.Train) },
		"t.Workers":     func() error { return two(o.trial.Workers()) },
		"t.Metadata":    func() error { return two(o.trial.Metadata()) },
		"Collections":   func() error { return two(o.trial.Collections()) },
		"Collection":    func() error { return two(o.trial.Collection("x")) },
		"TensorNames":   func() error { return two(o.trial.TensorNames()) },
		"RecordedNames": func() error { return two(o.trial.RecordedNames(0, smdebug.Train)) },
		"Tensor":        func() error { return two(o.trial.Tensor("loss")) },
		"Prefetch":      func() error { return o.trial.Prefetch([]string{"loss"}, []int64{0}, smdebug.Train) },
		"RunRule":       func() error { return two(smdebug.RunRule(ctx, o.rule, o.trial, smdebug.RunOptions{})) },

		"OriginalName":   func() error { return two(o.tensor.OriginalName()) },
		"t.Steps":        func() error { return two(o.tensor.Steps(smdebug.Train)) },
		"PrevSteps":      func() error { return two(o.tensor.PrevSteps(0, smdebug.Train, 1)) },
		"Workers":        func() error { return two(o.tensor.Workers(0, smdebug.Train)) },
		"Value":          func() error { return two(o.tensor.Value(0, smdebug.Train)) },
		"Shape":          func() error { return two(o.tensor.Shape(0, smdebug.Train)) },
		"Reduction":      func() error { return two(o.tensor.Reduction(0, smdebug.Train, "mean")) },
		"Reductions":     func() error { return two(o.tensor.Reductions(0, smdebug.Train)) },
		"Bytes":          func() error { return two(o.value.Bytes()) },
		"Float64s":       func() error { return two(o.value.Float64s()) },
		"Float64":        func() error { return two(o.value.Float64()) },
		"Reduce":         func() error { return two(o.value.Reduce("mean")) },
		"Strings":        func() error { return two(o.value.Strings()) },
		"Include":        func() error { return o.collection.Include("x") },
		"AddTensors":     func() error { return o.collection.AddTensors("x") },
		"Regexes":        func() error { return two(o.collection.Regexes()) },
		"SetSave":        func() error { return o.collection.SetSaveConfig(nil) },
		"SaveConfig":     func() error { return two(o.collection.SaveConfig()) },
		"SetReduction":   func() error { return o.collection.SetReductionConfig(nil) },
		"ReductionConf":  func() error { return two(o.collection.ReductionConfig()) },
		"SetHistogram":   func() error { return o.collection.SetSaveHistogram(true) },
		"MarshalJSON":    func() error { return two(o.collection.MarshalJSON()) },
		"InvokeAtStep":   func() error { return two(o.rule.InvokeAtStep(ctx, o.trial, 0)) },
		"FullValue":      func() error { return two(o.tensor.FullValue(0, smdebug.Train)) },
		"FullReduction":  func() error { return two(o.tensor.FullReduction(0, smdebug.Train, "mean")) },
		"ReductionValue": func() error { return two(o.tensor.ReductionValue(0, smdebug.Train, "mean")) },
	}
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	all := openAll(t, record(t, 1, loss))
	for range 2 {
		for _, closer := range all.closers() {
			must(t, closer.Close())
		}
	}
	for name, use := range all.uses() {
		err := use()
		mustFail(t, err, smdebug.ErrWrongState)
		if !errors.Is(err, smdebug.ErrClosed) {
			t.Errorf("%s: %v is no ErrClosed", name, err)
		}
	}
	// These calls have no error to return.
	all.trial.Cancel()
	all.trial.Still()()
	if all.hook.Mode() != smdebug.AnyMode || all.hook.Wants("x") || all.hook.IsRecording() ||
		all.hook.LastStep(smdebug.Train) != -1 || all.hook.Count("steps_written") != -1 ||
		all.hook.Action() != smdebug.ActionContinue {
		t.Error("a closed hook answers")
	}
	if all.trial.Path() != "" || all.trial.Name() != "" || all.trial.HasEnded() ||
		all.trial.LastCompleteStep() != -1 || all.tensor.Name() != "" {
		t.Error("a closed trial answers")
	}
	if all.collection.Name() != "" || all.collection.Has("loss") || all.collection.SaveHistogram() {
		t.Error("a closed collection answers")
	}
}

func TestWhatWasReadOutlivesWhatItWasReadFrom(t *testing.T) {
	all := openAll(t, record(t, 2, loss))
	must(t, all.trial.Close())
	value := got(all.tensor.Value(1, smdebug.Train))(t)
	must(t, all.tensor.Close())
	if number := got(value.Float64())(t); number != 0.5 {
		t.Error(number)
	}
}

// Closing during use: each call either completes or finds its object closed.
func TestCloseDuringUse(t *testing.T) {
	path := record(t, 1, loss)
	for range 20 {
		all := openAll(t, path)
		uses := all.uses()
		delete(uses, "Flush") // it would wait for a step that another goroutine holds open
		var users sync.WaitGroup
		begin := make(chan struct{})
		for _, use := range uses {
			users.Add(1)
			go func() {
				defer users.Done()
				<-begin
				for end := time.Now().Add(5 * time.Millisecond); time.Now().Before(end); {
					use()
				}
			}()
		}
		for _, closer := range append(all.closers(), all.closers()...) {
			users.Add(1)
			go func() {
				defer users.Done()
				<-begin
				time.Sleep(time.Millisecond)
				closer.Close()
			}()
		}
		close(begin)
		within(t, 20*time.Second, users.Wait)
	}
}

func TestCloseEndsAWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	recordStep(t, hook, loss)
	trial := openTrial(t, path)
	failed := make(chan error)
	go func() { failed <- trial.WaitForStep(context.Background(), 5, smdebug.Train) }()
	time.Sleep(20 * time.Millisecond)
	must(t, trial.Close())
	within(t, 5*time.Second, func() {
		if err := <-failed; !errors.Is(err, smdebug.ErrClosed) {
			t.Error(err)
		}
	})
}

// Who returns from Close may end the process.
func TestACloseWaitsForTheOneThatHasBegun(t *testing.T) {
	big := make([]float32, 4<<20)
	for range 5 {
		path := filepath.Join(t.TempDir(), "run")
		hook := newHook(t, path, everything())
		for range 3 {
			recordStep(t, hook, func(int64) map[string]smdebug.View {
				return map[string]smdebug.View{"x": smdebug.ViewOf(big)}
			})
		}
		var closers sync.WaitGroup
		for range 2 {
			closers.Add(1)
			go func() {
				defer closers.Done()
				must(t, hook.Close())
				trial := openTrial(t, path)
				if steps := got(trial.Steps(smdebug.Global))(t); len(steps) != 3 || !trial.HasEnded() {
					t.Error(steps)
				}
			}()
		}
		closers.Wait()
	}
}
