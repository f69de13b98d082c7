package raw

/*
#include <smdebug.h>

static uintptr_t expect(uintptr_t hook, const char *name, uint32_t *parts) {
  return (uintptr_t)smd_hook_expect((smd_hook *)hook, name, parts);
}

static uintptr_t save_late(uintptr_t hook, const char *name, int64_t step, const void *data,
                           const int64_t *shape, const int64_t *strides, int32_t ndim,
                           smd_dtype dtype) {
  const smd_tensor_view view = {sizeof(view), data, shape, strides, ndim, dtype};
  return (uintptr_t)smd_hook_save_late((smd_hook *)hook, name, step, &view);
}

// In the order of their bits.
static void set_figures(smd_statistics *to, const double *figures) {
  double *const each[] = {&to->min,        &to->max,     &to->median,     &to->mean,
                          &to->variance,   &to->sum,     &to->prod,       &to->l1,
                          &to->l2,         &to->abs_min, &to->abs_max,    &to->abs_median,
                          &to->abs_mean,   &to->abs_variance};
  for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); ++i) *each[i] = figures[i];
}

static uintptr_t save_statistics(uintptr_t hook, const char *name, const int64_t *late_step,
                                 const int64_t *shape, int32_t ndim, smd_dtype dtype,
                                 const void *sample, int64_t sample_count, uint32_t given,
                                 const double *figures, const int64_t *counts) {
  smd_statistics statistics = SMD_STATISTICS_INIT;
  statistics.shape = shape;
  statistics.ndim = ndim;
  statistics.dtype = dtype;
  statistics.sample = sample;
  statistics.sample_count = sample_count;
  statistics.given = given;
  statistics.nan_count = counts[0];
  statistics.inf_count = counts[1];
  statistics.zero_count = counts[2];
  set_figures(&statistics, figures);
  if (late_step == NULL) {
    return (uintptr_t)smd_hook_save_statistics((smd_hook *)hook, name, &statistics);
  }
  return (uintptr_t)smd_hook_save_late_statistics((smd_hook *)hook, name, *late_step, &statistics);
}
*/
import "C"

import "unsafe"

// FigureCount is the number of figures in Statistics.
const FigureCount = 14

// Bits of Statistics.Given and of the parts that Expect returns.
const (
	HasCounts       = C.SMD_HAS_COUNTS
	WantsValue      = C.SMD_WANTS_VALUE
	WantsShape      = C.SMD_WANTS_SHAPE
	WantsStatistics = C.SMD_WANTS_STATISTICS
)

// Statistics are the fields of smd_statistics; figures are in the order of their bits.
type Statistics struct {
	DType       int32
	Sizes       []int
	Sample      unsafe.Pointer
	SampleCount int
	Given       uint32
	Figures     [FigureCount]float64
	Counts      [3]int64
}

// Expect is smd_hook_expect.
func Expect(hook Smd_hook, name string) (parts uint32, err Smd_error) {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	l.parts = 0
	failed := C.expect(C.uintptr_t(hook.Swigcptr()), l.text(name), &l.parts)
	return uint32(l.parts), SwigcptrSmd_error(failed)
}

// SaveLate is smd_hook_save_late, of what Save takes.
func SaveLate(hook Smd_hook, name string, step int64, data unsafe.Pointer, dtype int32, sizes, steps []int) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, strides := l.layout(sizes, steps)
	return SwigcptrSmd_error(C.save_late(C.uintptr_t(hook.Swigcptr()), l.text(name),
		C.int64_t(step), data, shape, strides, C.int32_t(len(sizes)), C.smd_dtype(dtype)))
}

// SaveStatistics is smd_hook_save_statistics, or smd_hook_save_late_statistics if lateStep is
// not nil.
func SaveStatistics(hook Smd_hook, name string, lateStep *int64, of *Statistics) Smd_error {
	l := pool.Get().(*lent)
	defer pool.Put(l)
	shape, _ := l.layout(of.Sizes, nil)
	var step *C.int64_t
	if lateStep != nil {
		l.step = C.int64_t(*lateStep)
		step = &l.step
	}
	for i, figure := range of.Figures {
		l.figures[i] = C.double(figure)
	}
	for i, count := range of.Counts {
		l.counts[i] = C.int64_t(count)
	}
	return SwigcptrSmd_error(C.save_statistics(C.uintptr_t(hook.Swigcptr()), l.text(name), step,
		shape, C.int32_t(len(of.Sizes)), C.smd_dtype(of.DType), of.Sample,
		C.int64_t(of.SampleCount), C.uint32_t(of.Given), &l.figures[0], &l.counts[0]))
}
