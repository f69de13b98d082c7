package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

// StoreFinding is one thing that [CheckStore] tried.
type StoreFinding struct {
	Name    string // "address", "credentials", "list", "clock", "write", "read", "remove"
	Code    Code   // 0, or what is wrong
	Message string // what was found, or what is wrong and what to do
}

// CheckStore tries what recording to a path and reading from it need, up to the first
// failure; it writes, reads and removes one small file.  Of the settings those that begin
// with "s3_" count.  It takes as long as the service does, within their timeouts.
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
			Code:    Code(raw.Smd_store_report_code(report, at)),
			Message: raw.Smd_store_report_message(report, at),
		}
	}
	return findings, nil
}
