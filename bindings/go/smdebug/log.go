package smdebug

import (
	"context"
	"log/slog"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// The library's log levels, from the most verbose to "off".
var levels = [...]slog.Level{4: slog.LevelDebug, 3: slog.LevelInfo, 2: slog.LevelWarn, 1: slog.LevelError}

// levelOf returns the library's level for the levels that the logger enables.
func levelOf(logger *slog.Logger) int32 {
	for level := len(levels) - 1; level > 0; level-- {
		if logger.Enabled(context.Background(), levels[level]) {
			return int32(level)
		}
	}
	return 0
}

// A panic of the handler must not unwind through C; the line is lost.
func logTo(logger *slog.Logger) raw.Log {
	return func(level int32, message string) {
		defer func() { _ = recover() }()
		logger.Log(context.Background(), levels[level], message)
	}
}
