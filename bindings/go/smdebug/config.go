package smdebug

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// SaveConfig says at which steps tensors are saved, for each mode, or for all by
// [AnyMode]; a mode of its own goes before that.  A mode that is not given takes what
// the hook says, and at last every 500th step.
type SaveConfig map[Mode]SaveConfigMode

// SaveConfigMode says which steps of a mode are saved: those of Steps, and from Start on
// those that Interval divides (counted from 0), up to but not including End.
type SaveConfigMode struct {
	Interval int64 // 0: 500
	Start    int64
	End      int64 // 0: no end
	Steps    []int64
}

// SaveEvery is the save config that saves every interval-th step of all modes.
func SaveEvery(interval int64) SaveConfig {
	return SaveConfig{AnyMode: {Interval: interval}}
}

// Wants says whether a step of a mode is saved.
func (c SaveConfig) Wants(mode Mode, step int64) (bool, error) {
	config, err := c.toRaw()
	if err != nil {
		return false, err
	}
	defer raw.Smd_save_config_free(config)
	return raw.Smd_save_config_wants(config, int(mode), step) != 0, nil
}

// MarshalJSON gives the form of collection files.
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

// UnmarshalJSON reads that form; missing keys take their defaults.
func (c *SaveConfig) UnmarshalJSON(text []byte) error {
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

// The raw config, the caller's to free.
func (c SaveConfig) toRaw() (raw.Smd_save_config, error) {
	if err := requireABI(); err != nil {
		return raw.NoSaveConfig, err
	}
	config, err := saveConfigSlot.out(raw.Smd_save_config_new)
	if err != nil {
		return raw.NoSaveConfig, err
	}
	// AnyMode is the lowest: those of a mode come after it.
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
	if end == 0 {
		end = -1
	}
	var first *int64
	if len(s.Steps) > 0 {
		first = &s.Steps[0]
	}
	return take(raw.Smd_save_config_set(config, int(mode), interval, s.Start, end, first,
		int64(len(s.Steps))))
}

// Frees a raw config and returns what it held.
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
		End      int64   `json:"end_step"`
		Steps    []int64 `json:"save_steps"`
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, &Error{Code: ErrInternal, Message: "save config: " + err.Error()}
	}
	result := SaveConfig{}
	for _, mode := range modes {
		if s := stored[mode.String()]; s != nil {
			result[mode] = SaveConfigMode{s.Interval, s.Start, s.End, s.Steps}
		}
	}
	return result, nil
}

// ReductionConfig says what is saved of a tensor.
type ReductionConfig struct {
	// Reductions are min, max, median, mean, std, variance, sum, prod, l1, l2, each also
	// as abs_<name>: of the absolute values.
	Reductions []string
	SaveRaw    bool // the tensor itself too
	SaveShape  bool // its shape too
}

// The raw config, the caller's to free.
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

// Frees a raw config and returns what it held.
func takeReductionConfig(config raw.Smd_reduction_config) (ReductionConfig, error) {
	defer raw.Smd_reduction_config_free(config)
	names, err := outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_reduction_config_names(config, out)
	})
	return ReductionConfig{
		Reductions: names,
		SaveRaw:    raw.Smd_reduction_config_raw(config) != 0,
		SaveShape:  raw.Smd_reduction_config_shape(config) != 0,
	}, err
}

// MarshalJSON gives the form of collection files.
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

// UnmarshalJSON reads that form.
func (c *ReductionConfig) UnmarshalJSON(text []byte) error {
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
