package smdebug_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// everything returns options that save every tensor at every step.
func everything() smdebug.HookOptions {
	return smdebug.HookOptions{SaveAll: true, SaveConfig: smdebug.SaveEvery(1)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustFail(t testing.TB, err error, code smdebug.Code) *smdebug.Error {
	t.Helper()
	var failure *smdebug.Error
	if !errors.As(err, &failure) || failure.Code != code || !errors.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
	return failure
}

// two returns the error of a call that also returns a value.
func two(_ any, err error) error { return err }

func got[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func newHook(t testing.TB, outDir string, options smdebug.HookOptions) *smdebug.Hook {
	t.Helper()
	hook := got(smdebug.NewHook(outDir, options))(t)
	t.Cleanup(func() { hook.Close() })
	return hook
}

func openTrial(t testing.TB, path string) *smdebug.Trial {
	t.Helper()
	// No file arrives late in these tests.
	options := smdebug.TrialOptions{Settings: map[string]string{
		"end_delay_seconds": "0", "wait_seconds": "10",
	}}
	trial := got(smdebug.OpenTrial(context.Background(), path, options))(t)
	t.Cleanup(func() { trial.Close() })
	return trial
}

// record records a trial in which each TRAIN step saves tensors; it returns its path.
func record(t testing.TB, steps int, tensors func(step int64) map[string]smdebug.View) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	for range steps {
		recordStep(t, hook, tensors)
	}
	must(t, hook.Close())
	return path
}

func recordStep(t testing.TB, hook *smdebug.Hook, tensors func(step int64) map[string]smdebug.View) {
	t.Helper()
	must(t, hook.Step(smdebug.Train, func(step int64) error {
		for name, view := range tensors(step) {
			if err := hook.Save(name, view); err != nil {
				return err
			}
		}
		return nil
	}))
}

func loss(step int64) map[string]smdebug.View {
	return map[string]smdebug.View{"loss": smdebug.Scalar(1 / float64(1+step))}
}

func saved(t testing.TB, view smdebug.View) *smdebug.Value {
	t.Helper()
	path := record(t, 1, func(int64) map[string]smdebug.View {
		return map[string]smdebug.View{"x": view}
	})
	return valueOf(t, openTrial(t, path), "x", 0)
}

func valueOf(t testing.TB, trial *smdebug.Trial, name string, step int64) *smdebug.Value {
	t.Helper()
	tensor := got(trial.Tensor(name))(t)
	defer tensor.Close()
	value := got(tensor.Value(step, smdebug.Global))(t)
	t.Cleanup(func() { value.Close() })
	return value
}

// within fails the test if do takes longer than limit.
func within(t testing.TB, limit time.Duration, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("did not end within %v", limit)
	}
}
