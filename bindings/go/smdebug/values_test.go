package smdebug_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func tensorOf(t testing.TB, trial *smdebug.Trial, name string) *smdebug.Tensor {
	t.Helper()
	tensor := got(trial.Tensor(name))(t)
	t.Cleanup(func() { tensor.Close() })
	return tensor
}

func TestEachValueYieldsAllValuesAndClosesThem(t *testing.T) {
	tensor := tensorOf(t, openTrial(t, record(t, 40, loss)), "loss")
	var seen []*smdebug.Value
	for at, err := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
		must(t, err)
		if number := got(at.Value.Float64())(t); at.Step != int64(len(seen)) || number != 1/float64(1+at.Step) {
			t.Fatalf("step %d has %v", at.Step, number)
		}
		if len(seen) > 0 && !errors.Is(two(seen[len(seen)-1].Bytes()), smdebug.ErrClosed) {
			t.Fatal("the value of the last step is open")
		}
		seen = append(seen, at.Value)
	}
	if len(seen) != 40 || !errors.Is(two(seen[39].Bytes()), smdebug.ErrClosed) {
		t.Fatalf("%d values, or the last is open", len(seen))
	}
}

func TestEachValueTakesARange(t *testing.T) {
	tensor := tensorOf(t, openTrial(t, record(t, 40, loss)), "loss")
	for _, test := range []struct{ first, end, count int64 }{
		{0, 0, 0}, {5, 5, 0}, {7, 3, 0}, {-9, 1, 1}, {3, 20, 17}, {39, math.MaxInt64, 1}, {40, 50, 0},
		{math.MinInt64, math.MinInt64, 0}, {math.MaxInt64, math.MaxInt64, 0}, {0, 33, 33},
	} {
		count := int64(0)
		for at, err := range tensor.EachValue(test.first, test.end, smdebug.Train) {
			must(t, err)
			if wanted := max(test.first, 0) + count; at.Step != wanted {
				t.Fatalf("%v: step %d, not %d", test, at.Step, wanted)
			}
			count++
		}
		if count != test.count {
			t.Errorf("%v: %d steps", test, count)
		}
	}
}

func TestEachValueMayEndEarlyOrPanic(t *testing.T) {
	tensor := tensorOf(t, openTrial(t, record(t, 4, loss)), "loss")
	var kept *smdebug.Value
	for at := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
		kept = at.Value
		break
	}
	if !errors.Is(two(kept.Bytes()), smdebug.ErrClosed) {
		t.Error("the value is open after a break")
	}
	func() {
		defer func() { recover() }()
		for at := range tensor.EachValue(1, math.MaxInt64, smdebug.Train) {
			kept = at.Value
			panic("in the body")
		}
	}()
	if !errors.Is(two(kept.Bytes()), smdebug.ErrClosed) {
		t.Error("the value is open after a panic")
	}
	for at, err := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
		must(t, errors.Join(err, at.Value.Close())) // closing it in the body is allowed
	}
}

func TestEachValueReportsErrors(t *testing.T) {
	path := record(t, 3, func(int64) map[string]smdebug.View {
		return map[string]smdebug.View{"x": smdebug.ViewOf([]float32{1, 2})}
	})
	damaged := got(filepath.Glob(filepath.Join(path, "events", "*", "000000000001_*")))(t)
	must(t, os.WriteFile(damaged[0], []byte("no event file"), 0o600))
	tensor := tensorOf(t, openTrial(t, path), "x")
	var failed, read []int64
	for at, err := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
		if err != at.Err || (err == nil) == (at.Value == nil) {
			t.Fatal(at, err)
		}
		if err != nil {
			failed = append(failed, at.Step)
		} else {
			read = append(read, at.Step)
		}
	}
	if !slices.Equal(failed, []int64{1}) || !slices.Equal(read, []int64{0, 2}) {
		t.Errorf("failed %v, read %v", failed, read)
	}

	must(t, tensor.Close())
	count := 0
	for at, err := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
		if !errors.Is(err, smdebug.ErrClosed) || at.Step != -1 || at.Err != err {
			t.Error(at, err)
		}
		count++
	}
	if count != 1 {
		t.Errorf("a closed tensor yields %d times", count)
	}
}

func TestEachValueReadsOfOneWorker(t *testing.T) {
	tensor := tensorOf(t, openTrial(t, record(t, 2, loss)), "loss")
	for _, err := range tensor.EachValue(0, 1, smdebug.Train, smdebug.FromWorker("worker_7")) {
		mustFail(t, err, smdebug.ErrWorkerUnknown)
	}
	for at, err := range tensor.EachValue(0, 1, smdebug.Train, smdebug.FromWorker("a\x00b")) {
		if mustFail(t, err, smdebug.ErrInvalidArgument); at.Step != -1 {
			t.Error(at)
		}
	}
}

func TestRead(t *testing.T) {
	trial := openTrial(t, record(t, 2, func(step int64) map[string]smdebug.View {
		return map[string]smdebug.View{"x": smdebug.ViewOf([]float32{float32(step), 2})}
	}))
	elements := got(smdebug.Read[float32](trial, "x", 1))(t)
	if !slices.Equal(elements, []float32{1, 2}) {
		t.Error(elements)
	}
	got(smdebug.Read[float32](trial, "x", 1, smdebug.FromWorker("worker_0")))(t)
	mustFail(t, two(smdebug.Read[float64](trial, "x", 1)), smdebug.ErrUnsupported)
	mustFail(t, two(smdebug.Read[float32](trial, "y", 1)), smdebug.ErrTensorUnavailable)
	mustFail(t, two(smdebug.Read[float32](trial, "x", 2)), smdebug.ErrStepUnavailable)
	must(t, trial.Close())
	mustFail(t, two(smdebug.Read[float32](trial, "x", 1)), smdebug.ErrWrongState)
}
