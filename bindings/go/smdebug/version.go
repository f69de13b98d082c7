package smdebug

import (
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Asked once, by whatever makes the first handle.
var requireABI = sync.OnceValue(func() error {
	return take(raw.Smd_require_abi(raw.ABILevel))
})

// Version is that of the loaded library, as "1.0.0".
func Version() string { return raw.Smd_version_string() }

// HasFeature says whether the loaded library was built with a feature: "local" (trials
// in folders) always, "s3" (trials in buckets) maybe.
func HasFeature(name string) bool {
	return checkText("feature", name) == nil && raw.Smd_has_feature(name) != 0
}
