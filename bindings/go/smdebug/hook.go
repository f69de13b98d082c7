package smdebug

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Hook records the tensors of a running job as a trial.  It is safe for concurrent use, but
// only one goroutine may begin and end the steps, since there is one open step at a time.
type Hook struct {
	handle *handle[raw.Smd_hook]
}

// NewHook starts recording into a folder or into s3://bucket/prefix.  If the path is "",
// the configuration selects it.  Nothing is written before the first tensor.
//
// It fails with [ErrTrialExists] if the path already holds a finished trial.
func NewHook(outDir string, options HookOptions) (*Hook, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	given, err := options.toRaw(outDir)
	if err != nil {
		return nil, err
	}
	defer raw.Smd_hook_options_free(given)
	made, err := hookSlot.out(func(out raw.Smd_hook) raw.Smd_error {
		return raw.Smd_hook_new(given, out)
	})
	if err != nil {
		return nil, err
	}
	h := &Hook{newHandle("hook", made, raw.Smd_hook_free)}
	if err := h.describeRun(); err != nil {
		raw.Smd_hook_free(made)
		return nil, err
	}
	// Freeing a hook may wait for the disk; a goroutine of its own keeps other cleanups
	// from waiting.
	runtime.AddCleanup(h, func(h *handle[raw.Smd_hook]) { go closeForgotten(h) }, h.handle)
	return h, nil
}

// One flush at a time: each flush that waits in C occupies a thread.
var closing sync.Mutex

func closeForgotten(h *handle[raw.Smd_hook]) {
	closing.Lock()
	defer closing.Unlock()
	h.close()
}

// Close ends an open step, writes all queued steps and the end marker, and returns the
// first background error that no earlier call has returned.  It waits at most for the
// setting close_seconds (30).  A second call only waits for the first one.
//
// A hook that is garbage collected without Close writes the steps that have ended, but no
// end marker: its trial looks like the trial of a killed job.
func (h *Hook) Close() error {
	handle, err := h.handle.acquire()
	if err != nil {
		return nil
	}
	defer h.handle.release()
	// Not before: another goroutine's Close would not wait for this one.
	defer h.handle.close()
	return take(raw.Smd_hook_close(handle))
}

// Flush waits until every ended step is written, or ctx is done.  It returns the first
// background error that no earlier call has returned.
func (h *Hook) Flush(ctx context.Context) error {
	return waitInSlices(ctx, "flushing the hook", func(milliseconds int) error {
		return h.call(func(handle raw.Smd_hook) raw.Smd_error {
			return raw.Smd_hook_flush(handle, milliseconds)
		})
	})
}

func (h *Hook) call(call func(raw.Smd_hook) raw.Smd_error) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	return take(call(handle))
}

// SetMode sets the mode of the following steps.
func (h *Hook) SetMode(mode Mode) error {
	return h.call(func(handle raw.Smd_hook) raw.Smd_error {
		return raw.Smd_hook_set_mode(handle, int(mode))
	})
}

// SetMetadata records a text about the job, such as "learning_rate" and "0.1", for
// Trial.Metadata.  An earlier value of the key is replaced.
func (h *Hook) SetMetadata(key, value string) error {
	if err := checkText("key", key); err != nil {
		return err
	}
	if err := checkText("value of "+key, value); err != nil {
		return err
	}
	return h.call(func(handle raw.Smd_hook) raw.Smd_error {
		return raw.Smd_hook_set_metadata(handle, key, value)
	})
}

func (h *Hook) describeRun() error {
	if err := h.call(raw.Smd_hook_describe_run); err != nil {
		return err
	}
	return h.SetMetadata("run.go", runtime.Version())
}

// Mode returns the current mode, or AnyMode after Close.
func (h *Hook) Mode() Mode {
	handle, err := h.handle.acquire()
	if err != nil {
		return AnyMode
	}
	defer h.handle.release()
	return Mode(raw.Smd_hook_mode(handle))
}

