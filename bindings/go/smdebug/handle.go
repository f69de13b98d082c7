package smdebug

import (
	"runtime"
	"sync/atomic"
)

// handle owns one handle of the library.  The handle is freed once it is closed and no call
// uses it, so close never waits and never frees a handle that another goroutine is using.
type handle[H any] struct {
	raw      H
	free     func(H)
	what     string       // for messages: "hook"
	users    atomic.Int64 // running calls, and 1 until it is closed
	isClosed atomic.Bool
}

func newHandle[H any](what string, raw H, free func(H)) *handle[H] {
	h := &handle[H]{raw: raw, free: free, what: what}
	h.users.Store(1)
	return h
}

// acquire returns the raw handle, which stays valid until release.
func (h *handle[H]) acquire() (H, error) {
	for !h.isClosed.Load() {
		users := h.users.Load()
		if users == 0 {
			break
		}
		if h.users.CompareAndSwap(users, users+1) {
			return h.raw, nil
		}
	}
	var none H
	return none, &Error{
		Code:    ErrWrongState,
		Message: "the " + h.what + " is already closed",
		cause:   ErrClosed,
	}
}

func (h *handle[H]) release() {
	if h.users.Add(-1) == 0 {
		h.free(h.raw)
	}
}

// close closes the handle and reports whether it was open.
func (h *handle[H]) close() bool {
	if h.isClosed.Swap(true) {
		return false
	}
	h.release()
	return true
}

// closeWhenForgotten closes the handle when its owner becomes unreachable.
func closeWhenForgotten[Owner, H any](owner *Owner, h *handle[H]) {
	runtime.AddCleanup(owner, func(h *handle[H]) { h.close() }, h)
}
