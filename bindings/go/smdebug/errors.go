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

// Code says what kind of error an [*Error] is.  Each code is itself an error, for use with
// [errors.Is]:
//
//	if errors.Is(err, smdebug.ErrStepUnavailable) { ... }
type Code int32

// The codes, grouped by who can act on them.  The numbers never change.
const (
	ErrInvalidArgument Code = 1
	ErrInvalidConfig   Code = 2
	ErrWrongState      Code = 3 // the call is not allowed in this state
	ErrABIMismatch     Code = 4 // the library is older than the header this was built with
	ErrUnsupported     Code = 5
	ErrAfterFork       Code = 6
	ErrTrialExists     Code = 7

	ErrStepUnavailable    Code = 20 // the step was not saved and never will be
	ErrStepNotYet         Code = 21 // the step has not been recorded yet
	ErrNoMoreData         Code = 22 // the job has ended before this step
	ErrTensorUnavailable  Code = 23 // no tensor with this name has been saved
	ErrValueUnavailable   Code = 24 // the tensor was not saved (or not raw) at this step
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
	ErrStepDropped        Code = 48 // the policy of the full queue dropped a step
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
	ErrRuleConditionMet Code = 80 // a finding, returned as an error on request
)

// String returns the name of the code, which is the same in every language:
// "STEP_UNAVAILABLE".
func (c Code) String() string { return raw.Smd_code_name(int(c)) }

// Error returns the name of the code in words.
func (c Code) Error() string {
	return "smdebug: " + strings.ToLower(strings.ReplaceAll(c.String(), "_", " "))
}

// ErrClosed is the cause of the error that a closed hook, trial, tensor, value, collection,
// rule or rule set returns.  The [*Error] that wraps it has the code [ErrWrongState].
var ErrClosed = errors.New("smdebug: already closed")

// Error is the error that every failing call of this package returns, alone or wrapped.
type Error struct {
	Code    Code
	Message string // one line: what happened, where, and what to do

	details     map[string]string
	isRetryable bool
	cause       error
}

// Error returns the message.
func (e *Error) Error() string { return "smdebug: " + e.Message }

// Detail returns a named fact, such as "path", "step" or "tensor", or "" if the error lacks
// it.  docs/error-handling.md lists the names.
func (e *Error) Detail(name string) string { return e.details[name] }

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool { return e.isRetryable }

// Is reports whether target is the error's [Code], or the standard library's error for it.
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

// Unwrap returns the cause: the system's error number, the value that a rule panicked with,
// or [ErrClosed].
func (e *Error) Unwrap() error { return e.cause }

// The names of the facts that an error of the library may have.
var detailNames = [...]string{
	"path", "step", "mode", "tensor", "worker", "collection", "rule", "expression", "offset",
	"last_step", "has_reductions", "errno", "cause", "http_status", "s3_code", "region",
	"request_id", "sts_code", "sso", "key", "size", "elements", "device", "reduction",
}

// take converts an error of the library and frees it; it returns nil for NULL.
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

// checkText fails if C would cut the text short.
func checkText(what, text string) error {
	if strings.ContainsRune(text, 0) {
		return invalidArgument("the " + what + " " + strconv.Quote(text) + " holds a NUL")
	}
	return nil
}
