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
  const int64_t shape[] = {1};
  const smd_tensor_view view = {sizeof(view), &value, shape, NULL, 1, SMD_FLOAT64};
  return (uintptr_t)smd_hook_save_scalar((smd_hook *)hook, name, &view, timestamp);
}
*/
import "C"

import (
	"sync"
	"unsafe"
)

// What C reads beside the elements, in memory that does not move while it does; a stack
// of Go may, when the library logs through Go.
type lent struct {
	shape, strides [MaxRank]C.int64_t
	name           [256]C.char
	figures        [FigureCount]C.double
	counts         [3]C.int64_t
	step           C.int64_t
	parts          C.uint32_t
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

// The shape and the strides, which may be nil.
func (l *lent) layout(sizes, steps []int) (shape, strides *C.int64_t) {
	for i, size := range sizes {
		l.shape[i] = C.int64_t(size)
	}
	for i, step := range steps {
		l.strides[i] = C.int64_t(step)
	}
	if steps != nil {
		strides = &l.strides[0]
	}
	return &l.shape[0], strides
}

// Save is smd_hook_save.  There are at most MaxRank sizes, and as many strides or nil.
func Save(hook Smd_hook, name string, data unsafe.Pointer, dtype int32, sizes, steps []int) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, strides := l.layout(sizes, steps)
	return SwigcptrSmd_error(C.save(C.uintptr_t(hook.Swigcptr()), l.text(name), data,
		shape, strides, C.int32_t(len(sizes)), C.smd_dtype(dtype)))
}

// SaveCustom is smd_hook_save_custom, of what Save takes.
func SaveCustom(hook Smd_hook, name string, data unsafe.Pointer, dtype int32, sizes, steps []int,
	collections Smd_strings) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, strides := l.layout(sizes, steps)
	return SwigcptrSmd_error(C.save_custom(C.uintptr_t(hook.Swigcptr()), l.text(name), data,
		shape, strides, C.int32_t(len(sizes)), C.smd_dtype(dtype),
		C.uintptr_t(collections.Swigcptr())))
}

// SaveScalar is smd_hook_save_scalar of a float64.
func SaveScalar(hook Smd_hook, name string, value, timestamp float64) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	return SwigcptrSmd_error(C.save_scalar(C.uintptr_t(hook.Swigcptr()), l.text(name),
		C.double(value), C.double(timestamp)))
}
