//go:build !cgo

package raw

// The other files of this package call C, so Go leaves them out if CGO_ENABLED is 0.  The
// undefined name is the compiler's message, instead of "build constraints exclude all Go files".
var _ = smdebug_calls_a_C_library__build_with_CGO_ENABLED_1_and_a_C_compiler
