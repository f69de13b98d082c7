package smdebug

import "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"

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
