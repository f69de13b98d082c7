// Command faults makes each call of a job in Go fail in turn:
//
//	faults FOLDER
//
// It links fault_failing_calls; FAULT_UNDER selects the calls that count.  It prints the number
// of calls of each kind, or the bug that it found.
package main

// #include <failing_calls.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

const steps = 2

var saved = slices.Repeat([]float32{1.5}, 12000)

// kind is a group of calls that fail, the error, and the codes that it explains.
type kind struct {
	group uint32
	error C.int
	codes []error
}

var kinds = []kind{
	{C.FAULT_MEMORY, 0, []error{smdebug.ErrOutOfMemory}},
	{C.FAULT_CALLS, C.int(syscall.EIO), []error{smdebug.ErrIO, smdebug.ErrOutOfMemory}},
	{C.FAULT_CALLS, C.int(syscall.EMFILE), []error{smdebug.ErrIO, smdebug.ErrOutOfMemory}},
	{C.FAULT_CALLS, C.FAULT_SHORT, nil},
}

// A job notes which steps are durable, and its errors.
type job struct {
	folder  string
	durable []int64
	errors  []error
}

func (j *job) note(err error) bool {
	if err != nil {
		j.errors = append(j.errors, err)
	}
	return err == nil
}

func (j *job) record() {
	hook, err := smdebug.NewHook(j.folder, smdebug.HookOptions{
		SaveAll:    true,
		SaveConfig: smdebug.SaveEvery(1),
		Settings:   map[string]string{"durability": "step"},
	})
	if !j.note(err) {
		return
	}
	for range steps {
		var number int64
		err := hook.Step(smdebug.Train, func(step int64) error {
			number = step
			return hook.Save("kernel", smdebug.ViewOf(saved))
		})
		if j.note(err) && j.note(hook.Flush(context.Background())) {
			j.durable = append(j.durable, number)
		}
	}
	j.note(hook.Close())
}

// read returns the steps that can be read; it would wait for a missing trial.
func (j *job) read() (found []int64, err error) {
	if len(j.durable) == 0 {
		return nil, nil
	}
	trial, err := smdebug.OpenTrial(context.Background(), j.folder,
		smdebug.TrialOptions{Settings: map[string]string{"end_delay_seconds": "0"}})
	if err != nil {
		return nil, err
	}
	defer trial.Close()
	numbers, err := trial.Steps(smdebug.Global)
	if err != nil {
		return nil, err
	}
	tensor, err := trial.Tensor("kernel")
	if err != nil {
		return nil, err
	}
	for _, step := range numbers {
		if err := check(tensor, step); err != nil {
			return nil, err
		}
		found = append(found, step)
	}
	return found, evaluate(trial, len(found))
}

func evaluate(trial *smdebug.Trial, steps int) error {
	rules, err := smdebug.NewRuleSet(smdebug.ProfileAWS)
	if err != nil {
		return err
	}
	defer rules.Close()
	err = rules.AddFunction("Own", func(_ context.Context, step *smdebug.RuleStep) error {
		return step.Reportf("found")
	}, smdebug.ActionWarn)
	if err != nil {
		return err
	}
	findings, err := rules.Evaluate(context.Background(), trial, smdebug.StepRange{})
	if err == nil && len(findings) != steps {
		err = errors.New("a finding is lost")
	}
	return err
}

func check(tensor *smdebug.Tensor, step int64) error {
	value, err := tensor.Value(step, smdebug.Global)
	if err != nil {
		return err
	}
	defer value.Close()
	elements, err := smdebug.Elements[float32](value)
	if err == nil && !slices.Equal(elements, saved) {
		err = errors.New("wrong values")
	}
	return err
}

// look reports bugs once nothing fails any more.
func (j *job) look() error {
	found, err := j.read()
	for _, step := range j.durable {
		if err == nil && !slices.Contains(found, step) {
			err = fmt.Errorf("step %d is lost", step)
		}
	}
	return err
}

func (k kind) explains(err error) bool {
	isThread := k.group == C.FAULT_MEMORY && strings.Contains(err.Error(), "starting a thread")
	return isThread || slices.ContainsFunc(k.codes, func(code error) bool { return errors.Is(err, code) })
}

// perform makes one call fail; it returns the number of calls.
func perform(folder string, k kind, number int) (int, error) {
	failing, again := job{folder: folder}, job{folder: folder + "-again"}
	C.fault_arm(k.group, C.long(number), k.error, 0)
	failing.record()
	_, err := failing.read()
	count := int(C.fault_disarm())
	failing.note(err)
	for _, err := range failing.errors {
		if !k.explains(err) {
			return count, err
		}
	}
	again.record()
	return count, errors.Join(failing.look(), again.look(), errors.Join(again.errors...))
}

// held describes the library's resources that the process holds.
type held struct{ files, allocations int }

func holding() (held, error) {
	files, err := os.ReadDir("/proc/self/fd")
	return held{len(files), int(C.fault_allocations())}, err
}

// left returns what the process holds more than before, after cleanups have freed what was not
// closed.
func left(before held) (more held, err error) {
	for range 50 {
		now, err := holding()
		more = held{max(now.files-before.files, 0), max(now.allocations-before.allocations, 0)}
		if err != nil || more == (held{}) {
			return more, err
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return more, nil
}

// performWithoutLeak repeats a job that leaves something: the first job of its kind may create
// what later jobs reuse.
func performWithoutLeak(folder string, k kind, number int) (int, error) {
	const rounds = 12 // the runtime adds threads on a busy machine, and each holds memory
	count := 0
	var more []held
	for range rounds {
		before, err := holding()
		if err != nil {
			return count, err
		}
		count, err = perform(folder, k, number)
		os.RemoveAll(folder)
		os.RemoveAll(folder + "-again")
		if err != nil {
			return count, err
		}
		each, err := left(before)
		if err != nil || each == (held{}) {
			return count, err
		}
		more = append(more, each)
	}
	return count, fmt.Errorf("files and allocations are left behind every time: %v", more)
}

func run(scratch string) error {
	stride := 7
	if os.Getenv("SMDEBUG_TORTURE") != "" {
		stride = 1
	}
	for _, k := range kinds {
		var count int
		for number := 1; ; number += stride {
			folder := filepath.Join(scratch, fmt.Sprint(number))
			var err error
			if count, err = performWithoutLeak(folder, k, number); err != nil {
				return fmt.Errorf("group %d error %d call %d: %w", k.group, k.error, number, err)
			}
			if count < number {
				break
			}
		}
		fmt.Printf("group %d error %d: %d calls\n", k.group, k.error, count)
	}
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
