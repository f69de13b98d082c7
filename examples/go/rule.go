package main

import (
	"context"
	"fmt"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// LossFalls holds if the loss is not less than at the step evaluated before.
type LossFalls struct {
	last      float64
	evaluated int
	message   string
}

func (*LossFalls) Name() string { return "LossFalls" }

func (r *LossFalls) LastFinding() string { return r.message }

func (r *LossFalls) InvokeAtStep(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
	tensor, err := trial.Tensor("loss")
	if err != nil {
		return false, err
	}
	defer tensor.Close()
	// An evaluation step has no training loss: the rule skips it.
	loss, err := tensor.Reduction(step, smdebug.Global, "mean")
	if err != nil {
		return false, err
	}
	rises := r.evaluated > 0 && loss >= r.last
	r.message = fmt.Sprintf("the loss went from %.2f to %.2f", r.last, loss)
	r.last = loss
	r.evaluated++
	return rises, nil
}
