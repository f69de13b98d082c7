package smdebug_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// A cancelled wait must return at most this much later.
const soon = 2 * time.Second

func afterMilliseconds(t *testing.T, milliseconds time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), milliseconds*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestContextsEndWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	recordStep(t, hook, loss)
	must(t, hook.Flush(context.Background()))
	trial := openTrial(t, path)
	rule := got(smdebug.NewBuiltinRule("VanishingGradient", nil))(t)
	rules := got(newRuleSet("1e-6", smdebug.ActionWarn))(t)
	for name, wait := range map[string]func(context.Context) error{
		"WaitForStep": func(ctx context.Context) error { return trial.WaitForStep(ctx, 5, smdebug.Train) },
		"OpenTrial": func(ctx context.Context) error {
			_, err := smdebug.OpenTrial(ctx, t.TempDir(), smdebug.TrialOptions{})
			return err
		},
		"Follow": func(ctx context.Context) (err error) {
			for _, err = range trial.Follow(ctx, smdebug.Train, 0) {
			}
			return err
		},
		"InvokeAtStep": func(ctx context.Context) error {
			_, err := rule.InvokeAtStep(ctx, trial, 5)
			return err
		},
		"RunRule": func(ctx context.Context) error {
			_, err := smdebug.RunRule(ctx, rule, trial, smdebug.RunOptions{})
			return err
		},
		"RuleSet.Follow": func(ctx context.Context) (err error) {
			for _, err = range rules.Follow(ctx, trial, smdebug.StepRange{}) {
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, soon, func() {
				if err := wait(afterMilliseconds(t, 120)); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
			within(t, soon, func() {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(30*time.Millisecond, cancel)
				if err := wait(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			if err := wait(cancelled()); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if err := hook.Flush(cancelled()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// These waits must not have affected the trial.
	if steps := got(trial.Steps(smdebug.Train))(t); !slices.Equal(steps, []int64{0}) {
		t.Error(steps)
	}
}

func TestCancelEndsWaitsForGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	recordStep(t, newHook(t, path, everything()), loss)
	trial := openTrial(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, trial.Cancel)()
	time.AfterFunc(30*time.Millisecond, cancel)
	within(t, soon, func() {
		mustFail(t, trial.WaitForStep(context.Background(), 5, smdebug.Train), smdebug.ErrCancelled)
	})
	mustFail(t, trial.Refresh(), smdebug.ErrCancelled)
}

func TestFollowALiveTrial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(3)})
	recordStep(t, hook, loss)
	go func() {
		for range 20 {
			time.Sleep(2 * time.Millisecond)
			recordStep(t, hook, loss)
		}
		hook.Close()
	}()
	trial := openTrial(t, path)
	var steps []int64
	within(t, 20*time.Second, func() {
		for step, err := range trial.Follow(context.Background(), smdebug.Train, 2) {
			if err != nil {
				t.Error(err)
			}
			steps = append(steps, step)
		}
	})
	if !slices.Equal(steps, []int64{3, 6, 9, 12, 15, 18}) {
		t.Error(steps)
	}
	// Follow again when all steps are there, and stop before the last.
	steps = nil
	for step := range trial.Follow(context.Background(), smdebug.Global, 0) {
		if steps = append(steps, step); step == 6 {
			break
		}
	}
	if !slices.Equal(steps, []int64{0, 3, 6}) {
		t.Error(steps)
	}
}

func TestWaitForStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveConfig: smdebug.SaveEvery(2)})
	recordStep(t, hook, loss)
	trial := openTrial(t, path)
	go func() {
		time.Sleep(120 * time.Millisecond) // longer than a slice
		for range 2 {
			recordStep(t, hook, loss)
		}
		hook.Close()
	}()
	ctx := context.Background()
	must(t, trial.WaitForStep(ctx, 2, smdebug.Train))
	mustFail(t, trial.WaitForStep(ctx, 1, smdebug.Train), smdebug.ErrStepUnavailable)
	mustFail(t, trial.WaitForStep(ctx, 4, smdebug.Train), smdebug.ErrNoMoreData)
	mustFail(t, trial.WaitForStep(ctx, 0, 77), smdebug.ErrInvalidArgument)
}
