package smdebug

import (
	"log/slog"
	"maps"
	"strconv"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// TrialOptions say how a trial is opened.  Their zero value is good.
type TrialOptions struct {
	Name      string // "": the last part of the path
	FirstStep int64  // only global steps from this one on are read
	EndStep   int64  // and before this one; 0: all

	// Logger gets the lines of the library, on whatever thread they arise; nil: they go
	// to stderr.  It must not use the trial.
	Logger *slog.Logger

	// Settings are all other options by their names, as "wait_seconds" or "s3_region":
	// docs/c.md and docs/s3.md list them.
	Settings map[string]string
}

// The raw options, the caller's to free.
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

// What is set by name.
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