// Step runs one step of a mode: it begins the step, calls save with the step's global
// number, and ends the step.  If save returns an error or panics, Step discards the step.
func (h *Hook) Step(mode Mode, save func(step int64) error) (err error) {
	if err := h.SetMode(mode); err != nil {
		return err
	}
	step, err := h.BeginStep()
	if err != nil {
		return err
	}
	isWhole := false
	defer func() {
		// This also runs after a panic and after runtime.Goexit.
		if !isWhole {
			err = errors.Join(err, h.DiscardStep())
		}
	}()
	if err := save(step); err != nil {
		return err
	}
	isWhole = true
	return h.EndStep()
}

// BeginStep begins the next step of the current mode and returns its global number.
func (h *Hook) BeginStep() (int64, error) {
	handle, err := h.handle.acquire()
	if err != nil {
		return 0, err
	}
	defer h.handle.release()
	return outInt64(func(out *int64) raw.Smd_error { return raw.Smd_hook_begin_step(handle, out) })
}

// EndStep ends the step.  Soon afterwards, readers see everything it saved at once.
func (h *Hook) EndStep() error { return h.call(raw.Smd_hook_end_step) }

// DiscardStep closes the open step without recording it.  Its numbers stay used.  Scalars
// and custom tensors are kept for the next step that saves anything.
func (h *Hook) DiscardStep() error { return h.call(raw.Smd_hook_discard_step) }

// LastStep returns the last step begun in a mode (Global: in any mode), or -1 if there was
// none.
func (h *Hook) LastStep(mode Mode) int64 {
	handle, err := h.handle.acquire()
	if err != nil {
		return -1
	}
	defer h.handle.release()
	return raw.Smd_hook_last_step(handle, int(mode))
}

// AddToStep makes the open step also save these collections, whatever their save configs
// select.  Use it for decisions that the job makes during a step, such as at the end of an
// epoch.
func (h *Hook) AddToStep(collections ...string) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	names, err := newStrings("collection", collections)
	if err != nil {
		return err
	}
	defer raw.Smd_strings_free(names)
	return take(raw.Smd_hook_add_to_step(handle, names))
}

// SavesStep reports whether the open step saves anything.
func (h *Hook) SavesStep() bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return raw.Smd_hook_saves_step(handle) != 0
}

// Wants reports whether the open step saves this tensor.  Call it first if computing the
// tensor is expensive.
func (h *Hook) Wants(tensor string) bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return checkText("tensor", tensor) == nil && raw.Smd_hook_wants(handle, tensor) != 0
}

// Save saves a tensor in the open step if a collection selects it; an unselected tensor
// costs one hash look-up.  Save copies the elements before it returns.
func (h *Hook) Save(name string, tensor View) error {
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
	return take(raw.Save(handle, name, data, int32(tensor.dtype), tensor.sizes(), tensor.strides))
}

// SaveCustom saves a tensor into the named collections with the next step that saves
// anything.  Without names, the collection is "default"; missing collections are created.
// No step needs to be open.
func (h *Hook) SaveCustom(name string, tensor View, collections ...string) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	if err := checkText("tensor", name); err != nil {
		return err
	}
	into, err := newStrings("collection", collections)
	if err != nil {
		return err
	}
	defer raw.Smd_strings_free(into)
	data, err := tensor.toC()
	if err != nil {
		return err
	}
	defer tensor.freeC(data)
	return take(raw.SaveCustom(handle, name, data, int32(tensor.dtype), tensor.sizes(), tensor.strides, into))
}

// SaveScalar saves one number as the tensor "scalar/<name>" with the next step that saves
// anything.
func (h *Hook) SaveScalar(name string, value float64) error {
	return h.SaveScalarAt(name, value, time.Time{})
}

