package smdebug

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Element lists the Go types that a tensor can hold.  int and uint are saved as integers of
// their size, 64 or 32 bits.
type Element interface {
	~float32 | ~float64 | ~complex64 | ~complex128 | ~bool |
		~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// View describes a tensor in the caller's memory.  [ViewOf], [Scalar], [ViewOfBytes] and
// [ViewOfStrings] make one.  The caller keeps the memory, which is only read while it is
// saved.
type View struct {
	data    unsafe.Pointer
	texts   []string
	strides []int
	count   int // number of elements in data
	dtype   DType
	fault   string

	// The array is part of the view, so that a view needs no allocation.
	shape [raw.MaxRank]int
	rank  int
}

// ViewOf returns a view of the elements in data, in row-major order.  Without a shape it
// has one dimension.
func ViewOf[T Element](data []T, shape ...int) View {
	view := View{
		data:  unsafe.Pointer(unsafe.SliceData(data)),
		count: len(data),
		dtype: dtypeOf[T](),
	}
	view.setShape(shape, len(data))
	return view
}

// Scalar returns a view of one element with the shape (1), which single numbers have in
// every language.
func Scalar[T Element](element T) View { return ViewOf([]T{element}) }

// ViewOfBytes returns a view of elements in the machine's own representation.  Use it for
// types that Go lacks, such as [BFloat16].  Without a shape it has one dimension.
func ViewOfBytes(dtype DType, data []byte, shape ...int) View {
	view := View{data: unsafe.Pointer(unsafe.SliceData(data)), dtype: dtype}
	size := dtype.Size()
	switch {
	case size == 0:
		view.fault = fmt.Sprintf("elements of %v cannot be passed as bytes", dtype)
	case len(data)%size != 0:
		view.fault = fmt.Sprintf("%d bytes are not a multiple of the size of %v", len(data), dtype)
	default:
		view.count = len(data) / size
	}
	view.setShape(shape, view.count)
	return view
}

// ViewOfStrings returns a view of text, in UTF-8 and without NUL.  Without a shape it has
// one dimension.
func ViewOfStrings(data []string, shape ...int) View {
	view := View{texts: data, count: len(data), dtype: String}
	view.setShape(shape, len(data))
	return view
}

// Reshape sets the shape to exactly these sizes; without sizes there are no dimensions.
func (v View) Reshape(shape ...int) View {
	v.rank = copy(v.shape[:], shape)
	if len(shape) > raw.MaxRank {
		v.fault = fmt.Sprintf("a shape has at most %d dimensions, not %d", raw.MaxRank, len(shape))
	}
	return v
}

// WithStrides sets the distance in elements between neighbors in each dimension.  All
// elements must lie in the memory of the view, so no stride may be negative.
func (v View) WithStrides(strides ...int) View {
	v.strides = strides
	return v
}

func (v *View) setShape(shape []int, count int) {
	if shape == nil {
		v.shape[0], v.rank = count, 1
		return
	}
	*v = v.Reshape(shape...)
}

// toC checks the view and returns the address of its elements for C; call freeC afterwards.
func (v *View) toC() (data unsafe.Pointer, err error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	if v.dtype == String {
		return raw.NewTexts(v.texts), nil
	}
	return v.data, nil
}

func (v *View) freeC(data unsafe.Pointer) {
	if v.dtype == String {
		raw.FreeTexts(data)
	}
}

func (v *View) sizes() []int { return v.shape[:v.rank] }

func (v *View) check() error {
	if v.fault != "" {
		return invalidArgument(v.fault)
	}
	if v.strides != nil && len(v.strides) != v.rank {
		return v.isWrong("has %d strides", len(v.strides))
	}
	for _, text := range v.texts {
		if err := checkText("text", text); err != nil {
			return err
		}
	}
	elements, err := v.elements()
	if err != nil {
		return err
	}
	if v.strides == nil {
		if elements != v.count {
			return v.isWrong("has %d elements, the data %d", elements, v.count)
		}
		return nil
	}
	return v.checkStrides(elements == 0)
}

// elements returns the number of elements of the shape.
func (v *View) elements() (int, error) {
	elements, overflow := uint(1), uint(0)
	for _, size := range v.sizes() {
		if size < 0 {
			return 0, v.isWrong("has a negative size")
		}
		if size == 0 {
			return 0, nil
		}
		high, low := bits.Mul(elements, uint(size))
		overflow |= high | low>>(bits.UintSize-1)
		elements = low
	}
	if overflow != 0 {
		return 0, v.isWrong("is too large")
	}
	return int(elements), nil
}

// checkStrides checks that the last element lies in the data.
func (v *View) checkStrides(isEmpty bool) error {
	if isEmpty {
		return nil
	}
	last, overflow := uint(0), uint(0)
	for i, size := range v.sizes() {
		if v.strides[i] < 0 {
			return v.isWrong("has a negative stride")
		}
		high, far := bits.Mul(uint(size-1), uint(v.strides[i]))
		sum, carry := bits.Add(last, far, 0)
		overflow |= high | carry | sum>>(bits.UintSize-1)
		last = sum
	}
	if overflow != 0 || last >= uint(v.count) {
		return v.isWrong("with strides %v leads out of the data, which has %d elements",
			slices.Clone(v.strides), v.count)
	}
	return nil
}

func (v *View) isWrong(format string, args ...any) error {
	return invalidArgument(fmt.Sprintf("the shape %v ", slices.Clone(v.sizes())) + fmt.Sprintf(format, args...))
}

func dtypeOf[T Element]() DType {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Complex64:
		return Complex64
	case reflect.Complex128:
		return Complex128
	case reflect.Bool:
		return Bool
	case reflect.Int8:
		return Int8
	case reflect.Int16:
		return Int16
	case reflect.Int32:
		return Int32
	case reflect.Int64:
		return Int64
	case reflect.Uint8:
		return Uint8
	case reflect.Uint16:
		return Uint16
	case reflect.Uint32:
		return Uint32
	case reflect.Uint64:
		return Uint64
	case reflect.Int:
		return [...]DType{Int32, Int64}[strconv.IntSize/64]
	}
	return [...]DType{Uint32, Uint64}[strconv.IntSize/64]
}
