package smdebug

import (
	"fmt"
	"math/bits"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Figure is one of the [Statistics] of a tensor.
type Figure uint32

// The figures of the elements, and of their absolute values.  Variances have ddof 0; L1 is the
// sum of the absolute values, L2 the root of the sum of squares.
const (
	FigureMin Figure = 1 << iota
	FigureMax
	FigureMedian
	FigureMean
	FigureVariance
	FigureSum
	FigureProd
	FigureL1
	FigureL2
	FigureAbsMin
	FigureAbsMax
	FigureAbsMedian
	FigureAbsMean
	FigureAbsVariance
)

// Counts are the numbers of NaN, infinite and zero elements.
type Counts struct{ NaN, Inf, Zero int64 }

// Statistics are figures of a tensor of real numbers that the caller computed, for example on an
// accelerator.  A NaN element makes each figure NaN.  The standard deviation and the other
// reductions follow from the figures.
type Statistics struct {
	DType   DType
	Shape   []int
	Figures map[Figure]float64
	Counts  *Counts // nil: not known
	// Elements of the type DType in one dimension, spread evenly, for rules that compare
	// elements.  The zero View: none.
	Sample View
}

// SaveStatistics saves the selected reductions and the shape of a tensor in the open step from
// figures that the caller computed.  Attached rules get the figures too, and statistics of the
// elements if the counts, FigureVariance, FigureSum, FigureL1, FigureL2, FigureMin and
// FigureMax are given.
//
// It fails with [ErrInvalidArgument] if a selected reduction is not given, and with
// [ErrUnsupported] if a collection selects the raw value.
func (h *Hook) SaveStatistics(name string, statistics Statistics) error {
	return h.saveStatistics(name, nil, statistics)
}

func (h *Hook) saveStatistics(name string, lateStep *int64, statistics Statistics) error {
	handle, err := h.handle.acquire()
	if err != nil {
		return err
	}
	defer h.handle.release()
	if err := checkText("tensor", name); err != nil {
		return err
	}
	given, err := statistics.toRaw(name)
	if err != nil {
		return err
	}
	return take(raw.SaveStatistics(handle, name, lateStep, &given))
}

func (s *Statistics) toRaw(name string) (raw.Statistics, error) {
	of := raw.Statistics{DType: int32(s.DType), Sizes: s.Shape}
	if len(s.Shape) > raw.MaxRank {
		return of, invalidArgument(fmt.Sprintf("'%s': a tensor has at most %d dimensions", name, raw.MaxRank))
	}
	for figure, number := range s.Figures {
		place := bits.TrailingZeros32(uint32(figure))
		if bits.OnesCount32(uint32(figure)) != 1 || place >= raw.FigureCount {
			return of, invalidArgument(fmt.Sprintf("'%s': %#x is no figure", name, uint32(figure)))
		}
		of.Given |= uint32(figure)
		of.Figures[place] = number
	}
	if s.Counts != nil {
		of.Given |= raw.HasCounts
		of.Counts = [3]int64{s.Counts.NaN, s.Counts.Inf, s.Counts.Zero}
	}
	if s.Sample.dtype == 0 {
		return of, nil
	}
	if s.Sample.dtype != s.DType || s.Sample.rank != 1 || s.Sample.strides != nil || s.Sample.fault != "" {
		return of, invalidArgument(fmt.Sprintf("'%s': the sample must be compact, of type %v and one dimension", name, s.DType))
	}
	of.Sample, of.SampleCount = s.Sample.data, s.Sample.count
	return of, nil
}
