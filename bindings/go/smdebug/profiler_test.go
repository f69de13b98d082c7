package smdebug_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// timelines returns the texts of all timeline files below a folder.
func timelines(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "framework/pevents/*/*_pythontimeline.json"))
	must(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		all.Write(text)
	}
	return all.String()
}

func TestProfilerRecordsEvents(t *testing.T) {
	folder := t.TempDir()
	profiler := got(smdebug.NewProfiler(folder, smdebug.ProfilerOptions{}))(t)
	func() {
		defer profiler.Begin("load", "DataLoaderIter", 3)()
		time.Sleep(time.Millisecond)
	}()
	event := smdebug.ProfilerEvent{
		Name: "copy", Step: smdebug.NoStep, Begin: profiler.Now(), Duration: 250 * time.Microsecond,
		Args: map[string]any{"bytes": 9},
	}
	must(t, profiler.Event(event))
	must(t, profiler.Instant(smdebug.ProfilerEvent{Name: "mark", Step: 4}))
	must(t, profiler.Flush(context.Background()))
	if written := profiler.Count("events_written"); written != 3 {
		t.Errorf("%d events were written", written)
	}
	event.Args["bytes"] = math.NaN()
	mustFail(t, profiler.Event(event), smdebug.ErrInvalidArgument)
	mustFail(t, profiler.Event(smdebug.ProfilerEvent{Begin: profiler.Now()}), smdebug.ErrInvalidArgument)
	must(t, profiler.Close())
	must(t, profiler.Close())
	mustFail(t, profiler.Event(smdebug.ProfilerEvent{Name: "late"}), smdebug.ErrWrongState)
	profiler.Begin("late", "late", 0)()
	text := timelines(t, folder)
	for _, expected := range []string{`"dur": 250`, `"bytes": 9`, `"step_num": "3"`, `"ph": "i"`} {
		if !strings.Contains(strings.ReplaceAll(text, `":9`, `": 9`), expected) {
			t.Errorf("%s is missing in %s", expected, text)
		}
	}
}

func TestProfilerTakesEventsOfGoroutines(t *testing.T) {
	profiler := got(smdebug.NewProfiler(t.TempDir(), smdebug.ProfilerOptions{}))(t)
	defer profiler.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for step := range int64(100) {
				profiler.Begin("work", "", step)()
			}
		}()
	}
	all.Wait()
	must(t, profiler.Flush(context.Background()))
	if written := profiler.Count("events_written"); written != 800 {
		t.Errorf("%d events were written", written)
	}
}

func TestProfilerFollowsItsConfiguration(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "profilerconfig.json")
	profiler := got(smdebug.FollowProfilerConfig(path, smdebug.ProfilerOptions{}))(t)
	defer profiler.Close()
	if profiler.Update() {
		t.Error("a missing file switches profiling on")
	}
	text := `{"ProfilingParameters": {"LocalPath": "` + folder + `/p", "DetailedProfilingConfig": "{'StartStep': 2}"}}`
	must(t, os.WriteFile(path, []byte(text), 0o600))
	if !profiler.Update() {
		t.Error("the file does not switch profiling on")
	}
	if !profiler.IsActive("detailed", 2) || profiler.IsActive("detailed", 3) || profiler.IsActive("other", 2) {
		t.Error("the window is wrong")
	}
	must(t, os.WriteFile(path, []byte("no json"), 0o600))
	_, err := smdebug.FollowProfilerConfig(path, smdebug.ProfilerOptions{})
	mustFail(t, err, smdebug.ErrInvalidConfig)
}

func TestRulesOverAProfile(t *testing.T) {
	folder := t.TempDir()
	profiler := got(smdebug.NewProfiler(folder, smdebug.ProfilerOptions{}))(t)
	start := profiler.Now()
	for step := range int64(60) {
		begin := start.Add(time.Duration(step) * 10 * time.Millisecond)
		must(t, profiler.Event(smdebug.ProfilerEvent{
			Name: "Step:ModeKeys.TRAIN", Step: step, Begin: begin, Duration: 10 * time.Millisecond,
		}))
		must(t, profiler.Event(smdebug.ProfilerEvent{
			Name: "DataLoaderIter", Step: step, Begin: begin, Duration: 6 * time.Millisecond,
		}))
	}
	must(t, profiler.Close())
	options := smdebug.ProfileOptions{
		Rules:    []string{"DataLoaderStarves", "StepOutlier"},
		Settings: map[string]string{"DataLoaderStarves_share": "0.5"},
	}
	found := got(smdebug.EvaluateProfile(folder, options))(t)
	if len(found.Findings) != 1 || found.Findings[0].Tensor != "data wait" {
		t.Errorf("findings: %v", found.Findings)
	}
	if len(found.Results) != 2 || !strings.Contains(string(found.Charts), "data wait") {
		t.Errorf("results: %v; charts: %s", found.Results, found.Charts)
	}
	trace := filepath.Join(t.TempDir(), "trace.json")
	must(t, smdebug.WriteProfileTimeline(folder, trace))
	if text := string(got(os.ReadFile(trace))(t)); strings.Count(text, `"ph": "X"`) != 120 {
		t.Errorf("the timeline is %.400s", text)
	}
	options.Rules = []string{"Nothing"}
	if _, err := smdebug.EvaluateProfile(folder, options); err == nil {
		t.Error("an unknown rule is no error")
	}
}