// SaveScalarAt is like SaveScalar, but sets the time of the measurement.
func (h *Hook) SaveScalarAt(name string, value float64, at time.Time) error {
	if err := checkText("scalar", name); err != nil {
		return err
	}
	seconds := 0.0 // now
	if !at.IsZero() {
		seconds = float64(at.UnixNano()) / float64(time.Second)
	}
	return h.call(func(handle raw.Smd_hook) raw.Smd_error {
		return raw.SaveScalar(handle, name, value, seconds)
	})
}

// Collection returns the hook's collection with that name, shared with the hook: changes
// take effect with the next step.  It fails with [ErrNotFound] if the hook has no such
// collection.
func (h *Hook) Collection(name string) (*Collection, error) {
	return h.collection(name, raw.Smd_hook_collection)
}

// EnsureCollection is like Collection, but creates a missing collection.
func (h *Hook) EnsureCollection(name string) (*Collection, error) {
	return h.collection(name, raw.Smd_hook_ensure_collection)
}

func (h *Hook) collection(name string,
	get func(raw.Smd_hook, string, raw.Smd_collection) raw.Smd_error) (*Collection, error) {
	if err := checkText("collection", name); err != nil {
		return nil, err
	}
	handle, err := h.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer h.handle.release()
	return outCollection(func(out raw.Smd_collection) raw.Smd_error {
		return get(handle, name, out)
	})
}

// AddCollection adds a collection; it replaces a collection with the same name.
func (h *Hook) AddCollection(collection *Collection) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	return collection.addTo(func(added raw.Smd_collection) raw.Smd_error {
		return raw.Smd_hook_add_collection(handle, added)
	})
}

// Collections returns the names of all collections of the hook, in order of creation.
func (h *Hook) Collections() ([]string, error) {
	handle, err := h.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer h.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_hook_collections(handle, out)
	})
}

// ExportCollections writes the collections file now instead of after the first saved step.
// It first writes all queued steps.
func (h *Hook) ExportCollections() error { return h.call(raw.Smd_hook_export_collections) }

// Attach attaches a rule set.  From the next step on, its rules evaluate every step as it
// ends, or the steps that the rule set's save config selects, even if the hook does not
// save them.  [Hook.Wants] then also returns true for the tensors that the rules evaluate.
// Attach replaces the rule set attached before.  It fails with [ErrInvalidArgument] if the rule
// set has a [RuleFunction], which reads a trial.
func (h *Hook) Attach(rules *RuleSet) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	attached, err := rules.handle.acquire()
	if err != nil {
		return err
	}
	defer rules.handle.release()
	return take(raw.Smd_hook_attach(handle, attached))
}

// Action returns the most severe action that the findings of the last step recommend, and
// ActionContinue without findings or after Close.
func (h *Hook) Action() Action {
	handle, err := h.handle.acquire()
	if err != nil {
		return ActionContinue
	}
	defer h.handle.release()
	return Action(raw.Smd_hook_action(handle))
}

// TakeFindings returns the findings since the last call, but at most the newest 10,000.
func (h *Hook) TakeFindings() ([]Finding, error) {
	handle, err := h.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer h.handle.release()
	return outFindings(func(out raw.Smd_findings) raw.Smd_error {
		return raw.Smd_hook_take_findings(handle, out)
	})
}

// IsRecording reports whether this process writes.  It does not if the process is not among
// the recording workers, if another process records into the folder, or in a dry run.
func (h *Hook) IsRecording() bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return raw.Smd_hook_is_recording(handle) != 0
}

// Count returns a counter of the hook: "steps_written", "steps_dropped", "steps_failed",
// "tensors_written", "bytes_written", "bytes_queued" (the current size of the queue) or "selections"
// (as long as it is the same, steps want the same tensors).  It returns -1 for any other name and
// after Close.
func (h *Hook) Count(name string) int64 {
	handle, err := h.handle.acquire()
	if err != nil {
		return -1
	}
	defer h.handle.release()
	if checkText("name", name) != nil {
		return -1
	}
	return raw.Smd_hook_count(handle, name)
}
