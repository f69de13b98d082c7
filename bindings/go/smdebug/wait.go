package smdebug

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How long one call into the library may wait before Go looks at its context.
const longestSlice = 50 * time.Millisecond

// waitInSlices makes a call that waits for some milliseconds again and again until it
// does not time out, or ctx is done.
func waitInSlices(ctx context.Context, what string, call func(milliseconds int) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("smdebug: %s: %w", what, err)
		}
		slice := longestSlice
		if deadline, has := ctx.Deadline(); has {
			// Rounded up: waiting too short would be waiting in a busy loop.
			slice = min(slice, time.Until(deadline)+time.Millisecond)
		}
		err := call(int(max(slice, 0) / time.Millisecond))
		if !isEndOfSlice(err) {
			return err
		}
	}
}

// A server that is too slow times out as well; then a fact says so.
func isEndOfSlice(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Code == ErrTimeout &&
		failure.Detail("cause") == "" && failure.Detail("s3_code") == ""
}
