package smdebug

import (
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Tensor is one tensor of a trial.  It is safe for concurrent use, also after the trial is
// closed.
//
// If a method takes a mode, its step numbers are those of that mode.  Reading waits for a
// file that a job has announced but not yet written, as the trial's setting
// missing_file_retries allows; [Trial.Cancel] ends the wait.
type Tensor struct {
	handle *handle[raw.Smd_tensor]
}

// Close frees the tensor's handle; its values stay valid.  It always returns nil.
func (t *Tensor) Close() error {
	t.handle.close()
	return nil
}

// Name returns the name of the tensor, or "" after Close.
func (t *Tensor) Name() string {
	handle, err := t.handle.acquire()
	if err != nil {
		return ""
	}
	defer t.handle.release()
	return raw.Smd_tensor_name(handle)
}

// OriginalName returns the name that the framework gave the tensor, if a shape was saved
// with one, or "".
func (t *Tensor) OriginalName() (string, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return "", err
	}
	defer t.handle.release()
	return outText(func(out raw.Smd_text) raw.Smd_error {
		return raw.Smd_tensor_original_name(handle, out)
	})
}

// Steps returns the steps of a mode at which every worker has written the tensor,
// ascending.
func (t *Tensor) Steps(mode Mode) ([]int64, error) { return t.steps(mode, false) }

// AllSteps returns the steps of a mode at which any worker has saved the tensor, ascending.
func (t *Tensor) AllSteps(mode Mode) ([]int64, error) { return t.steps(mode, true) }

func (t *Tensor) steps(mode Mode, incompleteToo bool) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outIntegers(func(out raw.Smd_integers) raw.Smd_error {
		return raw.Smd_tensor_steps(handle, int(mode), flag(incompleteToo), out)
	})
}

// PrevSteps returns the last count steps (0: all) of the tensor up to and including step.
func (t *Tensor) PrevSteps(step int64, mode Mode, count int) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outIntegers(func(out raw.Smd_integers) raw.Smd_error {
		return raw.Smd_tensor_prev_steps(handle, step, int(mode), int64(count), out)
	})
}

// Workers returns the sorted names of the workers that saved the tensor at a step.
func (t *Tensor) Workers(step int64, mode Mode) ([]string, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_tensor_workers(handle, step, int(mode), out)
	})
}

// ReadOption modifies a read.
type ReadOption func(*readOptions)

type readOptions struct{ worker string }

// FromWorker reads the value that this worker saved, instead of the first one found.
func FromWorker(name string) ReadOption { return func(o *readOptions) { o.worker = name } }

// read calls a raw function with the worker that the options name.
func (t *Tensor) read(options []ReadOption, call func(handle raw.Smd_tensor, worker string) error) error {
	var given readOptions
	for _, option := range options {
		option(&given)
	}
	if err := checkText("worker", given.worker); err != nil {
		return err
	}
	handle, err := t.handle.acquire()
	if err != nil {
		return err
	}
	defer t.handle.release()
	return call(handle, given.worker)
}

// Value returns the elements saved at a step.
//
// It fails with [ErrValueUnavailable] if the tensor was not saved at this step or only its
// reductions were, and with [ErrStepUnavailable] or [ErrStepNotYet] if there is no such
// step.
func (t *Tensor) Value(step int64, mode Mode, options ...ReadOption) (value *Value, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		value, err = outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_tensor_value(handle, step, int(mode), worker, out)
		})
		return err
	})
	return value, err
}

// Shape returns the shape at a step: the saved one, or that of the value.
func (t *Tensor) Shape(step int64, mode Mode, options ...ReadOption) (shape []int, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		sizes, err := outIntegers(func(out raw.Smd_integers) raw.Smd_error {
			return raw.Smd_tensor_shape(handle, step, int(mode), worker, out)
		})
		if err != nil {
			return err
		}
		shape = make([]int, len(sizes))
		for i, size := range sizes {
			shape[i] = int(size)
		}
		return nil
	})
	return shape, err
}

// Reduction returns a reduction at a step, by its name as in [ReductionConfig]: the saved
// one, or one computed from the value.  For a complex number it returns the real part.
func (t *Tensor) Reduction(step int64, mode Mode, name string, options ...ReadOption) (float64, error) {
	value, err := t.ReductionValue(step, mode, name, options...)
	if err != nil {
		return 0, err
	}
	defer value.Close()
	return value.Float64()
}

// ReductionValue is like Reduction, but keeps the type of the reduction.
func (t *Tensor) ReductionValue(step int64, mode Mode, name string, options ...ReadOption) (value *Value, err error) {
	reduction, absolute, err := splitReduction(name)
	if err != nil {
		return nil, err
	}
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		value, err = outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_tensor_reduction(handle, step, int(mode), worker, reduction, absolute, out)
		})
		return err
	})
	return value, err
}

// Reductions returns the names of the reductions saved at a step.
func (t *Tensor) Reductions(step int64, mode Mode, options ...ReadOption) (names []string, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		names, err = outStrings(func(out raw.Smd_strings) raw.Smd_error {
			return raw.Smd_tensor_reductions(handle, step, int(mode), worker, out)
		})
		return err
	})
	return names, err
}

// FullValue returns the elements of a tensor of which each worker saved its part, as a whole.
// Parts that several workers saved must be equal, as must the values of a tensor that the
// workers do not share.
func (t *Tensor) FullValue(step int64, mode Mode) (value *Value, err error) {
	err = t.read(nil, func(handle raw.Smd_tensor, _ string) error {
		value, err = outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_tensor_full_value(handle, step, int(mode), out)
		})
		return err
	})
	return value, err
}

// FullReduction returns a reduction of the whole tensor, of which each worker saved its part:
// computed from the elements if they were saved, or merged from the reductions of the parts.
// A median cannot be merged.
func (t *Tensor) FullReduction(step int64, mode Mode, name string) (number float64, err error) {
	reduction, absolute, err := splitReduction(name)
	if err != nil {
		return 0, err
	}
	err = t.read(nil, func(handle raw.Smd_tensor, _ string) error {
		value, err := outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_tensor_full_reduction(handle, step, int(mode), reduction, absolute, out)
		})
		if err != nil {
			return err
		}
		defer value.Close()
		number, err = value.Float64()
		return err
	})
	return number, err
}

// "abs_mean" is the mean of absolute values.
func splitReduction(name string) (reduction string, absolute int, err error) {
	reduction, isAbsolute := strings.CutPrefix(name, "abs_")
	return reduction, flag(isAbsolute), checkText("reduction", name)
}
