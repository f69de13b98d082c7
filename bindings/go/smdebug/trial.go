package smdebug

import (
	"context"
	"fmt"
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Trial is the recording of a job, finished or still running.  It is safe for concurrent
// use.
//
// Every query first reads what was recorded since the last query; see [Trial.Still].  If a
// method takes a mode, its step numbers are those of that mode.
type Trial struct {
	handle *handle[raw.Smd_trial]

	mutex sync.Mutex
	still int // number of callers that hold it still
}

// OpenTrial opens the trial in a folder or at s3://bucket/prefix.  It waits until the
// collections files of all workers exist, which a job writes with its first saved step.
// The wait ends when ctx is done, or after the setting wait_seconds (600).  ctx does not
// interrupt a request to a server; the settings s3_... limit it.
//
// It fails with [ErrMissingCollections] if nothing was recorded in that time.
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
	// A cancelled trial is unusable, even if it was loaded just before.
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

// Close frees the trial; its tensors and values stay valid.  It always returns nil.
func (t *Trial) Close() error {
	t.handle.close()
	return nil
}

// Cancel ends every wait on the trial and its tensors, now and later, with [ErrCancelled].
// This includes reads that wait for a file that a job has announced but not written.  To
// tie the trial to a context:
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

// Path returns the path as it was given, or "" after Close.
func (t *Trial) Path() string { return t.text(raw.Smd_trial_path) }

// Name returns the name given in the options or the last part of the path, or "" after
// Close.
func (t *Trial) Name() string { return t.text(raw.Smd_trial_name) }

func (t *Trial) text(call func(raw.Smd_trial) string) string {
	handle, err := t.handle.acquire()
	if err != nil {
		return ""
	}
	defer t.handle.release()
	return call(handle)
}

// Refresh reads what was recorded since the last refresh.
func (t *Trial) Refresh() error { return t.call(raw.Smd_trial_refresh) }

// Still freezes the trial: until the function it returns is called, all queries see the
// same state.  Only Refresh and waiting for a step read new data.
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

// HasEnded reports whether the job has ended and the trial has read everything it recorded.
func (t *Trial) HasEnded() bool {
	handle, err := t.handle.acquire()
	if err != nil {
		return false
	}
	defer t.handle.release()
	return raw.Smd_trial_has_ended(handle) != 0
}

// LastCompleteStep returns the last complete global step, or -1 if there is none.
func (t *Trial) LastCompleteStep() int64 {
	handle, err := t.handle.acquire()
	if err != nil {
		return -1
	}
	defer t.handle.release()
	return raw.Smd_trial_last_complete_step(handle)
}

// Workers returns the sorted names of the workers that recorded.
func (t *Trial) Workers() ([]string, error) { return t.strings(raw.Smd_trial_workers) }

// Collections returns the names of all collections, in the order of the collections file.
func (t *Trial) Collections() ([]string, error) { return t.strings(raw.Smd_trial_collections) }

// Metadata returns what the job recorded about itself.  Of several workers, the first
// that has a key counts.
func (t *Trial) Metadata() (map[string]string, error) {
	texts, err := t.strings(func(handle raw.Smd_trial, out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_trial_metadata(handle, "", out)
	})
	if err != nil {
		return nil, err
	}
	metadata := make(map[string]string, len(texts)/2)
	for i := 0; i+1 < len(texts); i += 2 {
		metadata[texts[i]] = texts[i+1]
	}
	return metadata, nil
}

func (t *Trial) strings(call func(raw.Smd_trial, raw.Smd_strings) raw.Smd_error) ([]string, error) {
	handle, err := t.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer t.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error { return call(handle, out) })
}

// Collection returns the collection with that name, shared with the trial.  It fails with
// [ErrNotFound] if the trial has no such collection.
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

// Tensor returns the tensor with that name.  It fails with [ErrTensorUnavailable] if no
// such tensor has been saved.
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

// Prefetch reads the values of several tensors at several steps at once, which is faster if
// each read is a request.  [Tensor.Value] serves each prefetched value once from memory.
// At most 256 MiB are kept.
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

// ExportTensorboard writes the current content of the trial for stock TensorBoard.  Tensors
// of one element become scalars; all others become a histogram and statistics over the
// steps.  Each mode is a run; with several workers, each mode of each worker is.
func (t *Trial) ExportTensorboard(folder string) error {
	if err := checkText("folder", folder); err != nil {
		return err
	}
	return t.call(func(handle raw.Smd_trial) raw.Smd_error {
		return raw.Smd_trial_export_tensorboard(handle, folder)
	})
}
