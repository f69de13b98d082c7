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
	profilerOptionsSlot = slot[raw.Smd_profiler_options]{raw.New_smd_profiler_options_slot, raw.Smd_profiler_options_slot_value, raw.Delete_smd_profiler_options_slot}
	profilerSlot        = slot[raw.Smd_profiler]{raw.New_smd_profiler_slot, raw.Smd_profiler_slot_value, raw.Delete_smd_profiler_slot}
	profileRulesSlot    = slot[raw.Smd_profile_rules]{raw.New_smd_profile_rules_slot, raw.Smd_profile_rules_slot_value, raw.Delete_smd_profile_rules_slot}
	reductionConfigSlot = slot[raw.Smd_reduction_config]{raw.New_smd_reduction_config_slot, raw.Smd_reduction_config_slot_value, raw.Delete_smd_reduction_config_slot}
	findingsSlot        = slot[raw.Smd_findings]{raw.New_smd_findings_slot, raw.Smd_findings_slot_value, raw.Delete_smd_findings_slot}
	diagnosisSlot       = slot[raw.Smd_diagnosis]{raw.New_smd_diagnosis_slot, raw.Smd_diagnosis_slot_value, raw.Delete_smd_diagnosis_slot}
	ruleResultsSlot     = slot[raw.Smd_rule_results]{raw.New_smd_rule_results_slot, raw.Smd_rule_results_slot_value, raw.Delete_smd_rule_results_slot}
	ruleSetSlot         = slot[raw.Smd_rule_set]{raw.New_smd_rule_set_slot, raw.Smd_rule_set_slot_value, raw.Delete_smd_rule_set_slot}
	saveConfigSlot      = slot[raw.Smd_save_config]{raw.New_smd_save_config_slot, raw.Smd_save_config_slot_value, raw.Delete_smd_save_config_slot}
	integersSlot        = slot[raw.Smd_integers]{raw.New_smd_integers_slot, raw.Smd_integers_slot_value, raw.Delete_smd_integers_slot}
	storeReportSlot     = slot[raw.Smd_store_report]{raw.New_smd_store_report_slot, raw.Smd_store_report_slot_value, raw.Delete_smd_store_report_slot}
	stringsSlot         = slot[raw.Smd_strings]{raw.New_smd_strings_slot, raw.Smd_strings_slot_value, raw.Delete_smd_strings_slot}
	tensorSlot          = slot[raw.Smd_tensor]{raw.New_smd_tensor_slot, raw.Smd_tensor_slot_value, raw.Delete_smd_tensor_slot}
	textSlot            = slot[raw.Smd_text]{raw.New_smd_text_slot, raw.Smd_text_slot_value, raw.Delete_smd_text_slot}
	trialOptionsSlot    = slot[raw.Smd_trial_options]{raw.New_smd_trial_options_slot, raw.Smd_trial_options_slot_value, raw.Delete_smd_trial_options_slot}
	trialSlot           = slot[raw.Smd_trial]{raw.New_smd_trial_slot, raw.Smd_trial_slot_value, raw.Delete_smd_trial_slot}
	valueSlot           = slot[raw.Smd_value]{raw.New_smd_value_slot, raw.Smd_value_slot_value, raw.Delete_smd_value_slot}
	valuesSlot          = slot[raw.Smd_values]{raw.New_smd_values_slot, raw.Smd_values_slot_value, raw.Delete_smd_values_slot}
)

var errNoMemory = &Error{Code: ErrOutOfMemory, Message: "out of memory for the result of a call"}

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

func outIntegers(call func(out raw.Smd_integers) raw.Smd_error) ([]int64, error) {
	list, err := integersSlot.out(call)
	if err != nil {
		return nil, err
	}
	return raw.TakeIntegers(list), nil
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
