package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

// StoreFinding is the result of one check of [CheckStore].
type StoreFinding struct {
	Name    string // "address", "credentials", "list", "clock", "write", "read", "remove"
	Err     error  // an [*Error], or nil if the check passed
	Message string // what was found, or the problem and what to do
}

// CheckStore runs the checks that recording to a path and reading from it depend on, in
// order, and stops at the first failure.  It writes, reads and removes one small file.
// Only settings that begin with "s3_" have an effect.  Requests are limited by their
// timeouts.
func CheckStore(path string, settings map[string]string) ([]StoreFinding, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := checkText("path", path); err != nil {
		return nil, err
	}
	options, err := hookOptionsSlot.out(raw.Smd_hook_options_new)
	if err != nil {
		return nil, err
	}
	defer raw.Smd_hook_options_free(options)
	err = setAll(settings, func(name, value string) raw.Smd_error {
		return raw.Smd_hook_options_set(options, name, value)
	})
	if err != nil {
		return nil, err
	}
	report, err := storeReportSlot.out(func(out raw.Smd_store_report) raw.Smd_error {
		return raw.Smd_store_check(path, options, out)
	})
	if err != nil {
		return nil, err
	}
	defer raw.Smd_store_report_free(report)
	findings := make([]StoreFinding, raw.Smd_store_report_count(report))
	for i := range findings {
		at := int64(i)
		findings[i] = StoreFinding{
			Name:    raw.Smd_store_report_name(report, at),
			Message: raw.Smd_store_report_message(report, at),
		}
		if code := Code(raw.Smd_store_report_code(report, at)); code != 0 {
			findings[i].Err = &Error{Code: code, Message: findings[i].Message}
		}
	}
	return findings, nil
}
