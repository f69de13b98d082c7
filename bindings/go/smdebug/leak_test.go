package smdebug_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// residentBytes returns the resident memory of the process.
func residentBytes(t *testing.T) int {
	t.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(t, err)
	return pages * os.Getpagesize()
}

const mostGrowth = 8 << 20 // bytes

// staysFlat runs cycles on some goroutines and checks that memory does not grow.
func staysFlat(t *testing.T, cycles int, cycle func(number int) error) {
	t.Helper()
	run := func(cycles int) {
		const goroutines = 4
		var all sync.WaitGroup
		for first := range goroutines {
			all.Add(1)
			go func() {
				defer all.Done()
				for number := first; number < cycles; number += goroutines {
					if err := cycle(number); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		all.Wait()
	}
	// Until arenas and the collector have grown to what the goroutines need.
	run(cycles / 2)
	before := residentBytes(t)
	run(cycles)
	// The garbage collector frees unclosed objects a little later.
	for end := time.Now().Add(5 * time.Second); residentBytes(t) > before+mostGrowth; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("memory grew by %d bytes", residentBytes(t)-before)
		}
	}
}

// closeSome leaves every third object to the garbage collector.
func closeSome(number int, closers ...io.Closer) error {
	if number%3 == 0 {
		return nil
	}
	if number%3 == 1 {
		runtime.Gosched()
		for _, closer := range closers {
			if err := closer.Close(); err != nil {
				return err
			}
		}
	}
	for i := range closers {
		if err := closers[len(closers)-1-i].Close(); err != nil {
			return err
		}
	}
	return nil
}

func TestValuesDoNotLeak(t *testing.T) {
	trial := openTrial(t, record(t, 2, loss))
	staysFlat(t, 100_000, func(number int) error {
		tensor, err := trial.Tensor("loss")
		if err != nil {
			return err
		}
		value, err := tensor.Value(int64(number%2), smdebug.Train)
		if err != nil {
			return err
		}
		if _, err = value.Float64(); err != nil {
			return err
		}
		if _, err = tensor.Value(7, smdebug.Train); !errors.Is(err, smdebug.ErrStepUnavailable) {
			return err
		}
		return closeSome(number, tensor, value)
	})
}

func TestConfigsDoNotLeak(t *testing.T) {
	staysFlat(t, 100_000, func(number int) error {
		collection, err := smdebug.NewCollection("mine")
		if err != nil {
			return err
		}
		if err := collection.SetSaveConfig(smdebug.SaveEvery(3)); err != nil {
			return err
		}
		if _, err := smdebug.SaveEvery(-1).Saves(0, smdebug.Train); err == nil {
			return errors.New("it is taken")
		}
		if err := collection.Include("("); err == nil {
			return errors.New("it is taken")
		}
		return closeSome(number, collection)
	})
}

func TestHooksDoNotLeak(t *testing.T) {
	folder := t.TempDir()
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	staysFlat(t, 20_000, func(number int) error {
		options := everything()
		options.Settings = map[string]string{"dry_run": "true"}
		options.Logger = logger
		hook, err := smdebug.NewHook(filepath.Join(folder, strconv.Itoa(number)), options)
		if err != nil {
			return err
		}
		rules, err := newRuleSet("1", smdebug.ActionStop)
		if err != nil {
			return err
		}
		if err := hook.Attach(rules); err != nil {
			return err
		}
		if err := hook.Step(smdebug.Train, func(int64) error { return hook.Save("gradient/x", smdebug.Scalar(0.5)) }); err != nil {
			return err
		}
		if findings, err := hook.TakeFindings(); len(findings) != 1 {
			return errors.Join(err, errors.New("nothing is found"))
		}
		return closeSome(number, hook, rules)
	})
}

func TestTrialsAndRulesDoNotLeak(t *testing.T) {
	path := record(t, 2, loss)
	settings := map[string]string{"end_delay_seconds": "0"}
	staysFlat(t, 10_000, func(number int) error {
		trial, err := smdebug.OpenTrial(context.Background(), path, smdebug.TrialOptions{Settings: settings})
		if err != nil {
			return err
		}
		rule, err := smdebug.NewBuiltinRule("VanishingGradient", nil)
		if err != nil {
			return err
		}
		if _, err := smdebug.RunRule(context.Background(), rule, trial, smdebug.RunOptions{}); err != nil {
			return err
		}
		rules, err := newRuleSet("1", smdebug.ActionWarn)
		if err != nil {
			return err
		}
		err = rules.AddFunction("Own", func(_ context.Context, step *smdebug.RuleStep) error {
			if _, err := rules.Results(); err != nil {
				return err
			}
			return errors.Join(step.Reportf("found"), errors.New("mine"))
		}, smdebug.ActionWarn)
		if err != nil {
			return err
		}
		if found, err := rules.Evaluate(context.Background(), trial, smdebug.StepRange{}); err == nil || len(found) != 1 {
			return errors.Join(err, errors.New("the function is not called"))
		}
		if results, err := rules.Results(); err != nil || results[0].Status != smdebug.RuleNoTensors {
			return errors.Join(err, errors.New("the result is another"))
		}
		panics := ruleOf(func(context.Context, *smdebug.Trial, int64) (bool, error) { panic("mishap") })
		if _, err := smdebug.RunRule(context.Background(), panics, trial, smdebug.RunOptions{}); !errors.Is(err, smdebug.ErrCallbackFailed) {
			return errors.New("the panic is lost")
		}
		return closeSome(number, trial, rule, rules)
	})
}
