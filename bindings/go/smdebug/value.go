package smdebug

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Value holds the elements of one tensor at one step.  It is immutable and safe for
// concurrent use, also after its tensor and trial are closed.
type Value struct {
	handle *handle[raw.Smd_value]
	dtype  DType
	shape  []int
	bytes  []byte // owned by the library
}

func outValue(call func(out raw.Smd_value) raw.Smd_error) (*Value, error) {
	handle, err := valueSlot.out(call)
	if err != nil {
		return nil, err
	}
	v := &Value{
		handle: newHandle("value", handle, raw.Smd_value_free),
		dtype:  DType(raw.Smd_value_dtype(handle)),
		shape:  raw.ValueShape(handle),
		bytes:  raw.ValueBytes(handle),
	}
	closeWhenForgotten(v, v.handle)
	return v, nil
}

// Close frees the value and with it the slice returned by Bytes.  It always returns nil.
func (v *Value) Close() error {
	v.handle.close()
	return nil
}

// DType returns the type of the elements.
func (v *Value) DType() DType { return v.dtype }

// Shape returns the size of each dimension.
func (v *Value) Shape() []int { return slices.Clone(v.shape) }

// Len returns the number of elements.
func (v *Value) Len() int {
	elements := 1
	for _, size := range v.shape {
		elements *= size
	}
	return elements
}

// Bytes returns the elements in row-major order and in the machine's own representation, or
// nil for text.
//
// The slice is not a copy.  Do not change it, and do not use it after the value is closed
// or garbage collected.  If you do not close the value after the last use, call
// runtime.KeepAlive(value) there.
func (v *Value) Bytes() ([]byte, error) {
	if _, err := v.handle.acquire(); err != nil {
		return nil, err
	}
	defer v.handle.release()
	return v.bytes, nil
}

// Elements returns a copy of the elements in row-major order.  T must match the type of the
// value: nothing is converted.  int and uint match the integers of their size.
//
// See [Value.Float64s], [Value.Float32s] and [Value.Int64s] for conversions.
func Elements[T Element](v *Value) ([]T, error) {
	if wanted := dtypeOf[T](); wanted != v.dtype {
		return nil, v.isNot(wanted.String())
	}
	return copyAs(v, func(from []byte) []T {
		if v.dtype == Bool {
			return boolsAs[T](from)
		}
		to := make([]T, len(from)/v.dtype.Size())
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), len(to)*v.dtype.Size()), from)
		return to
	})
}

// boolsAs normalizes the bytes: a file may hold a byte that is neither 0 nor 1, which a Go
// bool must not be.
func boolsAs[T Element](from []byte) []T {
	to := make([]T, len(from))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(to))), len(to))
	for i, element := range from {
		if element != 0 {
			bytes[i] = 1
		}
	}
	return to
}

func copyAs[T any](v *Value, convert func(from []byte) []T) ([]T, error) {
	if _, err := v.handle.acquire(); err != nil {
		return nil, err
	}
	defer v.handle.release()
	return convert(v.bytes), nil
}

func (v *Value) isNot(wanted string) error {
	return &Error{
		Code:    ErrUnsupported,
		Message: fmt.Sprintf("the value holds %v, which cannot be read as %s", v.dtype, wanted),
	}
}

// Strings returns the elements of a text tensor in row-major order.
func (v *Value) Strings() ([]string, error) {
	handle, err := v.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer v.handle.release()
	return outStrings(func(out raw.Smd_strings) raw.Smd_error {
		return raw.Smd_value_strings(handle, out)
	})
}

// Float64 returns the element of a value that has exactly one; for a complex number, its
// real part.
func (v *Value) Float64() (float64, error) {
	handle, err := v.handle.acquire()
	if err != nil {
		return 0, err
	}
	defer v.handle.release()
	place := raw.New_double_slot()
	if place == nil {
		return 0, errNoMemory
	}
	defer raw.Delete_double_slot(place)
	err = take(raw.Smd_value_to_double(handle, place))
	return raw.Double_slot_value(place), err
}

// Reduce computes a reduction over all elements, by its name as in [ReductionConfig].  For
// a complex number it returns the real part.
func (v *Value) Reduce(name string) (float64, error) {
	reduced, err := v.ReduceValue(name)
	if err != nil {
		return 0, err
	}
	defer reduced.Close()
	return reduced.Float64()
}

// ReduceValue is like Reduce, but returns the type that NumPy gives the reduction.
func (v *Value) ReduceValue(name string) (*Value, error) {
	reduction, absolute, err := splitReduction(name)
	if err != nil {
		return nil, err
	}
	handle, err := v.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer v.handle.release()
	return outValue(func(out raw.Smd_value) raw.Smd_error {
		return raw.Smd_value_reduce(handle, reduction, absolute, out)
	})
}
