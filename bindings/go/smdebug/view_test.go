package smdebug_test

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

type celsius float32

func testElements[T smdebug.Element](t *testing.T, dtype smdebug.DType, elements ...T) {
	t.Run(dtype.String(), func(t *testing.T) {
		value := saved(t, smdebug.ViewOf(elements))
		if value.DType() != dtype || value.Len() != len(elements) || !slices.Equal(value.Shape(), []int{len(elements)}) {
			t.Errorf("a %v of shape %v", value.DType(), value.Shape())
		}
		if found := got(smdebug.Elements[T](value))(t); !slices.Equal(found, elements) {
			t.Errorf("%v was saved, %v read", elements, found)
		}
	})
}

func TestElementsOfEveryType(t *testing.T) {
	testElements[float32](t, smdebug.Float32, 1.5, -0.25, math.MaxFloat32, float32(math.Inf(-1)))
	testElements[float64](t, smdebug.Float64, 1.5, math.SmallestNonzeroFloat64)
	testElements[int8](t, smdebug.Int8, -128, 127)
	testElements[int16](t, smdebug.Int16, math.MinInt16, 1)
	testElements[int32](t, smdebug.Int32, math.MinInt32, 1)
	testElements[int64](t, smdebug.Int64, math.MinInt64, 1)
	testElements[int](t, smdebug.Int64, math.MinInt64, 1)
	testElements[uint8](t, smdebug.Uint8, 255, 1)
	testElements[uint16](t, smdebug.Uint16, math.MaxUint16, 1)
	testElements[uint32](t, smdebug.Uint32, math.MaxUint32, 1)
	testElements[uint64](t, smdebug.Uint64, math.MaxUint64, 1)
	testElements[uint](t, smdebug.Uint64, math.MaxUint64, 1)
	testElements(t, smdebug.Bool, true, false, true)
	testElements[complex64](t, smdebug.Complex64, 1-2i)
	testElements[complex128](t, smdebug.Complex128, 1-2i, 3)
	testElements[celsius](t, smdebug.Float32, -273.15)
}

func TestElementsAreNotConverted(t *testing.T) {
	value := saved(t, smdebug.ViewOf([]float32{1}))
	_, err := smdebug.Elements[float64](value)
	if failure := mustFail(t, err, smdebug.ErrUnsupported); !strings.Contains(failure.Message, "float32") {
		t.Error(failure)
	}
}

func TestBytesOfTypesThatGoLacks(t *testing.T) {
	for _, dtype := range []smdebug.DType{smdebug.Float16, smdebug.BFloat16, smdebug.Float8E5M2, smdebug.Float8E4M3FN} {
		data := []byte{0x00, 0x38, 0x80, 0xb8}
		value := saved(t, smdebug.ViewOfBytes(dtype, data))
		if found := got(value.Bytes())(t); value.DType() != dtype || !bytes.Equal(found, data) {
			t.Errorf("%v: %x", value.DType(), found)
		}
		if value.Len()*dtype.Size() != len(data) {
			t.Error(value.Shape())
		}
	}
}

func TestText(t *testing.T) {
	texts := []string{"loss", "", "Größe", "層/😀"}
	value := saved(t, smdebug.ViewOfStrings(texts, 2, 2))
	if found := got(value.Strings())(t); !slices.Equal(found, texts) || !slices.Equal(value.Shape(), []int{2, 2}) {
		t.Error(found, value.Shape())
	}
	if data := got(value.Bytes())(t); len(data) != 0 {
		t.Error(data)
	}
	if found := got(saved(t, smdebug.ViewOfStrings(nil)).Strings())(t); len(found) != 0 {
		t.Error(found)
	}
}

