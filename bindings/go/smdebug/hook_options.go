package smdebug

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// HookOptions configure a hook.  With the zero value, worker_0 saves the losses at every
// 500th step.
//
// Only Flush and Close return background errors, so no full disk or failed network stops a
// training.  With Settings["report_errors"] = "soon", the next call returns them.
type HookOptions struct {
	Worker     string // name of this process; "": worker_0
	NumWorkers int    // number of processes that record into the folder; 0: 1
	AllWorkers bool   // every worker records, not only worker_0

	IncludeCollections []string // saved in addition to the losses
	IncludeRegexes     []string // add tensors to the collection "default"
	SaveAll            bool     // save every tensor, in the collection "all"
	Collections        []*Collection

	SaveConfig      SaveConfig       // for collections without their own
	ReductionConfig *ReductionConfig // for collections without their own; nil: save tensors raw

	// ExportTensorboard also exports scalars and histograms for TensorBoard: into TensorboardDir,
	// or else into the folder's "tensorboard".  Setting TensorboardDir also enables the
	// export.
	ExportTensorboard bool
	TensorboardDir    string

	// Logger receives the log lines of the library, on any thread; nil: stderr.  It must
	// not use the hook.
	Logger *slog.Logger

	// Configuration is the path of a settings file as a training service passes it to a job
	// (docs/configuration.md).  Options set here and an explicit folder take precedence
	// over the file.
	Configuration string

	// Settings sets all other options by name, such as "queue_bytes" or "s3_region";
	// docs/c.md and docs/s3.md list them.
	Settings map[string]string
}

// toRaw returns raw options that the caller frees.
func (o *HookOptions) toRaw(outDir string) (_ raw.Smd_hook_options, err error) {
	options, err := hookOptionsSlot.out(raw.Smd_hook_options_new)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			raw.Smd_hook_options_free(options)
		}
	}()
	// The logger comes first: warnings about the configuration go to the log.
	if o.Logger != nil {
		if err := take(raw.HookOptionsSetLog(options, levelOf(o.Logger), logTo(o.Logger))); err != nil {
			return nil, err
		}
	}
	if o.Configuration != "" {
		if err := checkText("configuration", o.Configuration); err != nil {
			return nil, err
		}
		if err := take(raw.Smd_hook_options_load(options, o.Configuration)); err != nil {
			return nil, err
		}
	}
	settings, err := o.settings(outDir)
	if err != nil {
		return nil, err
	}
	err = setAll(settings, func(name, value string) raw.Smd_error {
		return raw.Smd_hook_options_set(options, name, value)
	})
	if err != nil {
		return nil, err
	}
	for _, regex := range o.IncludeRegexes {
		if err := checkText("regular expression", regex); err != nil {
			return nil, err
		}
		if err := take(raw.Smd_hook_options_include_regex(options, regex)); err != nil {
			return nil, err
		}
	}
	if err := o.setConfigs(options); err != nil {
		return nil, err
	}
	return options, nil
}

// settings returns the options that are set by name.
func (o *HookOptions) settings(outDir string) (map[string]string, error) {
	settings := maps.Clone(o.Settings)
	if settings == nil {
		settings = make(map[string]string)
	}
	if outDir != "" {
		settings["out_dir"] = outDir
	}
	// A caller that stops at the first error would end a training because a network is
	// down.
	if _, given := settings["report_errors"]; !given {
		settings["report_errors"] = "late"
	}
	if o.Worker != "" {
		settings["worker"] = o.Worker
	}
	if o.NumWorkers != 0 {
		settings["num_workers"] = strconv.Itoa(o.NumWorkers)
	}
	if o.AllWorkers {
		settings["include_workers"] = "all"
	}
	if o.SaveAll {
		settings["save_all"] = "true"
	}
	if o.ExportTensorboard {
		settings["export_tensorboard"] = "true"
	}
	if o.TensorboardDir != "" {
		settings["tensorboard_dir"] = o.TensorboardDir
	}
	for _, name := range o.IncludeCollections {
		if strings.Contains(name, ",") {
			return nil, invalidArgument("the collection " + strconv.Quote(name) + " cannot be included: its name holds a comma")
		}
	}
	if len(o.IncludeCollections) > 0 {
		settings["include_collections"] = strings.Join(o.IncludeCollections, ",")
	}
	return settings, nil
}

func (o *HookOptions) setConfigs(options raw.Smd_hook_options) error {
	if o.SaveConfig != nil {
		config, err := o.SaveConfig.toRaw()
		if err != nil {
			return err
		}
		defer raw.Smd_save_config_free(config)
		if err := take(raw.Smd_hook_options_set_save_config(options, config)); err != nil {
			return err
		}
	}
	if o.ReductionConfig != nil {
		config, err := o.ReductionConfig.toRaw()
		if err != nil {
			return err
		}
		defer raw.Smd_reduction_config_free(config)
		if err := take(raw.Smd_hook_options_set_reduction_config(options, config)); err != nil {
			return err
		}
	}
	for _, collection := range o.Collections {
		if err := collection.addTo(func(handle raw.Smd_collection) raw.Smd_error {
			return raw.Smd_hook_options_add_collection(options, handle)
		}); err != nil {
			return err
		}
	}
	return nil
}

// setAll sets options sorted by name, so of two bad options always the same one is
// reported.
func setAll(settings map[string]string, set func(name, value string) raw.Smd_error) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if err := checkText("option", name); err != nil {
			return err
		}
		if err := checkText("value of "+name, settings[name]); err != nil {
			return err
		}
		if err := take(set(name, settings[name])); err != nil {
			return err
		}
	}
	return nil
}
