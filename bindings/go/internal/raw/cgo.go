// Package raw is the C interface of libsmdebug under its C names.  raw.go and
// raw_wrap.c are made by SWIG (tools/go_generate.sh); the other files are the calls
// that pass or give out memory.  Nothing here owns a handle, and a name that is
// passed in must not hold a NUL.
package raw

//go:generate ../../../../tools/go_generate.sh

/*
#include <smdebug.h>

// Handles come as numbers, as SWIG has them; Go takes no number for a pointer.

static const char *text_data(uintptr_t text) { return smd_text_data((const smd_text *)text); }
static size_t text_size(uintptr_t text) { return smd_text_size((const smd_text *)text); }

static const char *strings_get(uintptr_t list, size_t index) {
  return smd_strings_get((const smd_strings *)list, index);
}
static size_t strings_size(uintptr_t list, size_t index) {
  return smd_strings_size((const smd_strings *)list, index);
}

static const int64_t *integers_data(uintptr_t list) {
  return smd_integers_data((const smd_integers *)list);
}

static const int64_t *value_shape(uintptr_t value) {
  return smd_value_shape((const smd_value *)value);
}
static const void *value_data(uintptr_t value) { return smd_value_data((const smd_value *)value); }
*/
import "C"

import "unsafe"

// ABILevel is that of the header this package was compiled with.
const ABILevel uint = C.SMD_ABI_LEVEL

// MaxRank is the largest number of dimensions.
const MaxRank = C.SMD_MAX_RANK

// TakeText frees a text and returns what it held.
func TakeText(text Smd_text) string {
	defer Smd_text_free(text)
	handle := C.uintptr_t(text.Swigcptr())
	return string(unsafe.Slice((*byte)(unsafe.Pointer(C.text_data(handle))), C.text_size(handle)))
}

// TakeStrings frees a list and returns what it held.
func TakeStrings(list Smd_strings) []string {
	defer Smd_strings_free(list)
	handle := C.uintptr_t(list.Swigcptr())
	texts := make([]string, Smd_strings_count(list))
	for i := range texts {
		text := (*byte)(unsafe.Pointer(C.strings_get(handle, C.size_t(i))))
		texts[i] = string(unsafe.Slice(text, C.strings_size(handle, C.size_t(i))))
	}
	return texts
}

// TakeIntegers frees a list and returns what it held.
func TakeIntegers(list Smd_integers) []int64 {
	defer Smd_integers_free(list)
	integers := make([]int64, Smd_integers_count(list))
	first := (*int64)(unsafe.Pointer(C.integers_data(C.uintptr_t(list.Swigcptr()))))
	copy(integers, unsafe.Slice(first, len(integers)))
	return integers
}

// ValueShape returns a copy of a value's shape.
func ValueShape(value Smd_value) []int {
	shape := make([]int, Smd_value_ndim(value))
	first := (*int64)(unsafe.Pointer(C.value_shape(C.uintptr_t(value.Swigcptr()))))
	for i, size := range unsafe.Slice(first, len(shape)) {
		shape[i] = int(size)
	}
	return shape
}

// ValueBytes lends a value's elements: nobody may change them, and they go with the
// value's last handle.
func ValueBytes(value Smd_value) []byte {
	first := (*byte)(unsafe.Pointer(C.value_data(C.uintptr_t(value.Swigcptr()))))
	return unsafe.Slice(first, Smd_value_nbytes(value))
}

// NULL of handles that may be left out.
const (
	NoStrings         = SwigcptrSmd_strings(0)
	NoCollection      = SwigcptrSmd_collection(0)
	NoSaveConfig      = SwigcptrSmd_save_config(0)
	NoReductionConfig = SwigcptrSmd_reduction_config(0)
)
