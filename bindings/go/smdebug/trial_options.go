package smdebug

import (
	"log/slog"
	"maps"
	"strconv"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// TrialOptions configure how a trial is opened.  The zero value is useful.
type TrialOptions struct {
	Name      string // "": the last part of the path
	FirstStep int64  // first global step that is read
	EndStep   int64  // first global step that is not read; 0: all are

	// Logger receives the log lines of the library, on any thread; nil: stderr.  It must
	// not use the trial.
	Logger *slog.Logger

	// Settings sets all other options by name, such as "wait_seconds" or "s3_region";
	// docs/c.md and docs/s3.md list them.
	Settings map[string]string
}

// toRaw returns raw options that the caller frees.
func (o *TrialOptions) toRaw() (raw.Smd_trial_options, error) {
	options, err := trialOptionsSlot.out(raw.Smd_trial_options_new)
	if err != nil {
		return nil, err
	}
	err = setAll(o.settings(), func(name, value string) raw.Smd_error {
		return raw.Smd_trial_options_set(options, name, value)
	})
	if err == nil && o.Logger != nil {
		err = take(raw.TrialOptionsSetLog(options, levelOf(o.Logger), logTo(o.Logger)))
	}
	if err != nil {
		raw.Smd_trial_options_free(options)
		return nil, err
	}
	return options, nil
}

// settings returns the options that are set by name.
func (o *TrialOptions) settings() map[string]string {
	settings := maps.Clone(o.Settings)
	if settings == nil {
		settings = make(map[string]string)
	}
	if o.Name != "" {
		settings["name"] = o.Name
	}
	if o.FirstStep != 0 {
		settings["first_step"] = strconv.FormatInt(o.FirstStep, 10)
	}
	if o.EndStep != 0 {
		settings["end_step"] = strconv.FormatInt(o.EndStep, 10)
	}
	return settings
}
