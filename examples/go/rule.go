package main

import (
	"context"
	"fmt"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// LossFalls is met where the loss is not less than at the step judged before.
type LossFalls struct {
	last   float64
	judged int
	said   string
}

func (*LossFalls) Name() string { return "LossFalls" }

func (r *LossFalls) LastFinding() string { return r.said }

func (r *LossFalls) InvokeAtStep(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
	tensor, err := trial.Tensor("loss")
	if err != nil {
		return false, err
	}
	defer tensor.Close()
	// A step of evaluation has none: the rule passes it over.
	loss, err := tensor.Reduction(step, smdebug.Global, "mean")
	if err != nil {
		return false, err
	}
	rises := r.judged > 0 && loss >= r.last
	r.said = fmt.Sprintf("the loss went from %.2f to %.2f", r.last, loss)
	r.last = loss
	r.judged++
	return rises, nil
}
