package raw

/*
#include <smdebug.h>

static uintptr_t save(uintptr_t hook, const char *name, const void *data, const int64_t *shape,
                      const int64_t *strides, int32_t ndim, smd_dtype dtype) {
  const smd_tensor_view view = {sizeof(view), data, shape, strides, ndim, dtype};
  return (uintptr_t)smd_hook_save((smd_hook *)hook, name, &view);
}

static uintptr_t save_custom(uintptr_t hook, const char *name, const void *data,
                             const int64_t *shape, const int64_t *strides, int32_t ndim,
                             smd_dtype dtype, uintptr_t collections) {
  const smd_tensor_view view = {sizeof(view), data, shape, strides, ndim, dtype};
  return (uintptr_t)smd_hook_save_custom((smd_hook *)hook, name, &view,
                                         (const smd_strings *)collections);
}

static uintptr_t save_scalar(uintptr_t hook, const char *name, double value, double timestamp) {
  const smd_tensor_view view = {sizeof(view), &value, NULL, NULL, 0, SMD_FLOAT64};
  return (uintptr_t)smd_hook_save_scalar((smd_hook *)hook, name, &view, timestamp);
}
*/
import "C"

import (
	"sync"
	"unsafe"
)

// View describes memory that C reads during one call.
type View struct {
	Data    unsafe.Pointer
	Shape   []int // at most MaxRank
	Strides []int // nil, or as many
	DType   int32
}

// What C reads beside the elements, in memory that does not move while it does: a
// stack of Go does, when the library logs through Go.
type lent struct {
	shape, strides [MaxRank]C.int64_t
	name           [256]C.char
}

var pool = sync.Pool{New: func() any { return new(lent) }}

// The text, ended by NUL.
func (l *lent) text(text string) *C.char {
	if len(text) >= len(l.name) {
		long := append([]byte(text), 0)
		return (*C.char)(unsafe.Pointer(&long[0]))
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&l.name)), len(l.name))
	bytes[copy(bytes, text)] = 0
	return &l.name[0]
}

// The shape and the strides.
func (l *lent) layout(view View) (shape, strides *C.int64_t) {
	for i, size := range view.Shape {
		l.shape[i] = C.int64_t(size)
	}
	for i, stride := range view.Strides {
		l.strides[i] = C.int64_t(stride)
	}
	if view.Strides != nil {
		strides = &l.strides[0]
	}
	return &l.shape[0], strides
}

// Save is smd_hook_save.
func Save(hook Smd_hook, name string, view View) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, strides := l.layout(view)
	return SwigcptrSmd_error(C.save(C.uintptr_t(hook.Swigcptr()), l.text(name), view.Data,
		shape, strides, C.int32_t(len(view.Shape)), C.smd_dtype(view.DType)))
}

// SaveCustom is smd_hook_save_custom.
func SaveCustom(hook Smd_hook, name string, view View, collections Smd_strings) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, strides := l.layout(view)
	return SwigcptrSmd_error(C.save_custom(C.uintptr_t(hook.Swigcptr()), l.text(name), view.Data,
		shape, strides, C.int32_t(len(view.Shape)), C.smd_dtype(view.DType),
		C.uintptr_t(collections.Swigcptr())))
}

// SaveScalar is smd_hook_save_scalar of a float64.
func SaveScalar(hook Smd_hook, name string, value, timestamp float64) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	return SwigcptrSmd_error(C.save_scalar(C.uintptr_t(hook.Swigcptr()), l.text(name),
		C.double(value), C.double(timestamp)))
}
