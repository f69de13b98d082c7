package smdebug

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Code says what kind of error an [*Error] is.  Each is an error itself, to be looked
// for by [errors.Is]:
//
//	if errors.Is(err, smdebug.ErrStepUnavailable) { ... }
type Code int32

// The codes, by who can act on them.  Numbers never change.
const (
	ErrInvalidArgument Code = 1
	ErrInvalidConfig   Code = 2
	ErrWrongState      Code = 3 // the call does not fit the moment
	ErrABIMismatch     Code = 4 // the library is older than the header this was built with
	ErrUnsupported     Code = 5
	ErrAfterFork       Code = 6
	ErrTrialExists     Code = 7

	ErrStepUnavailable    Code = 20 // the step was not saved and never will be
	ErrStepNotYet         Code = 21 // the step was not seen yet; it may come
	ErrNoMoreData         Code = 22 // the job has ended before this step
	ErrTensorUnavailable  Code = 23 // no tensor of this name was saved so far
	ErrValueUnavailable   Code = 24 // not saved (or not raw) at this step
	ErrWorkerUnknown      Code = 25
	ErrMissingCollections Code = 26 // nothing was recorded
	ErrCorruptData        Code = 27
	ErrShapeUnavailable   Code = 28

	ErrIO                 Code = 40
	ErrNotFound           Code = 41
	ErrPermission         Code = 42
	ErrNetwork            Code = 43
	ErrCredentials        Code = 44
	ErrTimeout            Code = 45
	ErrCancelled          Code = 46
	ErrOutOfMemory        Code = 47
	ErrStepDropped        Code = 48 // a step was given up, as the queue's policy says
	ErrNoSpace            Code = 49
	ErrTLS                Code = 50
	ErrCredentialsRefused Code = 51
	ErrCredentialsExpired Code = 52
	ErrClockSkewed        Code = 53
	ErrWrongRegion        Code = 54
	ErrBucketNotFound     Code = 55
	ErrThrottled          Code = 56

	ErrCallbackFailed   Code = 60 // a rule panicked
	ErrInternal         Code = 61
	ErrRuleConditionMet Code = 80 // a finding, where it was asked for as an error
)

// String is the code's name in every language, as "STEP_UNAVAILABLE".
func (c Code) String() string { return raw.Smd_code_name(int(c)) }

// Error is the code's name as a sentence.
func (c Code) Error() string {
	return "smdebug: " + strings.ToLower(strings.ReplaceAll(c.String(), "_", " "))
}

// ErrClosed is what a hook, trial, tensor, value, collection, rule or panel that was closed
// answers; the [*Error] that wraps it has the code [ErrWrongState].
var ErrClosed = errors.New("smdebug: already closed")

// Error is what every failing call of this package returns, alone or wrapped.
type Error struct {
	Code    Code
	Message string // one line: where, what, and what to do

	details     map[string]string
	isRetryable bool
	cause       error
}

// Error is the message.
func (e *Error) Error() string { return "smdebug: " + e.Message }

// Detail is a named fact: "path", "step", "tensor", ... as docs/error-handling.md lists
// them; "" where the error has none of that name.
func (e *Error) Detail(name string) string { return e.details[name] }

// Retryable says whether the same call may succeed later with nothing changed.
func (e *Error) Retryable() bool { return e.isRetryable }

// Is matches the error's [Code], and those of the standard library that mean the same.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Code == ErrNotFound || e.Code == ErrBucketNotFound
	case fs.ErrExist:
		return e.Code == ErrTrialExists
	case fs.ErrPermission:
		return e.Code == ErrPermission
	case os.ErrClosed:
		return e.cause == ErrClosed
	case errors.ErrUnsupported:
		return e.Code == ErrUnsupported
	}
	return target == e.Code
}

// Unwrap is the system's error number, what a rule panicked with, or [ErrClosed].
func (e *Error) Unwrap() error { return e.cause }

// The names of facts that an error of the library may have.
var detailNames = [...]string{
	"path", "step", "mode", "tensor", "worker", "collection", "rule", "expression", "offset",
	"last_step", "has_reductions", "errno", "cause", "http_status", "s3_code", "region",
	"request_id",
}

// Takes over an error of the library; nil for NULL.
func take(handle raw.Smd_error) error {
	if handle.Swigcptr() == 0 {
		return nil
	}
	defer raw.Smd_error_free(handle)
	err := &Error{
		Code:        Code(raw.Smd_error_code(handle)),
		Message:     raw.Smd_error_message(handle),
		isRetryable: raw.Smd_error_is_retryable(handle) != 0,
	}
	for _, name := range detailNames {
		if fact := raw.Smd_error_detail(handle, name); fact != "" {
			err.setDetail(name, fact)
		}
	}
	if number, notNumber := strconv.Atoi(err.Detail("errno")); notNumber == nil {
		err.cause = syscall.Errno(number)
	}
	return err
}

func (e *Error) setDetail(name, fact string) {
	if e.details == nil {
		e.details = make(map[string]string)
	}
	e.details[name] = fact
}

func invalidArgument(message string) error {
	return &Error{Code: ErrInvalidArgument, Message: message}
}

// A text that C would cut short.
func checkText(what, text string) error {
	if strings.ContainsRune(text, 0) {
		return invalidArgument("the " + what + " " + strconv.Quote(text) + " holds a NUL")
	}
	return nil
}
