package smdebug

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Steps are the steps of a mode that every worker has written, ascending.
func (t *Trial) Steps(mode Mode) ([]int64, error) { return t.steps(mode, false) }

// AllSteps are the steps of a mode that some worker has written, ascending.
func (t *Trial) AllSteps(mode Mode) ([]int64, error) { return t.steps(mode, true) }

func (t *Trial) steps(mode Mode, incompleteToo bool) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outSteps(func(out raw.Smd_steps) raw.Smd_error {
		return raw.Smd_trial_steps(handle, int(mode), flag(incompleteToo), out)
	})
}

// Modes are the modes of the steps seen so far, ascending.
func (t *Trial) Modes() ([]Mode, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	numbers, err := outSteps(func(out raw.Smd_steps) raw.Smd_error {
		return raw.Smd_trial_modes(handle, out)
	})
	found := make([]Mode, len(numbers))
	for i, number := range numbers {
		found[i] = Mode(number)
	}
	return found, err
}

// ModeStep is what a global step was: its mode and mode step, or AnyMode and -1 if it
// was not seen.
func (t *Trial) ModeStep(globalStep int64) (Mode, int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return AnyMode, -1, err
	}
	defer t.handle.release()
	mode := raw.New_int32_slot()
	if mode == nil {
		return AnyMode, -1, errNoMemory
	}
	defer raw.Delete_int32_slot(mode)
	step, err := outInt64(func(out *int64) raw.Smd_error {
		return raw.Smd_trial_mode_step(handle, globalStep, mode, out)
	})
	if err != nil {
		return AnyMode, -1, err
	}
	return Mode(raw.Int32_slot_value(mode)), step, nil
}

// GlobalStep is the global number of a mode's step, or -1 if it was not seen.
func (t *Trial) GlobalStep(mode Mode, step int64) (int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return -1, err
	}
	defer t.handle.release()
	global, err := outInt64(func(out *int64) raw.Smd_error {
		return raw.Smd_trial_global_step(handle, int(mode), step, out)
	})
	if err != nil {
		return -1, err
	}
	return global, nil
}

// StepState says whether a step is there, will never be, or may still come.
func (t *Trial) StepState(step int64, mode Mode) (StepState, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return StepUnavailable, err
	}
	defer t.handle.release()
	state := raw.New_int32_slot()
	if state == nil {
		return StepUnavailable, errNoMemory
	}
	defer raw.Delete_int32_slot(state)
	err = take(raw.Smd_trial_step_state(handle, step, int(mode), state))
	return StepState(raw.Int32_slot_value(state)), err
}

// WaitForStep waits until the step is there, or ctx is done.
//
// It fails with [ErrStepUnavailable] for a step that was passed over, and with
// [ErrNoMoreData] for one after the end of a job that has ended.
func (t *Trial) WaitForStep(ctx context.Context, step int64, mode Mode) error {
	what := fmt.Sprintf("waiting for step %d of %v", step, mode)
	return waitInSlices(ctx, what, func(milliseconds int) error {
		return t.call(func(handle raw.Smd_trial) raw.Smd_error {
			return raw.Smd_trial_wait_for_step(handle, step, int(mode), milliseconds)
		})
	})
}

// Follow gives the steps of a mode from first on, one after the other, as the job
// records them; it ends with the job.  An error, also that of ctx, is given out last.
//
//	for step, err := range trial.Follow(ctx, smdebug.Train, 0) {
//		if err != nil { return err }
//		...
//	}
func (t *Trial) Follow(ctx context.Context, mode Mode, first int64) iter.Seq2[int64, error] {
	return t.follow(ctx, mode, first, 0)
}

// follow gives the steps first <= s < end; end 0: until the job ends.
func (t *Trial) follow(ctx context.Context, mode Mode, first, end int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		var seen []int64
		for step := first; end == 0 || step < end; step++ {
			err := t.WaitForStep(ctx, step, mode)
			switch {
			case errors.Is(err, ErrNoMoreData):
				return
			case errors.Is(err, ErrStepUnavailable):
				if seen, err = t.stepsFrom(seen, step, mode); err != nil {
					yield(step, err)
					return
				}
				if len(seen) > 0 {
					step = seen[0] - 1
				}
			default:
				if !yield(step, err) || err != nil {
					return
				}
			}
		}
	}
}

// stepsFrom are the known steps from one on; asked for only where seen has none.
func (t *Trial) stepsFrom(seen []int64, step int64, mode Mode) ([]int64, error) {
	later := func(steps []int64) []int64 {
		at, _ := slices.BinarySearch(steps, step)
		return steps[at:]
	}
	if seen = later(seen); len(seen) > 0 {
		return seen, nil
	}
	known, err := t.AllSteps(mode)
	return later(known), err
}

// NameCondition narrows what [Trial.TensorNames] finds.
type NameCondition func(*nameQuery)

type nameQuery struct {
	step       int64
	mode       Mode
	regexes    []string
	collection string
}

// AtStep is the condition that the tensor was saved at a step of a mode.
func AtStep(step int64, mode Mode) NameCondition {
	return func(q *nameQuery) { q.step, q.mode = step, mode }
}

// InMode is the condition that the tensor was saved in a mode.
func InMode(mode Mode) NameCondition { return func(q *nameQuery) { q.mode = mode } }

// Matching is the condition that one of the regular expressions is found in the name.
func Matching(regexes ...string) NameCondition {
	return func(q *nameQuery) { q.regexes = append(q.regexes, regexes...) }
}

// InCollection is the condition that the tensor is in the trial's collection of that
// name.
func InCollection(name string) NameCondition {
	return func(q *nameQuery) { q.collection = name }
}

// TensorNames are the names of tensors saved so far that meet all conditions, sorted.
func (t *Trial) TensorNames(conditions ...NameCondition) ([]string, error) {
	query := nameQuery{step: -1, mode: Global}
	for _, condition := range conditions {
		condition(&query)
	}
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	var regexes raw.Smd_strings = raw.NoStrings
	if query.regexes != nil {
		if regexes, err = newStrings("regular expression", query.regexes); err != nil {
			return nil, err
		}
		defer raw.Smd_strings_free(regexes)
	}
	ask := func(collection raw.Smd_collection) ([]string, error) {
		return outStrings(func(out raw.Smd_strings) raw.Smd_error {
			return raw.Smd_trial_tensor_names(handle, query.step, int(query.mode), regexes, collection, out)
		})
	}
	if query.collection == "" {
		return ask(raw.NoCollection)
	}
	collection, err := t.Collection(query.collection)
	if err != nil {
		return nil, err
	}
	defer collection.Close()
	return ask(collection.handle.raw)
}
