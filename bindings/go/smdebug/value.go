package smdebug

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Value is one tensor's elements at one step, which nobody can change.  It may be used by
// several goroutines at once, also after its tensor and trial were closed.
type Value struct {
	handle *handle[raw.Smd_value]
	dtype  DType
	shape  []int
	bytes  []byte // the library's
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

// Close frees the value, and with it what Bytes gave out.  It always returns nil.
func (v *Value) Close() error {
	v.handle.close()
	return nil
}

// DType is the type of the elements.
func (v *Value) DType() DType { return v.dtype }

// Shape is the size of each dimension.
func (v *Value) Shape() []int { return slices.Clone(v.shape) }

// Len is the number of elements.
func (v *Value) Len() int {
	elements := 1
	for _, size := range v.shape {
		elements *= size
	}
	return elements
}

// Bytes are the elements themselves in row-major order, as the machine has them in
// memory; nil for text.
//
// There is no copy.  They must not be changed, and not be used when the value is closed
// or was forgotten: unless it is closed after the last use, end that with
// runtime.KeepAlive(value).
func (v *Value) Bytes() ([]byte, error) {
	if _, err := v.handle.acquire(); err != nil {
		return nil, err
	}
	defer v.handle.release()
	return v.bytes, nil
}

// Elements are a copy of the elements in row-major order.  T must be what the value
// holds: nothing is converted.  int and uint hold what they were saved as.
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

// A byte of a file may be neither 0 nor 1, which a Go bool has to be.
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
		Message: fmt.Sprintf("the value holds %v, which is not given out as %s", v.dtype, wanted),
	}
}

// Strings are the elements of a text tensor in row-major order.
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

// Float64 is the one element of a value that has one; of a complex number the real part.
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

// Reduce computes a reduction over all elements, by its name as in [ReductionConfig].  Of
// a complex number it is the real part.
func (v *Value) Reduce(name string) (float64, error) {
	reduced, err := v.ReduceValue(name)
	if err != nil {
		return 0, err
	}
	defer reduced.Close()
	return reduced.Float64()
}

// ReduceValue is the same, with the type that NumPy gives the reduction.
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
