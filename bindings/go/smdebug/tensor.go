package smdebug

import (
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Tensor is a trial's tensor by its name.  It may be used by several goroutines at once,
// also after the trial was closed.
//
// Where it takes a mode, a step is the number that this mode counts.  Reading waits for
// a file that a job has announced but not written, as the trial's setting
// missing_file_retries says; [Trial.Cancel] ends that.
type Tensor struct {
	handle *handle[raw.Smd_tensor]
}

// Close frees the tensor's handle; its values live on.  It always returns nil.
func (t *Tensor) Close() error {
	t.handle.close()
	return nil
}

// Name is the tensor's name; "" after Close.
func (t *Tensor) Name() string {
	handle, err := t.handle.acquire()
	if err != nil {
		return ""
	}
	defer t.handle.release()
	return raw.Smd_tensor_name(handle)
}

// OriginalName is the name the framework gave it, where a shape was saved with one; else
// "".
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

// Steps are the steps of a mode at which it was saved and which every worker has
// written, ascending.
func (t *Tensor) Steps(mode Mode) ([]int64, error) { return t.steps(mode, false) }

// AllSteps are the steps of a mode at which some worker has saved it, ascending.
func (t *Tensor) AllSteps(mode Mode) ([]int64, error) { return t.steps(mode, true) }

func (t *Tensor) steps(mode Mode, incompleteToo bool) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outSteps(func(out raw.Smd_steps) raw.Smd_error {
		return raw.Smd_tensor_steps(handle, int(mode), flag(incompleteToo), out)
	})
}

// PrevSteps are the last count of its steps (0: all) that are not after step.
func (t *Tensor) PrevSteps(step int64, count int, mode Mode) ([]int64, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outSteps(func(out raw.Smd_steps) raw.Smd_error {
		return raw.Smd_tensor_prev_steps(handle, step, int64(count), int(mode), out)
	})
}

// Workers are the names of the workers that saved it at a step, sorted.
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

// ReadOption says more about what is read.
type ReadOption func(*readOptions)

type readOptions struct{ worker string }

// FromWorker takes what a worker saved, not the first that has it.
func FromWorker(name string) ReadOption { return func(o *readOptions) { o.worker = name } }

// read makes a call with the worker that the options name.
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

// Value is what was saved at a step: the elements.
//
// It fails with [ErrValueUnavailable] where the tensor was not saved at this step, or
// only its reductions, and with [ErrStepUnavailable] or [ErrStepNotYet] where there is no
// such step.
func (t *Tensor) Value(step int64, mode Mode, options ...ReadOption) (value *Value, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		value, err = outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_tensor_value(handle, step, int(mode), worker, out)
		})
		return err
	})
	return value, err
}

// Shape is the shape at a step: the one saved, or the value's.
func (t *Tensor) Shape(step int64, mode Mode, options ...ReadOption) (shape []int, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		sizes, err := outSteps(func(out raw.Smd_steps) raw.Smd_error {
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

// Reduction is a reduction at a step, by its name as in [ReductionConfig]: the one saved,
// or computed from the value.  Of a complex number it is the real part.
func (t *Tensor) Reduction(step int64, mode Mode, name string, options ...ReadOption) (float64, error) {
	value, err := t.ReductionValue(step, mode, name, options...)
	if err != nil {
		return 0, err
	}
	defer value.Close()
	return value.Float64()
}

// ReductionValue is the same, with the type that it has.
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

// Reductions are the names of the reductions saved at a step.
func (t *Tensor) Reductions(step int64, mode Mode, options ...ReadOption) (names []string, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		names, err = outStrings(func(out raw.Smd_strings) raw.Smd_error {
			return raw.Smd_tensor_reductions(handle, step, int(mode), worker, out)
		})
		return err
	})
	return names, err
}

// "abs_mean" is the mean of absolute values.
func splitReduction(name string) (reduction string, absolute int, err error) {
	reduction, isAbsolute := strings.CutPrefix(name, "abs_")
	return reduction, flag(isAbsolute), checkText("reduction", name)
}
