package smdebug

import (
	"strconv"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Mode is the purpose of a step, such as training or evaluation.
type Mode int32

// The modes.  Each mode counts its own steps from 0.  Global counts the steps of all modes
// together, and is the mode of a job that sets none.
const (
	AnyMode Mode = 0 // every mode, in functions that accept it
	Train   Mode = 1
	Eval    Mode = 2
	Predict Mode = 3
	Global  Mode = 4
)

var modes = [...]Mode{Train, Eval, Predict, Global}

// String returns the name of the mode, such as "TRAIN".
func (m Mode) String() string {
	if m == AnyMode {
		return "ANY"
	}
	return nameOf("Mode", raw.Smd_mode_name(int(m)), int(m))
}

// DType is the type of a tensor's elements.
type DType int32

// The element types.
const (
	Float16      DType = 1
	Float32      DType = 2
	Float64      DType = 3
	BFloat16     DType = 4
	Float8E5M2   DType = 5
	Float8E4M3FN DType = 6
	Int8         DType = 10
	Int16        DType = 11
	Int32        DType = 12
	Int64        DType = 13
	Uint8        DType = 20
	Uint16       DType = 21
	Uint32       DType = 22
	Uint64       DType = 23
	Bool         DType = 30
	Complex64    DType = 40
	Complex128   DType = 41
	String       DType = 50
)

// String returns the name of the type, such as "float32".
func (d DType) String() string { return nameOf("DType", raw.Smd_dtype_name(int(d)), int(d)) }

// Size returns the number of bytes of one element; 0 for String.
func (d DType) Size() int { return int(raw.Smd_dtype_size(int(d))) }

// StepState is the availability of a step.
type StepState int32

// The states of a step.
const (
	StepUnavailable StepState = 0 // it was not saved and never will be
	StepAvailable   StepState = 1
	StepNotYet      StepState = 2 // the job may still save it
)

// String returns the name of the state, such as "AVAILABLE".
func (s StepState) String() string {
	switch s {
	case StepUnavailable:
		return "UNAVAILABLE"
	case StepAvailable:
		return "AVAILABLE"
	case StepNotYet:
		return "NOT_YET"
	}
	return nameOf("StepState", "", int(s))
}

func nameOf(kind, name string, number int) string {
	if name != "" {
		return name
	}
	return kind + "(" + strconv.Itoa(number) + ")"
}
