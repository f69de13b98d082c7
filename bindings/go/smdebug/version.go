package smdebug

import (
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// requireABI checks the loaded library once, before the first handle is made.
var requireABI = sync.OnceValue(func() error {
	return take(raw.Smd_require_abi(raw.ABILevel))
})

// Version returns the version of the loaded library, such as "1.0.0".
func Version() string { return raw.Smd_version_string() }

// HasFeature reports whether the loaded library was built with a feature.  "local" (trials
// in folders) is always present, "s3" (trials in buckets) depends on the build.
func HasFeature(name string) bool {
	return checkText("feature", name) == nil && raw.Smd_has_feature(name) != 0
}
