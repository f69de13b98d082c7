package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

// slot is how the raw layer gives a thing out: a place for one, made and freed.
type slot[H interface{ Swigcptr() uintptr }] struct {
	make  func() H
	value func(H) H
	free  func(H)
}

var (
	collectionSlot      = slot[raw.Smd_collection]{raw.New_smd_collection_slot, raw.Smd_collection_slot_value, raw.Delete_smd_collection_slot}
	hookOptionsSlot     = slot[raw.Smd_hook_options]{raw.New_smd_hook_options_slot, raw.Smd_hook_options_slot_value, raw.Delete_smd_hook_options_slot}
	hookSlot            = slot[raw.Smd_hook]{raw.New_smd_hook_slot, raw.Smd_hook_slot_value, raw.Delete_smd_hook_slot}
	panelSlot           = slot[raw.Smd_panel]{raw.New_smd_panel_slot, raw.Smd_panel_slot_value, raw.Delete_smd_panel_slot}
	reductionConfigSlot = slot[raw.Smd_reduction_config]{raw.New_smd_reduction_config_slot, raw.Smd_reduction_config_slot_value, raw.Delete_smd_reduction_config_slot}
	ruleSlot            = slot[raw.Smd_rule]{raw.New_smd_rule_slot, raw.Smd_rule_slot_value, raw.Delete_smd_rule_slot}
	saveConfigSlot      = slot[raw.Smd_save_config]{raw.New_smd_save_config_slot, raw.Smd_save_config_slot_value, raw.Delete_smd_save_config_slot}
	stepsSlot           = slot[raw.Smd_steps]{raw.New_smd_steps_slot, raw.Smd_steps_slot_value, raw.Delete_smd_steps_slot}
	storeReportSlot     = slot[raw.Smd_store_report]{raw.New_smd_store_report_slot, raw.Smd_store_report_slot_value, raw.Delete_smd_store_report_slot}
	stringsSlot         = slot[raw.Smd_strings]{raw.New_smd_strings_slot, raw.Smd_strings_slot_value, raw.Delete_smd_strings_slot}
	tensorSlot          = slot[raw.Smd_tensor]{raw.New_smd_tensor_slot, raw.Smd_tensor_slot_value, raw.Delete_smd_tensor_slot}
	textSlot            = slot[raw.Smd_text]{raw.New_smd_text_slot, raw.Smd_text_slot_value, raw.Delete_smd_text_slot}
	trialOptionsSlot    = slot[raw.Smd_trial_options]{raw.New_smd_trial_options_slot, raw.Smd_trial_options_slot_value, raw.Delete_smd_trial_options_slot}
	trialSlot           = slot[raw.Smd_trial]{raw.New_smd_trial_slot, raw.Smd_trial_slot_value, raw.Delete_smd_trial_slot}
	valueSlot           = slot[raw.Smd_value]{raw.New_smd_value_slot, raw.Smd_value_slot_value, raw.Delete_smd_value_slot}
	verdictsSlot        = slot[raw.Smd_verdicts]{raw.New_smd_verdicts_slot, raw.Smd_verdicts_slot_value, raw.Delete_smd_verdicts_slot}
)

var errNoMemory = &Error{Code: ErrOutOfMemory, Message: "no memory for what a call gives out"}

// out returns what a raw call gives out.
func (s slot[H]) out(call func(out H) raw.Smd_error) (H, error) {
	place := s.make()
	if place.Swigcptr() == 0 {
		return place, errNoMemory
	}
	defer s.free(place)
	err := take(call(place))
	return s.value(place), err
}

func outText(call func(out raw.Smd_text) raw.Smd_error) (string, error) {
	text, err := textSlot.out(call)
	if err != nil {
		return "", err
	}
	return raw.TakeText(text), nil
}

func outStrings(call func(out raw.Smd_strings) raw.Smd_error) ([]string, error) {
	list, err := stringsSlot.out(call)
	if err != nil {
		return nil, err
	}
	return raw.TakeStrings(list), nil
}

func outSteps(call func(out raw.Smd_steps) raw.Smd_error) ([]int64, error) {
	list, err := stepsSlot.out(call)
	if err != nil {
		return nil, err
	}
	return raw.TakeSteps(list), nil
}

func outInt64(call func(out *int64) raw.Smd_error) (int64, error) {
	place := raw.New_int64_slot()
	if place == nil {
		return 0, errNoMemory
	}
	defer raw.Delete_int64_slot(place)
	err := take(call(place))
	return raw.Int64_slot_value(place), err
}

// newStrings makes a list of names for functions that take one; the caller frees it.
func newStrings(what string, names []string) (raw.Smd_strings, error) {
	for _, name := range names {
		if err := checkText(what, name); err != nil {
			return raw.NoStrings, err
		}
	}
	list, err := stringsSlot.out(raw.Smd_strings_new)
	for _, name := range names {
		if err == nil {
			err = take(raw.Smd_strings_add(list, name))
		}
	}
	if err != nil {
		raw.Smd_strings_free(list)
		return raw.NoStrings, err
	}
	return list, nil
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
