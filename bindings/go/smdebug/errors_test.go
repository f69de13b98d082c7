package smdebug_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

var codes = map[string]smdebug.Code{
	"INVALID_ARGUMENT":    smdebug.ErrInvalidArgument,
	"INVALID_CONFIG":      smdebug.ErrInvalidConfig,
	"WRONG_STATE":         smdebug.ErrWrongState,
	"ABI_MISMATCH":        smdebug.ErrABIMismatch,
	"UNSUPPORTED":         smdebug.ErrUnsupported,
	"AFTER_FORK":          smdebug.ErrAfterFork,
	"TRIAL_EXISTS":        smdebug.ErrTrialExists,
	"STEP_UNAVAILABLE":    smdebug.ErrStepUnavailable,
	"STEP_NOT_YET":        smdebug.ErrStepNotYet,
	"NO_MORE_DATA":        smdebug.ErrNoMoreData,
	"TENSOR_UNAVAILABLE":  smdebug.ErrTensorUnavailable,
	"VALUE_UNAVAILABLE":   smdebug.ErrValueUnavailable,
	"WORKER_UNKNOWN":      smdebug.ErrWorkerUnknown,
	"MISSING_COLLECTIONS": smdebug.ErrMissingCollections,
	"CORRUPT_DATA":        smdebug.ErrCorruptData,
	"SHAPE_UNAVAILABLE":   smdebug.ErrShapeUnavailable,
	"IO":                  smdebug.ErrIO,
	"NOT_FOUND":           smdebug.ErrNotFound,
	"PERMISSION":          smdebug.ErrPermission,
	"NETWORK":             smdebug.ErrNetwork,
	"CREDENTIALS":         smdebug.ErrCredentials,
	"TIMEOUT":             smdebug.ErrTimeout,
	"CANCELLED":           smdebug.ErrCancelled,
	"OUT_OF_MEMORY":       smdebug.ErrOutOfMemory,
	"STEP_DROPPED":        smdebug.ErrStepDropped,
	"NO_SPACE":            smdebug.ErrNoSpace,
	"TLS":                 smdebug.ErrTLS,
	"CREDENTIALS_REFUSED": smdebug.ErrCredentialsRefused,
	"CREDENTIALS_EXPIRED": smdebug.ErrCredentialsExpired,
	"CLOCK_SKEWED":        smdebug.ErrClockSkewed,
	"WRONG_REGION":        smdebug.ErrWrongRegion,
	"BUCKET_NOT_FOUND":    smdebug.ErrBucketNotFound,
	"THROTTLED":           smdebug.ErrThrottled,
	"CALLBACK_FAILED":     smdebug.ErrCallbackFailed,
	"INTERNAL":            smdebug.ErrInternal,
	"RULE_CONDITION_MET":  smdebug.ErrRuleConditionMet,
}

func TestEveryCodeOfTheLibraryHasItsSentinel(t *testing.T) {
	found := 0
	for number := smdebug.Code(1); number < 1000; number++ {
		name := number.String()
		if name == "UNKNOWN" {
			continue
		}
		found++
		if codes[name] != number {
			t.Errorf("%s is %d in the library, %d here", name, number, codes[name])
		}
	}
	if found != len(codes) {
		t.Errorf("the library has %d codes, Go has %d", found, len(codes))
	}
	if text := smdebug.ErrStepNotYet.Error(); text != "smdebug: step not yet" {
		t.Error(text)
	}
}

func TestAnErrorHasItsFacts(t *testing.T) {
	trial := openTrial(t, record(t, 2, loss))
	err := trial.WaitForStep(context.Background(), 7, smdebug.Train)
	failure := mustFail(t, err, smdebug.ErrNoMoreData)
	if failure.Detail("last_step") != "1" || failure.Detail("step") != "7" || failure.Detail("mode") != "TRAIN" {
		t.Errorf("the facts of %v are wrong: %q", failure, failure.Detail("last_step"))
	}
	if failure.Detail("no such fact") != "" || failure.Retryable() {
		t.Error("an error has what it should not")
	}
	if errors.Is(err, smdebug.ErrStepUnavailable) || errors.Is(err, fs.ErrNotExist) {
		t.Error("an error is more than it is")
	}
}

func TestErrorsAreThoseOfTheStandardLibraryToo(t *testing.T) {
	folder := t.TempDir()
	path := record(t, 1, loss)
	_, err := smdebug.NewHook(path, smdebug.HookOptions{})
	mustFail(t, err, smdebug.ErrTrialExists)
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v is no fs.ErrExist", err)
	}

	file := filepath.Join(folder, "file")
	must(t, os.WriteFile(file, nil, 0o666))
	hook := newHook(t, filepath.Join(file, "run"), everything())
	err = hook.Step(smdebug.Train, func(int64) error { return hook.Save("x", smdebug.Scalar(1)) })
	err = errors.Join(err, hook.Close())
	failure := mustFail(t, err, smdebug.ErrNotFound)
	if !errors.Is(err, syscall.ENOTDIR) || !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(failure.Detail("path"), file) {
		t.Errorf("%v (path %q) is no ENOTDIR", err, failure.Detail("path"))
	}

	value := saved(t, smdebug.ViewOfStrings([]string{"a"}))
	if _, err := value.Float64s(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v is no errors.ErrUnsupported", err)
	}
	must(t, value.Close())
	if _, err := value.Bytes(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v is no os.ErrClosed", err)
	}
}

func TestTheLibraryIsTheRightOne(t *testing.T) {
	if !strings.HasPrefix(smdebug.Version(), "1.") {
		t.Error(smdebug.Version())
	}
	if !smdebug.HasFeature("local") || smdebug.HasFeature("flight") || smdebug.HasFeature("local\x00") {
		t.Error("the features are wrong")
	}
}
