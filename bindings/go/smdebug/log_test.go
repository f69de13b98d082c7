package smdebug_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// lines is a writer that several goroutines may use.
type lines struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.Buffer.Write(line)
}

// A hook whose folder is no folder logs from the library's own thread, too.
func recordIntoAFile(t *testing.T, logger *slog.Logger) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o666))
	options := everything()
	options.Logger = logger
	hook := newHook(t, filepath.Join(file, "run"), options)
	for range 3 {
		hook.Step(smdebug.Train, func(int64) error { return hook.Save("x", smdebug.Scalar(1)) })
	}
	if hook.Close() == nil {
		t.Error("recording into a file went well")
	}
}

func TestLinesGoToTheLogger(t *testing.T) {
	var out lines
	recordIntoAFile(t, slog.New(slog.NewTextHandler(&out, nil)))
	if text := out.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "making the folder failed") {
		t.Errorf("the log is %q", text)
	}
}

func TestAnOddConfigurationIsLogged(t *testing.T) {
	var out lines
	file := filepath.Join(t.TempDir(), "hook.json")
	must(t, os.WriteFile(file, []byte(`{"S3Path": "s3://b/p"}`), 0o600))
	logger := slog.New(slog.NewTextHandler(&out, nil))
	path := filepath.Join(t.TempDir(), "run")
	must(t, newHook(t, path, smdebug.HookOptions{Configuration: file, Logger: logger}).Close())
	if text := out.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "'S3Path'") {
		t.Error(text)
	}
}

func TestTheLoggersLevelCounts(t *testing.T) {
	var out, none lines
	open := func(to *lines, level slog.Level) {
		options := smdebug.TrialOptions{
			Logger:   slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level})),
			Settings: map[string]string{"wait_seconds": "0.1"},
		}
		_, err := smdebug.OpenTrial(context.Background(), t.TempDir(), options)
		mustFail(t, err, smdebug.ErrMissingCollections)
	}
	open(&out, slog.LevelInfo)
	if text := out.String(); !strings.Contains(text, "level=INFO") || !strings.Contains(text, "waiting for collection files") {
		t.Errorf("the log is %q", text)
	}
	open(&none, slog.LevelError+1)
	if none.Len() != 0 {
		t.Errorf("the log is %q", none.String())
	}
}

func TestAWrongPathIsNotWaitedForInSilence(t *testing.T) {
	var out lines
	options := smdebug.TrialOptions{
		Logger:   slog.New(slog.NewTextHandler(&out, nil)),
		Settings: map[string]string{"wait_seconds": "1.5"},
	}
	_, err := smdebug.OpenTrial(context.Background(), t.TempDir(), options)
	mustFail(t, err, smdebug.ErrMissingCollections)
	if text := out.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "waiting for a job to record here") {
		t.Errorf("the log is %q", text)
	}
}

type panickingHandler struct {
	slog.Handler
	panicked chan struct{}
}

func (h panickingHandler) Handle(context.Context, slog.Record) error {
	select {
	case h.panicked <- struct{}{}:
	default:
	}
	panic("mishap")
}

func TestAPanickingHandlerDoesNoHarm(t *testing.T) {
	panicked := make(chan struct{}, 1)
	recordIntoAFile(t, slog.New(panickingHandler{slog.NewTextHandler(io.Discard, nil), panicked}))
	<-panicked
}

// The stack grows while C calls Go: what C still reads must not move.
func TestALoggerWithADeepStack(t *testing.T) {
	var deep func(int) int
	deep = func(depth int) int {
		var frame [1024]byte
		frame[depth%1024] = 1
		if depth == 0 {
			return 0
		}
		return deep(depth-1) + int(frame[depth%1024])
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o666))
	options := everything()
	options.Logger = slog.New(deepHandler{slog.NewTextHandler(io.Discard, nil), func() { deep(1000) }})
	hook := newHook(t, filepath.Join(file, "run"), options)
	for range 100 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			hook.Step(smdebug.Train, func(int64) error {
				return hook.Save("x", smdebug.ViewOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3).WithStrides(3, 1))
			})
		}()
		<-done
	}
}

type deepHandler struct {
	slog.Handler
	sink func()
}

func (h deepHandler) Handle(context.Context, slog.Record) error {
	h.sink()
	return nil
}
