package smdebug

import (
	"iter"
	"slices"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// StepValue is a tensor at one step: its value, or the reason that it cannot be read.
type StepValue struct {
	Step  int64
	Value *Value // nil if Err is not
	Err   error
}

// Values returns the elements at all steps, from first to before end, at which the tensor was
// saved.  It reads them in one call, on several threads, which is much faster than a Value
// for each.  End may be [math.MaxInt64].
//
// A step that cannot be read does not stop the others: its Err is the error of
// [Tensor.Value].
func (t *Tensor) Values(first, end int64, mode Mode, options ...ReadOption) (values []StepValue, err error) {
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		values, err = outValues(func(out raw.Smd_values) raw.Smd_error {
			return raw.Smd_tensor_values(handle, first, end, int(mode), worker, out)
		})
		return err
	})
	return values, err
}

// ReductionValues is like Values, but returns a reduction, as [Tensor.ReductionValue] does.
func (t *Tensor) ReductionValues(first, end int64, mode Mode, name string, options ...ReadOption) (values []StepValue, err error) {
	reduction, absolute, err := splitReduction(name)
	if err != nil {
		return nil, err
	}
	err = t.read(options, func(handle raw.Smd_tensor, worker string) error {
		values, err = outValues(func(out raw.Smd_values) raw.Smd_error {
			return raw.Smd_tensor_reduction_values(handle, first, end, int(mode), worker, reduction, absolute, out)
		})
		return err
	})
	return values, err
}

// valuesAtOnce limits how many values an iterator holds in memory.
const valuesAtOnce = 16

// EachValue yields what [Tensor.Values] returns, and closes each value when the loop's body is
// done with it.  It reads 16 steps at a time, so that no more values than that are in memory.
//
//	for at, err := range tensor.EachValue(0, math.MaxInt64, smdebug.Train) {
//		if err != nil { return err }
//		losses, err := at.Value.Float64s()
//		...
//	}
//
// The error is that of the step, at.Err; a loop may continue after it.  If the steps cannot be
// listed or read at all, the error is yielded last, with the step -1.  Steps that are saved
// after the loop has begun may be missing.
func (t *Tensor) EachValue(first, end int64, mode Mode, options ...ReadOption) iter.Seq2[StepValue, error] {
	return func(yield func(StepValue, error) bool) {
		steps, err := t.Steps(mode)
		if err != nil {
			yield(StepValue{Step: -1, Err: err}, err)
			return
		}
		for chunk := range slices.Chunk(stepsWithin(steps, first, end), valuesAtOnce) {
			values, err := t.Values(chunk[0], chunk[len(chunk)-1]+1, mode, options...)
			if err != nil {
				yield(StepValue{Step: -1, Err: err}, err)
				return
			}
			if !yieldEach(values, yield) {
				return
			}
		}
	}
}

// stepsWithin returns the steps from first to before end; steps ascend.
func stepsWithin(steps []int64, first, end int64) []int64 {
	from, _ := slices.BinarySearch(steps, first)
	to, _ := slices.BinarySearch(steps, end)
	return steps[from:max(from, to)]
}

// yieldEach closes all values, also those that are not reached.
func yieldEach(values []StepValue, yield func(StepValue, error) bool) bool {
	defer closeAll(values)
	for i, at := range values {
		if !yield(at, at.Err) {
			return false
		}
		closeAll(values[i : i+1])
	}
	return true
}

func closeAll(values []StepValue) {
	for _, at := range values {
		if at.Value != nil {
			at.Value.Close()
		}
	}
}

// Read returns the elements of a tensor at a global step, in row-major order.  T must match
// the type of the tensor, as in [Elements].  It is one call in place of [Trial.Tensor],
// [Tensor.Value] and [Elements], whose errors it returns.
//
//	loss, err := smdebug.Read[float32](trial, "loss", 100)
func Read[T Element](trial *Trial, name string, step int64, options ...ReadOption) ([]T, error) {
	tensor, err := trial.Tensor(name)
	if err != nil {
		return nil, err
	}
	defer tensor.Close()
	value, err := tensor.Value(step, Global, options...)
	if err != nil {
		return nil, err
	}
	defer value.Close()
	return Elements[T](value)
}

func outValues(call func(out raw.Smd_values) raw.Smd_error) ([]StepValue, error) {
	list, err := valuesSlot.out(call)
	if err != nil {
		return nil, err
	}
	defer raw.Smd_values_free(list)
	values := make([]StepValue, raw.Smd_values_count(list))
	for i := range values {
		values[i].Step = raw.Smd_values_step(list, int64(i))
		values[i].Value, values[i].Err = outValue(func(out raw.Smd_value) raw.Smd_error {
			return raw.Smd_values_get(list, int64(i), out)
		})
	}
	return values, nil
}
