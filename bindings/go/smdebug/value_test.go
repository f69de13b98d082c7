package smdebug_test

import (
	"math"
	"slices"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func TestConversions(t *testing.T) {
	infinity, nan := math.Inf(1), math.NaN()
	for name, test := range map[string]struct {
		view     smdebug.View
		float64s []float64 // nil: unsupported, as for the other two
		float32s bool
		int64s   []int64
	}{
		"float64": {smdebug.ViewOf([]float64{1e300, -0.1}), []float64{1e300, -0.1}, false, nil},
		"float32": {smdebug.ViewOf([]float32{-0.5, 3}), []float64{-0.5, 3}, true, nil},
		"float16": {
			smdebug.ViewOfBytes(smdebug.Float16, []byte{0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b, 0x00, 0xfc, 0x01, 0x7e}),
			[]float64{1, -2, math.Ldexp(1, -24), 65504, -infinity, nan}, true, nil,
		},
		"bfloat16": {
			smdebug.ViewOfBytes(smdebug.BFloat16, []byte{0x80, 0x3f, 0x00, 0xc0, 0x80, 0x7f, 0xc0, 0x7f}),
			[]float64{1, -2, infinity, nan}, true, nil,
		},
		"float8_e5m2": {
			smdebug.ViewOfBytes(smdebug.Float8E5M2, []byte{0x3c, 0xc0, 0x01, 0x7b, 0x7c, 0xff, 0x00}),
			[]float64{1, -2, math.Ldexp(1, -16), 57344, infinity, nan, 0}, true, nil,
		},
		"float8_e4m3fn": {
			smdebug.ViewOfBytes(smdebug.Float8E4M3FN, []byte{0x38, 0xc0, 0x01, 0x7e, 0x7f, 0xff, 0x80}),
			[]float64{1, -2, math.Ldexp(1, -9), 448, nan, nan, 0}, true, nil,
		},
		"int8":      {smdebug.ViewOf([]int8{-128, 127}), []float64{-128, 127}, true, []int64{-128, 127}},
		"int16":     {smdebug.ViewOf([]int16{-32768, 1}), []float64{-32768, 1}, true, []int64{-32768, 1}},
		"int32":     {smdebug.ViewOf([]int32{math.MinInt32}), []float64{math.MinInt32}, false, []int64{math.MinInt32}},
		"int64":     {smdebug.ViewOf([]int64{math.MinInt64}), []float64{math.MinInt64}, false, []int64{math.MinInt64}},
		"uint8":     {smdebug.ViewOf([]uint8{255}), []float64{255}, true, []int64{255}},
		"uint16":    {smdebug.ViewOf([]uint16{65535}), []float64{65535}, true, []int64{65535}},
		"uint32":    {smdebug.ViewOf([]uint32{math.MaxUint32}), []float64{math.MaxUint32}, false, []int64{math.MaxUint32}},
		"uint64":    {smdebug.ViewOf([]uint64{1 << 63}), []float64{1 << 63}, false, nil},
		"bool":      {smdebug.ViewOf([]bool{true, false}), []float64{1, 0}, true, []int64{1, 0}},
		"odd bools": {smdebug.ViewOfBytes(smdebug.Bool, []byte{2, 0}), []float64{1, 0}, true, []int64{1, 0}},
		"complex64": {smdebug.ViewOf([]complex64{1}), nil, false, nil},
		"string":    {smdebug.ViewOfStrings([]string{"1"}), nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			value := saved(t, test.view)
			doubles, err := value.Float64s()
			check(t, doubles, err, test.float64s, test.float64s != nil)
			singles, err := value.Float32s()
			var wanted []float32
			for _, number := range test.float64s {
				wanted = append(wanted, float32(number))
			}
			check(t, singles, err, wanted, test.float32s)
			integers, err := value.Int64s()
			check(t, integers, err, test.int64s, test.int64s != nil)
			if test.float64s != nil {
				first := got(saved(t, test.view).Reduce("max"))(t)
				if highest := slices.Max(test.float64s); !same(first, highest) {
					t.Errorf("the library finds the maximum %v, Go %v", first, highest)
				}
			}
		})
	}
}

func same[T int64 | float32 | float64](a, b T) bool { return a == b || (a != a && b != b) }

func check[T int64 | float32 | float64](t *testing.T, found []T, err error, wanted []T, isSupported bool) {
	t.Helper()
	if !isSupported {
		mustFail(t, err, smdebug.ErrUnsupported)
	} else if err != nil || !slices.EqualFunc(found, wanted, same) {
		t.Errorf("got %v (%v), want %v", found, err, wanted)
	}
}

func TestBoolsOfAFileAreBools(t *testing.T) {
	value := saved(t, smdebug.ViewOfBytes(smdebug.Bool, []byte{0, 1, 2, 255}))
	bools := got(smdebug.Elements[bool](value))(t)
	for i, wanted := range []bool{false, true, true, true} {
		if bools[i] != wanted {
			t.Error(bools)
		}
	}
}

func TestReductions(t *testing.T) {
	value := saved(t, smdebug.ViewOf([]float32{-3, 1, 2, 4}, 2, 2))
	for name, wanted := range map[string]float64{
		"min": -3, "max": 4, "mean": 1, "median": 1.5, "sum": 4, "prod": -24, "abs_sum": 10, "abs_mean": 2.5,
		"l1": 10, "l2": math.Sqrt(30), "variance": 6.5, "abs_min": 1,
	} {
		if found := got(value.Reduce(name))(t); math.Abs(found-wanted) > 1e-6 {
			t.Errorf("%s is %v, not %v", name, found, wanted)
		}
	}
	mean := got(value.ReduceValue("mean"))(t)
	if mean.DType() != smdebug.Float32 || len(mean.Shape()) != 0 || mean.Len() != 1 {
		t.Error(mean.DType(), mean.Shape())
	}
	for _, name := range []string{"mode", "", "abs_", "mean\x00"} {
		_, err := value.Reduce(name)
		mustFail(t, err, smdebug.ErrInvalidArgument)
	}
	_, err := value.Float64()
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = value.Strings()
	mustFail(t, err, smdebug.ErrUnsupported)
	complexes := saved(t, smdebug.ViewOf([]complex128{1 + 4i, 3}))
	total := got(smdebug.Elements[complex128](got(complexes.ReduceValue("sum"))(t)))(t)
	if total[0] != 4+4i {
		t.Error(total)
	}
}

func TestBytesAreNotCopied(t *testing.T) {
	value := saved(t, smdebug.ViewOf(make([]float64, 1000)))
	first, second := got(value.Bytes())(t), got(value.Bytes())(t)
	if &first[0] != &second[0] || len(first) != 8000 || cap(first) != 8000 {
		t.Error("there is a copy")
	}
	allocations := testing.AllocsPerRun(100, func() { value.Bytes() })
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
