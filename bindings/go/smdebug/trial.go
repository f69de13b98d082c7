package smdebug

import (
	"context"
	"fmt"
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Trial is what a job recorded, or is still recording.  It may be used by several
// goroutines at once.
//
// Every query first reads what was recorded since the last one; see [Trial.Still].
// Where it takes a mode, a step is the number that this mode counts.
type Trial struct {
	handle *handle[raw.Smd_trial]

	mutex sync.Mutex
	still int // how many want it to stand still
}

// OpenTrial opens the trial in a folder, or at s3://bucket/prefix.  It waits for the
// collections files of all workers, which a job writes with its first saved step: until
// ctx is done, and at most for the setting wait_seconds (600).  A request to a server is
// not broken off; the settings s3_... limit it.
//
// It fails with [ErrMissingCollections] where nothing was recorded in that time.
func OpenTrial(ctx context.Context, path string, options TrialOptions) (*Trial, error) {
	const what = "opening a trial"
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("smdebug: %s: %w", what, err)
	}
	t, err := newTrial(path, &options)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, t.Cancel)
	err = t.call(raw.Smd_trial_load)
	// One that was cancelled is of no use, even if it was loaded just before.
	if !stop() {
		err = fmt.Errorf("smdebug: %s: %w", what, ctx.Err())
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func newTrial(path string, options *TrialOptions) (*Trial, error) {
	if err := checkText("path", path); err != nil {
		return nil, err
	}
	given, err := options.toRaw()
	if err != nil {
		return nil, err
	}
	defer raw.Smd_trial_options_free(given)
	made, err := trialSlot.out(func(out raw.Smd_trial) raw.Smd_error {
		return raw.Smd_trial_new(path, given, out)
	})
	if err != nil {
		return nil, err
	}
	t := &Trial{handle: newHandle("trial", made, raw.Smd_trial_free)}
	closeWhenForgotten(t, t.handle)
	return t, nil
}

// Close frees the trial; its tensors and values live on.  It always returns nil.
func (t *Trial) Close() error {
	t.handle.close()
	return nil
}

// Cancel ends every wait on the trial and its tensors, now and later, with
// [ErrCancelled]; also reads of values that wait for a file that a job has announced but
// not written.  To give a trial up with a context:
//
//	defer context.AfterFunc(ctx, trial.Cancel)()
func (t *Trial) Cancel() {
	handle, err := t.handle.acquire()
	if err != nil {
		return
	}
	defer t.handle.release()
	raw.Smd_trial_cancel(handle)
}

func (t *Trial) call(call func(raw.Smd_trial) raw.Smd_error) error {
	handle, err := t.handle.acquire()
	if err != nil {
		return err
	}
	defer t.handle.release()
	return take(call(handle))
}

// Path is the path as it was given; "" after Close.
func (t *Trial) Path() string { return t.text(raw.Smd_trial_path) }

// Name is the name that was given, or the last part of the path; "" after Close.
func (t *Trial) Name() string { return t.text(raw.Smd_trial_name) }

func (t *Trial) text(call func(raw.Smd_trial) string) string {
	handle, err := t.handle.acquire()
	if err != nil {
		return ""
	}
	defer t.handle.release()
	return call(handle)
}

// Refresh reads what was recorded since the last time.
func (t *Trial) Refresh() error { return t.call(raw.Smd_trial_refresh) }

// Still makes all queries see one state of things, until the function it returns is
// called.  Only waiting for a step, and Refresh, read what is new.
//
//	defer trial.Still()()
func (t *Trial) Still() (move func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.still++; t.still == 1 {
		t.setAutoRefresh(false)
	}
	return sync.OnceFunc(func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		if t.still--; t.still == 0 {
			t.setAutoRefresh(true)
		}
	})
}

func (t *Trial) setAutoRefresh(on bool) {
	handle, err := t.handle.acquire()
	if err != nil {
		return
	}
	defer t.handle.release()
	raw.Smd_trial_set_auto_refresh(handle, flag(on))
}

// HasEnded says whether the job has ended and everything it recorded is known.
func (t *Trial) HasEnded() bool {
	handle, err := t.handle.acquire()
	if err != nil {
		return false
	}
	defer t.handle.release()
	return raw.Smd_trial_has_ended(handle) != 0
}

// LastCompleteStep is the last global step that is complete, or -1.
func (t *Trial) LastCompleteStep() int64 {
	handle, err := t.handle.acquire()
	if err != nil {
		return -1
	}
	defer t.handle.release()
	return raw.Smd_trial_last_complete_step(handle)
}

// Workers are the names of the workers that recorded, sorted.
func (t *Trial) Workers() ([]string, error) { return t.strings(raw.Smd_trial_workers) }

// Collections are the names of all collections, in the order of the collections file.
func (t *Trial) Collections() ([]string, error) { return t.strings(raw.Smd_trial_collections) }

func (t *Trial) strings(call func(raw.Smd_trial, raw.Smd_strings) raw.Smd_error) ([]string, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error { return call(handle, out) })
}

// Collection is the collection of that name, made (empty) if missing; shared with the
// trial.
func (t *Trial) Collection(name string) (*Collection, error) {
	if err := checkText("collection", name); err != nil {
		return nil, err
	}
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outCollection(func(out raw.Smd_collection) raw.Smd_error {
		return raw.Smd_trial_collection(handle, name, out)
	})
}

// Tensor is the tensor of that name.  It fails with [ErrTensorUnavailable] where none
// was saved so far.
func (t *Trial) Tensor(name string) (*Tensor, error) {
	if err := checkText("tensor", name); err != nil {
		return nil, err
	}
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	found, err := tensorSlot.out(func(out raw.Smd_tensor) raw.Smd_error {
		return raw.Smd_trial_tensor(handle, name, out)
	})
	if err != nil {
		return nil, err
	}
	tensor := &Tensor{newHandle("tensor", found, raw.Smd_tensor_free)}
	closeWhenForgotten(tensor, tensor.handle)
	return tensor, nil
}

// Prefetch reads the values of several tensors at several steps at once, which pays
// where each is a request.  [Tensor.Value] then gives each out once from memory, of
// which at most 256 MiB are kept.
func (t *Trial) Prefetch(tensors []string, steps []int64, mode Mode) error {
	handle, err := t.handle.acquire()
	if err != nil {
		return err
	}
	defer t.handle.release()
	names, err := newStrings("tensor", tensors)
	if err != nil {
		return err
	}
	defer raw.Smd_strings_free(names)
	var first *int64
	if len(steps) > 0 {
		first = &steps[0]
	}
	return take(raw.Smd_trial_prefetch(handle, names, first, int64(len(steps)), int(mode)))
}

// ExportTensorboard writes what the trial holds now for stock TensorBoard: tensors of one
// element as scalars, of others a histogram and statistics over the steps.  Each mode is
// a run; with several workers each worker of it.
func (t *Trial) ExportTensorboard(folder string) error {
	if err := checkText("folder", folder); err != nil {
		return err
	}
	return t.call(func(handle raw.Smd_trial) raw.Smd_error {
		return raw.Smd_trial_export_tensorboard(handle, folder)
	})
}
