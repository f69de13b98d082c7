package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

// Parts is what a step saves and evaluates of a tensor.  The zero Parts is nothing.
type Parts uint32

// HasValue reports whether the tensor's value is saved.
func (p Parts) HasValue() bool { return p&raw.WantsValue != 0 }

// HasShape reports whether the tensor's shape is saved.
func (p Parts) HasShape() bool { return p&raw.WantsShape != 0 }

// HasStatistics reports whether attached rules evaluate the tensor: see [Hook.SaveStatistics].
func (p Parts) HasStatistics() bool { return p&raw.WantsStatistics != 0 }

// Has reports whether a figure is saved, or a reduction that follows from it.
func (p Parts) Has(figure Figure) bool { return uint32(p)&uint32(figure) != 0 }

// Expect expects a tensor of the open step to come late, for example from an accelerator, and
// returns what the step saves of it.  If that is 0, the tensor is not expected and must not be
// sent.
//
// [Hook.EndStep] returns at once.  The step is written, and evaluated by attached rules, when all
// its expected tensors have come; later steps wait for it.  At most 16 ended steps wait: then the
// oldest is completed without what is missing, which is an [ErrTensorUnavailable].
func (h *Hook) Expect(name string) (Parts, error) {
	handle, err := h.handle.acquire()
	if err != nil {
		return 0, err
	}
	defer h.handle.release()
	if err := checkText("tensor", name); err != nil {
		return 0, err
	}
	parts, failed := raw.Expect(handle, name)
	return Parts(parts), take(failed)
}

// SaveLate saves an expected tensor of a step that may have ended.  It copies the elements
// before it returns.
func (h *Hook) SaveLate(name string, step int64, tensor View) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	if err := checkText("tensor", name); err != nil {
		return err
	}
	data, err := tensor.toC()
	if err != nil {
		return err
	}
	defer tensor.freeC(data)
	return take(raw.SaveLate(handle, name, step, data, int32(tensor.dtype), tensor.sizes(), tensor.strides))
}

// SaveLateStatistics is like [Hook.SaveStatistics], for an expected tensor of a step that may have
// ended.
func (h *Hook) SaveLateStatistics(name string, step int64, statistics Statistics) error {
	return h.saveStatistics(name, &step, statistics)
}

// Forgo gives up an expected tensor: its step is recorded without it.
func (h *Hook) Forgo(name string, step int64) error {
	if err := checkText("tensor", name); err != nil {
		return err
	}
	return h.call(func(handle raw.Smd_hook) raw.Smd_error {
		return raw.Smd_hook_forgo(handle, name, step)
	})
}
