package smdebug

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// SaveConfig selects the steps at which tensors are saved.  It maps a mode to its settings;
// the entry of [AnyMode] serves the modes without an entry.  A mode without either follows
// the hook's save config, and finally the default: every 500th step.
type SaveConfig map[Mode]SaveConfigMode

// SaveConfigMode selects steps of one mode: those in Steps, and every multiple of Interval
// from Start up to but not including End.
type SaveConfigMode struct {
	Interval int64 // 0: 500
	Start    int64
	End      int64 // 0: no end; negative, or not after Start: only Steps are saved
	Steps    []int64
}

// SaveEvery returns the save config that saves every interval-th step of all modes.
func SaveEvery(interval int64) SaveConfig {
	return SaveConfig{AnyMode: {Interval: interval}}
}

// Saves reports whether a step of a mode is saved.
func (c SaveConfig) Saves(step int64, mode Mode) (bool, error) {
	config, err := c.toRaw()
	if err != nil {
		return false, err
	}
	defer raw.Smd_save_config_free(config)
	return raw.Smd_save_config_saves(config, step, int(mode)) != 0, nil
}

// MarshalJSON returns the save config as collections files store it.
func (c SaveConfig) MarshalJSON() ([]byte, error) {
	config, err := c.toRaw()
	if err != nil {
		return nil, err
	}
	defer raw.Smd_save_config_free(config)
	text, err := outText(func(out raw.Smd_text) raw.Smd_error {
		return raw.Smd_save_config_to_json(config, out)
	})
	return []byte(text), err
}

// UnmarshalJSON reads the form of collections files; missing keys keep their defaults.
func (c *SaveConfig) UnmarshalJSON(text []byte) error {
	if isNull(text) {
		return nil
	}
	if err := requireABI(); err != nil {
		return err
	}
	if err := checkText("save config", string(text)); err != nil {
		return err
	}
	config, err := saveConfigSlot.out(func(out raw.Smd_save_config) raw.Smd_error {
		return raw.Smd_save_config_from_json(string(text), out)
	})
	if err != nil {
		return err
	}
	*c, err = takeSaveConfig(config)
	return err
}

// toRaw returns a raw config that the caller frees.
func (c SaveConfig) toRaw() (raw.Smd_save_config, error) {
	if err := requireABI(); err != nil {
		return raw.NoSaveConfig, err
	}
	config, err := saveConfigSlot.out(raw.Smd_save_config_new)
	if err != nil {
		return raw.NoSaveConfig, err
	}
	// AnyMode is the lowest mode, so the settings of a mode override it.
	for _, mode := range slices.Sorted(maps.Keys(c)) {
		if err == nil {
			err = c[mode].setFor(mode, config)
		}
	}
	if err != nil {
		raw.Smd_save_config_free(config)
		return raw.NoSaveConfig, err
	}
	return config, nil
}

func (s SaveConfigMode) setFor(mode Mode, config raw.Smd_save_config) error {
	interval, end := s.Interval, s.End
	if interval == 0 {
		interval = 500
	}
	switch {
	case end == 0:
		end = -1 // C's value for "no end"
	case end < 0:
		end = 0
	}
	var first *int64
	if len(s.Steps) > 0 {
		first = &s.Steps[0]
	}
	return take(raw.Smd_save_config_set(config, int(mode), interval, s.Start, end, first,
		int64(len(s.Steps))))
}

// takeSaveConfig frees a raw config and returns its content.
func takeSaveConfig(config raw.Smd_save_config) (SaveConfig, error) {
	defer raw.Smd_save_config_free(config)
	text, err := outText(func(out raw.Smd_text) raw.Smd_error {
		return raw.Smd_save_config_to_json(config, out)
	})
	if err != nil {
		return nil, err
	}
	var stored map[string]*struct {
		Interval int64   `json:"save_interval"`
		Start    int64   `json:"start_step"`
		End      *int64  `json:"end_step"`
		Steps    []int64 `json:"save_steps"`
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, &Error{Code: ErrInternal, Message: "save config: " + err.Error()}
	}
	result := SaveConfig{}
	for _, mode := range modes {
		if s := stored[mode.String()]; s != nil {
			result[mode] = SaveConfigMode{s.Interval, s.Start, endOf(s.End), s.Steps}
		}
	}
	return result, nil
}

// endOf returns the End of a mode for the stored end_step, where 0 means that nothing is
// saved.
func endOf(stored *int64) int64 {
	switch {
	case stored == nil:
		return 0
	case *stored <= 0:
		return -1
	}
	return *stored
}

// ReductionConfig selects what is saved of a tensor.
type ReductionConfig struct {
	// Reductions holds names among min, max, median, mean, std, variance, sum, prod, l1 and
	// l2.  The prefix "abs_" applies the reduction to the absolute values.
	Reductions []string
	SaveRaw    bool // also save the tensor itself
	SaveShape  bool // also save its shape
}

// toRaw returns a raw config that the caller frees.
func (c ReductionConfig) toRaw() (raw.Smd_reduction_config, error) {
	if err := requireABI(); err != nil {
		return raw.NoReductionConfig, err
	}
	names := strings.Join(c.Reductions, ",")
	if err := checkText("reduction", names); err != nil {
		return raw.NoReductionConfig, err
	}
	config, err := reductionConfigSlot.out(raw.Smd_reduction_config_new)
	if err == nil && names != "" {
		err = take(raw.Smd_reduction_config_add(config, names))
	}
	if err == nil {
		err = take(raw.Smd_reduction_config_set_raw(config, flag(c.SaveRaw)))
	}
	if err == nil {
		err = take(raw.Smd_reduction_config_set_shape(config, flag(c.SaveShape)))
	}
	if err != nil {
		raw.Smd_reduction_config_free(config)
		return raw.NoReductionConfig, err
	}
	return config, nil
}

// takeReductionConfig frees a raw config and returns its content.
func takeReductionConfig(config raw.Smd_reduction_config) (ReductionConfig, error) {
	defer raw.Smd_reduction_config_free(config)
	names, err := outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_reduction_config_reductions(config, out)
	})
	return ReductionConfig{
		Reductions: names,
		SaveRaw:    raw.Smd_reduction_config_raw(config) != 0,
		SaveShape:  raw.Smd_reduction_config_shape(config) != 0,
	}, err
}

// MarshalJSON returns the reduction config as collections files store it.
func (c ReductionConfig) MarshalJSON() ([]byte, error) {
	config, err := c.toRaw()
	if err != nil {
		return nil, err
	}
	defer raw.Smd_reduction_config_free(config)
	text, err := outText(func(out raw.Smd_text) raw.Smd_error {
		return raw.Smd_reduction_config_to_json(config, out)
	})
	return []byte(text), err
}

// UnmarshalJSON reads the form of collections files.
func (c *ReductionConfig) UnmarshalJSON(text []byte) error {
	if isNull(text) {
		return nil
	}
	if err := requireABI(); err != nil {
		return err
	}
	if err := checkText("reduction config", string(text)); err != nil {
		return err
	}
	config, err := reductionConfigSlot.out(func(out raw.Smd_reduction_config) raw.Smd_error {
		return raw.Smd_reduction_config_from_json(string(text), out)
	})
	if err != nil {
		return err
	}
	*c, err = takeReductionConfig(config)
	return err
}
