package smdebug

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// NoStep is the step of an event that belongs to none.
const NoStep = -1

// ProfilerOptions configure a profiler.
type ProfilerOptions struct {
	// SampleInterval is how often the machine is sampled: 100 ms, 200 ms, 500 ms, 1 s, 5 s or
	// 1 min; 0: never.
	SampleInterval time.Duration

	// Logger receives the log lines of the library, on any thread; nil: stderr.
	Logger *slog.Logger

	// Settings sets all other options by name, such as "node" or "rotate_seconds";
	// smdebug/profiler.h lists them.
	Settings map[string]string
}

// Profiler records where the time of a job goes.  It is safe for concurrent use.
type Profiler struct {
	handle *handle[raw.Smd_profiler]
}

// ProfilerEvent is something that took time.
type ProfilerEvent struct {
	Name     string
	Phase    string // groups events; "": the name
	Step     int64  // NoStep: none
	Begin    time.Time
	Duration time.Duration  // of microseconds
	Args     map[string]any // what else to record, as JSON
}

// NewProfiler opens a profiler that records into a folder or into s3://bucket/prefix.
func NewProfiler(outDir string, options ProfilerOptions) (*Profiler, error) {
	return openProfiler(outDir, options, raw.Smd_profiler_new)
}

// FollowProfilerConfig opens a profiler that follows the configuration file of the training
// service.  If path is "", SMPROFILER_CONFIG_PATH names the file, or else it is the service's.
// Events are dropped while the file is missing, or switches profiling off.
func FollowProfilerConfig(path string, options ProfilerOptions) (*Profiler, error) {
	if err := checkText("path", path); err != nil {
		return nil, err
	}
	open := func(given raw.Smd_profiler_options, out raw.Smd_profiler) raw.Smd_error {
		return raw.Smd_profiler_follow(path, given, out)
	}
	return openProfiler("", options, open)
}

func openProfiler(outDir string, options ProfilerOptions,
	open func(raw.Smd_profiler_options, raw.Smd_profiler) raw.Smd_error) (*Profiler, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	given, err := profilerOptionsSlot.out(raw.Smd_profiler_options_new)
	if err != nil {
		return nil, err
	}
	defer raw.Smd_profiler_options_free(given)
	if options.Logger != nil {
		err := take(raw.ProfilerOptionsSetLog(given, levelOf(options.Logger), logTo(options.Logger)))
		if err != nil {
			return nil, err
		}
	}
	err = setAll(options.settings(outDir), func(name, value string) raw.Smd_error {
		return raw.Smd_profiler_options_set(given, name, value)
	})
	if err != nil {
		return nil, err
	}
	made, err := profilerSlot.out(func(out raw.Smd_profiler) raw.Smd_error {
		return open(given, out)
	})
	if err != nil {
		return nil, err
	}
	p := &Profiler{newHandle("profiler", made, raw.Smd_profiler_free)}
	// Freeing a profiler may wait for the disk.
	runtime.AddCleanup(p, func(h *handle[raw.Smd_profiler]) { go h.close() }, p.handle)
	return p, nil
}

func (o *ProfilerOptions) settings(outDir string) map[string]string {
	settings := maps.Clone(o.Settings)
	if settings == nil {
		settings = make(map[string]string)
	}
	if outDir != "" {
		settings["out_dir"] = outDir
	}
	if o.SampleInterval != 0 {
		settings["sample_milliseconds"] = strconv.FormatInt(o.SampleInterval.Milliseconds(), 10)
	}
	return settings
}

func (p *Profiler) call(call func(raw.Smd_profiler) raw.Smd_error) error {
	handle, err := p.handle.acquire()
	if err != nil {
		return err
	}
	defer p.handle.release()
	return take(call(handle))
}

// Event records an event.  It copies the event and returns; a thread of the library writes it.
func (p *Profiler) Event(event ProfilerEvent) error {
	args, err := event.members()
	if err != nil {
		return err
	}
	return p.call(func(handle raw.Smd_profiler) raw.Smd_error {
		return raw.Smd_profiler_event(handle, event.Name, event.phase(), event.Step,
			event.Begin.UnixMicro(), event.Duration.Microseconds(), args)
	})
}

