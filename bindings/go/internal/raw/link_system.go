package raw

// The library that pkg-config finds.  tools/go_module.sh makes the module of a release, in which this
// needs the build tag smdebug_system, and the default is the static library in the module.

// #cgo pkg-config: smdebug
import "C"
