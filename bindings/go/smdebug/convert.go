package smdebug

import (
	"encoding/binary"
	"math"
)

var machine = binary.NativeEndian

// Float64s returns a copy of the elements as float64.  It converts every floating type,
// integers and bools (0 and 1).  Integers of 64 bits are rounded to the nearest float64;
// all other conversions are exact.
func (v *Value) Float64s() ([]float64, error) {
	if v.dtype == Float64 {
		return Elements[float64](v)
	}
	decode := decoders[v.dtype].float64
	if decode == nil {
		return nil, v.isNot("float64")
	}
	return convert(v, decode)
}

// Float32s returns a copy of the elements as float32.  It converts the types whose every
// element is exactly a float32: the floating types up to float32, integers up to 16 bits,
// and bools (0 and 1).
func (v *Value) Float32s() ([]float32, error) {
	if v.dtype == Float32 {
		return Elements[float32](v)
	}
	d := decoders[v.dtype]
	if d.float64 == nil || !d.fitsFloat32 {
		return nil, v.isNot("float32")
	}
	return convert(v, func(element []byte) float32 { return float32(d.float64(element)) })
}

// Int64s returns a copy of the elements as int64.  It converts all integers except uint64,
// and bools (0 and 1).
func (v *Value) Int64s() ([]int64, error) {
	if v.dtype == Int64 {
		return Elements[int64](v)
	}
	decode := decoders[v.dtype].int64
	if decode == nil {
		return nil, v.isNot("int64")
	}
	return convert(v, decode)
}

func convert[T any](v *Value, decode func(element []byte) T) ([]T, error) {
	return copyAs(v, func(from []byte) []T {
		size := v.dtype.Size()
		to := make([]T, len(from)/size)
		for i := range to {
			to[i] = decode(from[i*size:])
		}
		return to
	})
}

// decoder reads one element from the start of the bytes.  A nil function marks a conversion
// that would lose data.
type decoder struct {
	float64     func([]byte) float64
	int64       func([]byte) int64
	fitsFloat32 bool
}

var decoders = map[DType]decoder{
	Float64: {float64: func(b []byte) float64 { return math.Float64frombits(machine.Uint64(b)) }},
	Float32: {fitsFloat32: true, float64: func(b []byte) float64 {
		return float64(math.Float32frombits(machine.Uint32(b)))
	}},
	BFloat16: {fitsFloat32: true, float64: func(b []byte) float64 {
		return float64(math.Float32frombits(uint32(machine.Uint16(b)) << 16))
	}},
	Float16:    {fitsFloat32: true, float64: func(b []byte) float64 { return half(machine.Uint16(b)) }},
	Float8E5M2: {fitsFloat32: true, float64: func(b []byte) float64 { return half(uint16(b[0]) << 8) }},
	Float8E4M3FN: {fitsFloat32: true, float64: func(b []byte) float64 {
		if b[0]&0x7f == 0x7f {
			return math.NaN()
		}
		return small(uint(b[0]), 4, 3)
	}},
	Int8:  integer(func(b []byte) int64 { return int64(int8(b[0])) }, true),
	Int16: integer(func(b []byte) int64 { return int64(int16(machine.Uint16(b))) }, true),
	Int32: integer(func(b []byte) int64 { return int64(int32(machine.Uint32(b))) }, false),
	Int64: integer(func(b []byte) int64 { return int64(machine.Uint64(b)) }, false),

	Uint8:  integer(func(b []byte) int64 { return int64(b[0]) }, true),
	Uint16: integer(func(b []byte) int64 { return int64(machine.Uint16(b)) }, true),
	Uint32: integer(func(b []byte) int64 { return int64(machine.Uint32(b)) }, false),
	Uint64: {float64: func(b []byte) float64 { return float64(machine.Uint64(b)) }},
	Bool:   integer(func(b []byte) int64 { return int64(min(b[0], 1)) }, true),
}

func integer(decode func([]byte) int64, fitsFloat32 bool) decoder {
	return decoder{
		int64:       decode,
		float64:     func(b []byte) float64 { return float64(decode(b)) },
		fitsFloat32: fitsFloat32,
	}
}

// half decodes an IEEE number of 16 bits.
func half(bits uint16) float64 {
	if bits&0x7c00 != 0x7c00 {
		return small(uint(bits), 5, 10)
	}
	if bits&0x3ff != 0 {
		return math.NaN()
	}
	return math.Copysign(math.Inf(1), 1-float64(bits>>15)*2)
}

// small decodes a finite number with a sign and the given numbers of exponent and fraction
// bits.
func small(bits, exponentBits, fractionBits uint) float64 {
	bias := 1<<(exponentBits-1) - 1
	exponent := int(bits >> fractionBits & (1<<exponentBits - 1))
	fraction := float64(bits&(1<<fractionBits-1)) / float64(uint(1)<<fractionBits)
	magnitude := math.Ldexp(fraction, 1-bias)
	if exponent != 0 {
		magnitude = math.Ldexp(1+fraction, exponent-bias)
	}
	return math.Copysign(magnitude, 1-float64(bits>>(exponentBits+fractionBits)&1)*2)
}
