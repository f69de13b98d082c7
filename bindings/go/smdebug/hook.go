package smdebug

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Hook records a running job: it turns tensors into a trial.  It may be used by several
// goroutines at once; a step belongs to the hook, so one of them begins and ends it.
type Hook struct {
	handle *handle[raw.Smd_hook]
}

// NewHook starts recording into a folder, or into s3://bucket/prefix; "" stands for what
// the configuration says.  Nothing is
// written before the first tensor.
//
// It fails with [ErrTrialExists] where a finished trial lies.
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
	// Freeing may wait for the disk: other cleanups need not.
	runtime.AddCleanup(h, func(h *handle[raw.Smd_hook]) { go closeForgotten(h) }, h.handle)
	return h, nil
}

// One at a time: each that waits in C would take a thread.
var closing sync.Mutex

func closeForgotten(h *handle[raw.Smd_hook]) {
	closing.Lock()
	defer closing.Unlock()
	h.close()
}

// Close ends an open step, writes what waits and the end marker, and returns what went
// wrong in the background, if nothing has before.  It takes at most close_seconds (30).
// A second call does nothing.
//
// A hook that is only forgotten writes the steps that have ended, but no end marker: its
// trial looks like that of a job that was killed.
func (h *Hook) Close() error {
	handle, err := h.handle.acquire()
	if err != nil {
		return nil
	}
	defer h.handle.release()
	if !h.handle.close() {
		return nil
	}
	return take(raw.Smd_hook_close(handle))
}

// Flush waits until every ended step is written, or ctx is done.  It returns what went
// wrong in the background, if nothing has before.
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

// SetMode says what the following steps are done for.
func (h *Hook) SetMode(mode Mode) error {
	return h.call(func(handle raw.Smd_hook) raw.Smd_error {
		return raw.Smd_hook_set_mode(handle, int(mode))
	})
}

// Mode is the mode that was set last; AnyMode after Close.
func (h *Hook) Mode() Mode {
	handle, err := h.handle.acquire()
	if err != nil {
		return AnyMode
	}
	defer h.handle.release()
	return Mode(raw.Smd_hook_mode(handle))
}

// Step does one step of a mode: begins it, calls save, and ends it, also where save
// fails or panics.  save gets the step's global number.
func (h *Hook) Step(mode Mode, save func(step int64) error) (err error) {
	if err := h.SetMode(mode); err != nil {
		return err
	}
	step, err := h.BeginStep()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.EndStep()) }()
	return save(step)
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

// EndStep ends the step: what was saved becomes visible to readers as one piece, soon.
func (h *Hook) EndStep() error { return h.call(raw.Smd_hook_end_step) }

// LastStep is the last step begun in a mode (Global: of all), or -1 if there was none.
func (h *Hook) LastStep(mode Mode) int64 {
	handle, err := h.handle.acquire()
	if err != nil {
		return -1
	}
	defer h.handle.release()
	return raw.Smd_hook_step(handle, int(mode))
}

// AddToStep makes the open step save these collections too, whatever their save configs
// say: what is only known at an epoch's end.
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

// SavesStep says whether the open step saves anything at all.
func (h *Hook) SavesStep() bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return raw.Smd_hook_saves_step(handle) != 0
}

// Wants says whether the open step saves this tensor: ask it where getting the value is
// expensive.
func (h *Hook) Wants(tensor string) bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return checkText("tensor", tensor) == nil && raw.Smd_hook_wants(handle, tensor) != 0
}

// Save saves a tensor for the open step, if some collection wants it; if not, that
// costs a look-up.  The elements are copied before it returns.
func (h *Hook) Save(name string, tensor View) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	if err := checkText("tensor", name); err != nil {
		return err
	}
	data, err := tensor.lend()
	if err != nil {
		return err
	}
	defer tensor.unlend(data)
	return take(raw.Save(handle, name, data, int32(tensor.dtype), tensor.sizes(), tensor.strides))
}

// SaveCustom saves a tensor into the named collections (none: "default"), which are
// made if missing, with the next step that saves anything.  A step need not be open.
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
	data, err := tensor.lend()
	if err != nil {
		return err
	}
	defer tensor.unlend(data)
	return take(raw.SaveCustom(handle, name, data, int32(tensor.dtype), tensor.sizes(), tensor.strides, into))
}

// SaveScalar saves one number as the tensor "scalar/<name>" with the next step that
// saves anything.
func (h *Hook) SaveScalar(name string, value float64) error {
	return h.SaveScalarAt(name, value, time.Time{})
}

// SaveScalarAt is SaveScalar of a number that was measured at a given time.
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

// Collection is the hook's collection of that name, made if missing.  The handle shares
// it with the hook: changes count from the next step on.
func (h *Hook) Collection(name string) (*Collection, error) {
	if err := checkText("collection", name); err != nil {
		return nil, err
	}
	handle, err := h.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer h.handle.release()
	return outCollection(func(out raw.Smd_collection) raw.Smd_error {
		return raw.Smd_hook_collection(handle, name, out)
	})
}

// AddCollection adds a collection, or takes the place of the one of its name.
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

// Collections are the names of all collections the hook knows, in the order they were
// made.
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

// ExportCollections writes the collections file now, instead of after the first saved
// step, and all that waits before it.
func (h *Hook) ExportCollections() error { return h.call(raw.Smd_hook_export_collections) }

// Watch has a panel judge every step, or those it looks at, as it ends, from the next
// one on, whatever is saved of it; [Hook.Wants] is then true for what its rules look at,
// too.  Another panel takes the place of the first.
func (h *Hook) Watch(panel *Panel) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	watching, err := panel.handle.acquire()
	if err != nil {
		return err
	}
	defer panel.handle.release()
	return take(raw.Smd_hook_watch(handle, watching))
}

// Advice is what the findings of the last step that ended ask for: the most severe, or
// ActionContinue if there were none, and after Close.
func (h *Hook) Advice() Action {
	handle, err := h.handle.acquire()
	if err != nil {
		return ActionContinue
	}
	defer h.handle.release()
	return Action(raw.Smd_hook_advice(handle))
}

// TakeVerdicts are the findings since the last call; of more than 10,000 the newest.
func (h *Hook) TakeVerdicts() ([]Verdict, error) {
	handle, err := h.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer h.handle.release()
	return outVerdicts(func(out raw.Smd_verdicts) raw.Smd_error {
		return raw.Smd_hook_take_verdicts(handle, out)
	})
}

// IsRecording says whether this process writes: it is included, nobody else records
// into the folder, and it is no dry run.
func (h *Hook) IsRecording() bool {
	handle, err := h.handle.acquire()
	if err != nil {
		return false
	}
	defer h.handle.release()
	return raw.Smd_hook_is_recording(handle) != 0
}

// Count is a count since the hook was made: "steps_written", "steps_dropped",
// "steps_failed", "tensors_written", "bytes_written", "bytes_queued" (now); -1 for any
// other name and after Close.
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
