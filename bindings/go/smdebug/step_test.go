package smdebug_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestAStepThatFailsIsDiscarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	failure := errors.New("the batch cannot be read")
	err := hook.Step(smdebug.Train, func(int64) error {
		must(t, hook.Save("before", smdebug.ViewOf(make([]float64, 1<<19))))
		return failure
	})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
	func() {
		defer func() {
			if panicked := recover(); panicked != "as told" {
				t.Error(panicked)
			}
		}()
		_ = hook.Step(smdebug.Train, func(int64) error {
			must(t, hook.Save("before", smdebug.Scalar(1)))
			panic("as told")
		})
	}()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = hook.Step(smdebug.Train, func(int64) error {
			_ = hook.Save("before", smdebug.Scalar(1))
			runtime.Goexit()
			return nil
		})
	}()
	<-exited
	recordStep(t, hook, loss)
	must(t, two(hook.BeginStep()))
	must(t, hook.DiscardStep())
	mustFail(t, hook.DiscardStep(), smdebug.ErrWrongState)
	must(t, hook.Close())
	trial := openTrial(t, path)
	if steps := got(trial.Steps(smdebug.Global))(t); !slices.Equal(steps, []int64{3}) {
		t.Error(steps)
	}
	if names := got(trial.TensorNames())(t); !slices.Equal(names, []string{"loss"}) {
		t.Error(names)
	}
}

// largest is the largest step number.
const largest = math.MaxInt64 - 1

// recordUpTo records a trial whose last step has the largest number.
func recordUpTo(t *testing.T) string {
	t.Helper()
	path := record(t, 2, loss)
	from := filepath.Join(path, "index", "000000000", "000000000001_worker_0.json")
	var index map[string]any
	must(t, json.Unmarshal(got(os.ReadFile(from))(t), &index))
	index["meta"].(map[string]any)["mode_step"] = json.Number(strconv.Itoa(largest))
	to := filepath.Join(path, "index", strconv.Itoa(largest/1000), strconv.Itoa(largest)+"_worker_0.json")
	must(t, os.MkdirAll(filepath.Dir(to), 0o700))
	must(t, os.WriteFile(to, got(json.Marshal(index))(t), 0o600))
	must(t, os.Remove(from))
	return path
}

type everyStep struct{ seen []int64 }

func (*everyStep) Name() string { return "everyStep" }

func (r *everyStep) InvokeAtStep(_ context.Context, _ *smdebug.Trial, step int64) (bool, error) {
	r.seen = append(r.seen, step)
	return false, nil
}

func TestTheLargestStepIsTheLast(t *testing.T) {
	trial := openTrial(t, recordUpTo(t))
	want := []int64{0, largest}
	within(t, time.Minute, func() {
		var rule everyStep
		must(t, two(smdebug.RunRule(context.Background(), &rule, trial, smdebug.RunOptions{})))
		if !slices.Equal(rule.seen, want) {
			t.Error(rule.seen)
		}
		for _, mode := range []smdebug.Mode{smdebug.Global, smdebug.Train} {
			var steps []int64
			for step, err := range trial.Follow(context.Background(), mode, 0) {
				must(t, err)
				steps = append(steps, step)
			}
			if !slices.Equal(steps, want) {
				t.Error(mode, steps)
			}
		}
		mustFail(t, trial.WaitForStep(context.Background(), math.MaxInt64, smdebug.Global), smdebug.ErrNoMoreData)
	})
}
