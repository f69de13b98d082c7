package smdebug_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func figuresOnly() smdebug.HookOptions {
	options := everything()
	options.ReductionConfig = &smdebug.ReductionConfig{Reductions: []string{"mean", "std"}, SaveShape: true}
	return options
}

// lateStep begins and ends a step that waits for "w".
func lateStep(t testing.TB, hook *smdebug.Hook) int64 {
	t.Helper()
	step := got(hook.BeginStep())(t)
	if got(hook.Expect("w"))(t) == 0 {
		t.Error("w is not expected")
	}
	must(t, hook.EndStep())
	return step
}

func TestGivenStatisticsAreSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, figuresOnly())
	statistics := smdebug.Statistics{
		DType: smdebug.Float32, Shape: []int{2, 3},
		Figures: map[smdebug.Figure]float64{smdebug.FigureMean: 0.5, smdebug.FigureVariance: 4},
		Counts:  &smdebug.Counts{Zero: 6},
		Sample:  smdebug.ViewOf([]float32{1, 2}),
	}
	mustFail(t, hook.SaveStatistics("w", statistics), smdebug.ErrWrongState)
	must(t, hook.Step(smdebug.Global, func(int64) error {
		lacking, unknown, large := statistics, statistics, statistics
		lacking.Figures = map[smdebug.Figure]float64{smdebug.FigureMean: 0.5}
		failure := mustFail(t, hook.SaveStatistics("w", lacking), smdebug.ErrInvalidArgument)
		if failure.Detail("reduction") != "std" {
			t.Error(failure)
		}
		unknown.Figures = map[smdebug.Figure]float64{smdebug.FigureMean | smdebug.FigureMin: 1}
		mustFail(t, hook.SaveStatistics("w", unknown), smdebug.ErrInvalidArgument)
		large.Shape = make([]int, 33)
		mustFail(t, hook.SaveStatistics("w", large), smdebug.ErrInvalidArgument)
		for _, sample := range []smdebug.View{
			smdebug.ViewOf([]float64{1}), smdebug.ViewOf([]float32{1}, 1, 1), smdebug.ViewOf(make([]float32, 7)),
		} {
			refused := statistics
			refused.Sample = sample
			mustFail(t, hook.SaveStatistics("w", refused), smdebug.ErrInvalidArgument)
		}
		return hook.SaveStatistics("w", statistics)
	}))
	must(t, hook.Close())
	tensor := got(openTrial(t, path).Tensor("w"))(t)
	if std := got(tensor.Reduction(0, smdebug.Global, "std"))(t); std != 2 {
		t.Error(std)
	}
}

func TestAStepWaitsForItsTensors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	var steps []int64
	for range 3 {
		steps = append(steps, lateStep(t, hook))
	}
	must(t, hook.Flush(context.Background()))
	if written := hook.Count("steps_written"); written != 0 {
		t.Error(written)
	}
	var senders sync.WaitGroup
	for _, step := range steps {
		senders.Add(1)
		go func() {
			defer senders.Done()
			if err := hook.SaveLate("w", step, smdebug.ViewOf([]float64{float64(step), math.NaN()})); err != nil {
				t.Error(err)
			}
		}()
	}
	senders.Wait()
	mustFail(t, hook.SaveLate("w", 0, smdebug.Scalar(1)), smdebug.ErrWrongState)
	must(t, hook.Close())
	if found := got(openTrial(t, path).Steps(smdebug.Global))(t); !slices.Equal(found, steps) {
		t.Error(found)
	}
}

func TestExpectTellsWhatIsSelected(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), figuresOnly())
	mustFail(t, two(hook.Expect("w")), smdebug.ErrWrongState)
	step := got(hook.BeginStep())(t)
	mustFail(t, two(hook.Expect("w\x00")), smdebug.ErrInvalidArgument)
	parts := got(hook.Expect("w"))(t)
	if parts.HasValue() || !parts.HasShape() || parts.HasStatistics() ||
		!parts.Has(smdebug.FigureVariance) || parts.Has(smdebug.FigureMin) {
		t.Errorf("%#x", parts)
	}
	must(t, hook.EndStep())
	mustFail(t, hook.SaveLate("w", step, smdebug.View{}), smdebug.ErrInvalidArgument)
	must(t, hook.SaveLateStatistics("w", step, smdebug.Statistics{
		DType: smdebug.Float32, Shape: []int{0},
		Figures: map[smdebug.Figure]float64{smdebug.FigureMean: math.NaN(), smdebug.FigureVariance: math.NaN()},
	}))
	mustFail(t, hook.Forgo("w", step), smdebug.ErrWrongState)
	must(t, hook.Close())
	mustFail(t, two(hook.Expect("w")), smdebug.ErrWrongState)
}

func TestAForgoneTensorIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	must(t, hook.Forgo("w", lateStep(t, hook)))
	lateStep(t, hook)
	failure := mustFail(t, hook.Close(), smdebug.ErrTensorUnavailable)
	if failure.Detail("tensor") != "w" || failure.Detail("step") != "1" {
		t.Error(failure)
	}
}
