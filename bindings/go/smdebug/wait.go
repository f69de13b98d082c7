package smdebug

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// longestSlice limits how long one call into the library waits before Go checks the
// context.
const longestSlice = 50 * time.Millisecond

// waitInSlices repeats a call that waits for some milliseconds until it returns anything
// but a timeout, or ctx is done.
func waitInSlices(ctx context.Context, what string, call func(milliseconds int) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("smdebug: %s: %w", what, err)
		}
		slice := longestSlice
		if deadline, has := ctx.Deadline(); has {
			// Round up: a wait that is too short would be a busy loop.
			slice = min(slice, time.Until(deadline)+time.Millisecond)
		}
		err := call(int(max(slice, 0) / time.Millisecond))
		if !isEndOfSlice(err) {
			return err
		}
	}
}

// A slow server also times out; then the error has a detail "cause".
func isEndOfSlice(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Code == ErrTimeout &&
		failure.Detail("cause") == "" && failure.Detail("s3_code") == ""
}
