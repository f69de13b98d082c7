package smdebug

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Steps returns the steps of a mode that every worker has written, ascending.
func (t *Trial) Steps(mode Mode) ([]int64, error) { return t.steps(mode, false) }

// AllSteps returns the steps of a mode that any worker has written, ascending.
func (t *Trial) AllSteps(mode Mode) ([]int64, error) { return t.steps(mode, true) }

func (t *Trial) steps(mode Mode, incompleteToo bool) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outIntegers(func(out raw.Smd_integers) raw.Smd_error {
		return raw.Smd_trial_steps(handle, int(mode), flag(incompleteToo), out)
	})
}

// Modes returns the modes of the steps seen so far, ascending.
func (t *Trial) Modes() ([]Mode, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	numbers, err := outIntegers(func(out raw.Smd_integers) raw.Smd_error {
		return raw.Smd_trial_modes(handle, out)
	})
	found := make([]Mode, len(numbers))
	for i, number := range numbers {
		found[i] = Mode(number)
	}
	return found, err
}

// ModeStep returns the mode step and the mode of a global step, or -1 and AnyMode if the
// step was not seen.
func (t *Trial) ModeStep(globalStep int64) (int64, Mode, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return -1, AnyMode, err
	}
	defer t.handle.release()
	mode := raw.New_int32_slot()
	if mode == nil {
		return -1, AnyMode, errNoMemory
	}
	defer raw.Delete_int32_slot(mode)
	step, err := outInt64(func(out *int64) raw.Smd_error {
		return raw.Smd_trial_mode_step(handle, globalStep, out, mode)
	})
	if err != nil {
		return -1, AnyMode, err
	}
	return step, Mode(raw.Int32_slot_value(mode)), nil
}

// GlobalStep returns the global number of a mode's step, or -1 if the step was not seen.
func (t *Trial) GlobalStep(step int64, mode Mode) (int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return -1, err
	}
	defer t.handle.release()
	global, err := outInt64(func(out *int64) raw.Smd_error {
		return raw.Smd_trial_global_step(handle, step, int(mode), out)
	})
	if err != nil {
		return -1, err
	}
	return global, nil
}

// StepState reports whether a step is available, will never be, or may still come.
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

// WaitForStep waits until the step is available or ctx is done.
//
// It fails with [ErrStepUnavailable] if the job did not save the step, and with
// [ErrNoMoreData] if the job ended before it.
func (t *Trial) WaitForStep(ctx context.Context, step int64, mode Mode) error {
	what := fmt.Sprintf("waiting for step %d of %v", step, mode)
	return waitInSlices(ctx, what, func(milliseconds int) error {
		return t.call(func(handle raw.Smd_trial) raw.Smd_error {
			return raw.Smd_trial_wait_for_step(handle, step, int(mode), milliseconds)
		})
	})
}

// Follow yields the steps of a mode from first on as the job records them, and stops when
// the job ends.  If waiting fails or ctx is done, the error is yielded last.
//
//	for step, err := range trial.Follow(ctx, smdebug.Train, 0) {
//		if err != nil { return err }
//		...
//	}
func (t *Trial) Follow(ctx context.Context, mode Mode, first int64) iter.Seq2[int64, error] {
	return t.follow(ctx, mode, first, 0)
}

// follow yields the steps first <= s < end; if end is 0, until the job ends.
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

// stepsFrom returns the known steps from one on; it queries the trial only if seen has
// none.
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

// NameCondition restricts the result of [Trial.TensorNames].
type NameCondition func(*nameQuery)

type nameQuery struct {
	step       int64
	mode       Mode
	regexes    []string
	collection string
	isNone     bool
}

// AtStep selects tensors that were saved at a step of a mode: none, if step is negative.
func AtStep(step int64, mode Mode) NameCondition {
	return func(q *nameQuery) { q.step, q.mode, q.isNone = step, mode, step < 0 }
}

// InMode selects tensors that were saved in a mode.
func InMode(mode Mode) NameCondition { return func(q *nameQuery) { q.mode = mode } }

// Matching selects tensors whose name contains a match of one of the regular expressions.
func Matching(regexes ...string) NameCondition {
	return func(q *nameQuery) { q.regexes = append(q.regexes, regexes...) }
}

// InCollection selects tensors of the trial's collection with that name.
func InCollection(name string) NameCondition {
	return func(q *nameQuery) { q.collection = name }
}

// TensorNames returns the sorted names of the tensors saved so far that meet all
// conditions.
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
	if query.isNone {
		return nil, nil // to the library, a negative step would be no condition
	}
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

// RecordedNames returns the names of the tensors saved at a step in the order of recording: those
// of the first worker, then those that only other workers saved. Tensors of which only the shape
// was saved come last.
func (t *Trial) RecordedNames(step int64, mode Mode) ([]string, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_trial_recorded_names(handle, step, int(mode), out)
	})
}