// Instant records a moment: now.  The times of the event are not used.
func (p *Profiler) Instant(event ProfilerEvent) error {
	args, err := event.members()
	if err != nil {
		return err
	}
	return p.call(func(handle raw.Smd_profiler) raw.Smd_error {
		return raw.Smd_profiler_instant(handle, event.Name, event.phase(), event.Step, args)
	})
}

func (e *ProfilerEvent) phase() string {
	if e.Phase == "" {
		return e.Name
	}
	return e.Phase
}

// members checks the event's texts, and returns its arguments as JSON.
func (e *ProfilerEvent) members() (string, error) {
	if err := checkText("name", e.Name); err != nil {
		return "", err
	}
	if err := checkText("phase", e.Phase); err != nil {
		return "", err
	}
	if len(e.Args) == 0 {
		return "", nil
	}
	text, err := json.Marshal(e.Args)
	if err != nil {
		return "", invalidArgument("the arguments of the event " + strconv.Quote(e.Name) + " are no JSON: " + err.Error())
	}
	return string(text), nil
}

// Begin begins an event now.  Call the returned function to end and record it, on any
// goroutine:
//
//	defer profiler.Begin("load", "DataLoaderIter", step)()
//
// An event of a closed profiler is not recorded.
func (p *Profiler) Begin(name, phase string, step int64) func() {
	begin := p.Now()
	return func() {
		end := p.Now()
		if begin.IsZero() || end.IsZero() {
			return
		}
		// The event is valid but for its texts, which a caller writes into the program.
		_ = p.Event(ProfilerEvent{Name: name, Phase: phase, Step: step, Begin: begin, Duration: end.Sub(begin)})
	}
}

// Now returns the time of events, which never decreases; the zero time after Close.
func (p *Profiler) Now() time.Time {
	handle, err := p.handle.acquire()
	if err != nil {
		return time.Time{}
	}
	defer p.handle.release()
	return time.UnixMicro(raw.Smd_profiler_now(handle))
}

// Update rereads the configuration file if it changed, and reports whether events are recorded.
// Call it between steps.
func (p *Profiler) Update() bool {
	handle, err := p.handle.acquire()
	if err != nil {
		return false
	}
	defer p.handle.release()
	return raw.Smd_profiler_update(handle) != 0
}

// IsActive reports whether the configuration selects a feature at this step, now: "detailed",
// "dataloader", "python", "smdataparallel" or "horovod".  It is false for any other feature.
func (p *Profiler) IsActive(feature string, step int64) bool {
	handle, err := p.handle.acquire()
	if err != nil {
		return false
	}
	defer p.handle.release()
	return checkText("feature", feature) == nil && raw.Smd_profiler_is_active(handle, feature, step, "") == 1
}

// Count returns "events_written", "events_dropped", "files_written", "bytes_written" or
// "samples"; -1 for other names, and after Close.
func (p *Profiler) Count(name string) int64 {
	handle, err := p.handle.acquire()
	if err != nil {
		return -1
	}
	defer p.handle.release()
	if checkText("name", name) != nil {
		return -1
	}
	return raw.Smd_profiler_count(handle, name)
}

// Flush ends the open files, so that readers see all events so far, or ctx is done.
func (p *Profiler) Flush(ctx context.Context) error {
	return waitInSlices(ctx, "flushing the profiler", func(milliseconds int) error {
		return p.call(func(handle raw.Smd_profiler) raw.Smd_error {
			return raw.Smd_profiler_flush(handle, milliseconds)
		})
	})
}

// Close writes everything and marks the profile as finished.  It returns the first error of the
// writing threads that no earlier call has returned.  A second call only waits for the first one.
func (p *Profiler) Close() error {
	handle, err := p.handle.acquire()
	if err != nil {
		return nil
	}
	defer p.handle.release()
	defer p.handle.close() // not before: see [Hook.Close]
	return take(raw.Smd_profiler_close(handle))
}