func TestShapes(t *testing.T) {
	data := []int32{0, 1, 2, 3, 4, 5}
	ones := slices.Repeat([]int{1}, 32)
	for name, test := range map[string]struct {
		view     smdebug.View
		shape    []int
		elements []int32
	}{
		"flat":          {smdebug.ViewOf(data), []int{6}, data},
		"two":           {smdebug.ViewOf(data, 2, 3), []int{2, 3}, data},
		"reshaped":      {smdebug.ViewOf(data, 2, 3).Reshape(3, 1, 2), []int{3, 1, 2}, data},
		"one":           {smdebug.Scalar(int32(7)), []int{1}, []int32{7}},
		"no dimensions": {smdebug.ViewOf(data[:1]).Reshape(), []int{}, data[:1]},
		"empty":         {smdebug.ViewOf([]int32{}, 0, math.MaxInt), []int{0, math.MaxInt}, []int32{}},
		"nil":           {smdebug.ViewOf[int32](nil), []int{0}, []int32{}},
		"32 dimensions": {smdebug.ViewOf(data[:1], ones...), ones, data[:1]},
		"transposed":    {smdebug.ViewOf(data).Reshape(3, 2).WithStrides(1, 3), []int{3, 2}, []int32{0, 3, 1, 4, 2, 5}},
		"column":        {smdebug.ViewOf(data[1:]).Reshape(2).WithStrides(3), []int{2}, []int32{1, 4}},
		"broadcast":     {smdebug.ViewOf(data[:2]).Reshape(2, 2).WithStrides(0, 1), []int{2, 2}, []int32{0, 1, 0, 1}},
		"empty strided": {smdebug.ViewOf(data[:0]).Reshape(0, 4).WithStrides(4, 1), []int{0, 4}, []int32{}},
	} {
		t.Run(name, func(t *testing.T) {
			value := saved(t, test.view)
			if !slices.Equal(value.Shape(), test.shape) {
				t.Error(value.Shape())
			}
			if found := got(smdebug.Elements[int32](value))(t); !slices.Equal(found, test.elements) {
				t.Error(found)
			}
		})
	}
}

func TestBadViews(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), everything())
	got(hook.BeginStep())(t)
	data := make([]float32, 6)
	for name, test := range map[string]struct {
		view smdebug.View
		says string
	}{
		"too few":          {smdebug.ViewOf(data, 2, 2), "[2 2] has 4 elements, the data 6"},
		"too many":         {smdebug.ViewOf(data, 7), "[7] has 7 elements, the data 6"},
		"negative":         {smdebug.ViewOf(data, -2, -3), "negative size"},
		"overflow":         {smdebug.ViewOf(data, math.MaxInt, math.MaxInt, 6), "too large"},
		"overflow to few":  {smdebug.ViewOf(data, 1<<32, 1<<32, 6), "too large"},
		"33 dimensions":    {smdebug.ViewOf(data, make([]int, 33)...), "at most 32 dimensions"},
		"strides":          {smdebug.ViewOf(data, 2, 3).WithStrides(3), "1 strides"},
		"no strides":       {smdebug.ViewOf(data, 2, 3).WithStrides([]int{}...), "0 strides"},
		"far stride":       {smdebug.ViewOf(data, 2, 3).WithStrides(4, 1), "leads out of the data, which has 6"},
		"farther stride":   {smdebug.ViewOf(data, 2, 3).WithStrides(math.MaxInt, math.MaxInt), "leads out"},
		"negative stride":  {smdebug.ViewOf(data, 6).WithStrides(-1), "negative stride"},
		"no data":          {smdebug.ViewOf[float32](nil, 1).WithStrides(0), "leads out"},
		"half elements":    {smdebug.ViewOfBytes(smdebug.Float16, make([]byte, 3)), "3 bytes"},
		"strings as bytes": {smdebug.ViewOfBytes(smdebug.String, make([]byte, 8)), "cannot be passed as bytes"},
		"no such type":     {smdebug.ViewOfBytes(99, make([]byte, 8)), "DType(99)"},
		"NUL":              {smdebug.ViewOfStrings([]string{"a\x00b"}), "NUL"},
		"nothing":          {smdebug.View{}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := mustFail(t, hook.Save("x", test.view), smdebug.ErrInvalidArgument)
			if !strings.Contains(failure.Message, test.says) {
				t.Errorf("the message does not speak of %q: %v", test.says, failure)
			}
			mustFail(t, hook.SaveCustom("x", test.view), smdebug.ErrInvalidArgument)
		})
	}
}

func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	names := []string{"ä/層", strings.Repeat("n", 254), strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("n", 5000)}
	got(hook.BeginStep())(t)
	for _, name := range names {
		must(t, hook.Save(name, smdebug.Scalar(int32(len(name)))))
	}
	for _, name := range []string{"", "a\x00b", "\xff"} {
		mustFail(t, hook.Save(name, smdebug.Scalar(1)), smdebug.ErrInvalidArgument)
	}
	if hook.Wants("a\x00b") {
		t.Error("a bad name is wanted")
	}
	must(t, hook.Close())
	trial := openTrial(t, path)
	found := got(trial.TensorNames())(t)
	slices.Sort(names)
	if !slices.Equal(found, names) {
		t.Error(found)
	}
	for _, name := range names {
		if length := got(valueOf(t, trial, name, 0).Float64())(t); int(length) != len(name) {
			t.Errorf("%d for %d", int(length), len(name))
		}
	}
}
