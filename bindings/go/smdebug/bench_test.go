package smdebug_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func BenchmarkSave16Floats(b *testing.B) {
	benchmarkSave(b, everything())
}

func BenchmarkSaveUnwanted(b *testing.B) {
	benchmarkSave(b, smdebug.HookOptions{})
}

func benchmarkSave(b *testing.B, options smdebug.HookOptions) {
	hook := newHook(b, filepath.Join(b.TempDir(), "run"), options)
	floats := make([]float32, 16)
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("gradient/layer_%d", i)
	}
	b.ReportAllocs()
	inStep := 0
	got(hook.BeginStep())(b)
	for b.Loop() {
		if err := hook.Save(names[inStep], smdebug.ViewOf(floats, 16)); err != nil {
			b.Fatal(err)
		}
		if inStep++; inStep == len(names) {
			b.StopTimer()
			must(b, hook.EndStep())
			must(b, hook.Flush(context.Background()))
			got(hook.BeginStep())(b)
			inStep = 0
			b.StartTimer()
		}
	}
}

func BenchmarkBytesOf1MiB(b *testing.B) {
	path := record(b, 1, func(int64) map[string]smdebug.View {
		return map[string]smdebug.View{"x": smdebug.ViewOf(make([]float32, 1<<18))}
	})
	value := valueOf(b, openTrial(b, path), "x", 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := value.Bytes(); err != nil {
			b.Fatal(err)
		}
	}
}

// Training saves tensors all the time, so saving must not allocate Go memory.
func TestSavingNeedsNoMemoryOfGo(t *testing.T) {
	hook := newHook(t, filepath.Join(t.TempDir(), "run"), everything())
	floats := make([]float32, 16)
	got(hook.BeginStep())(t)
	allocations := testing.AllocsPerRun(1000, func() {
		if err := hook.Save("layer1.weight", smdebug.ViewOf(floats, 4, 4)); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
