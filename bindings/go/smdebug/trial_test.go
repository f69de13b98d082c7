package smdebug_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// recordWorkers records a trial of two workers; the second one misses the last step.
func recordWorkers(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "run")
	var hooks []*smdebug.Hook
	for number, steps := range []int{3, 2} {
		options := everything()
		options.Worker = "worker_" + strconv.Itoa(number)
		options.NumWorkers, options.AllWorkers = 2, true
		hook := newHook(t, path, options)
		for step := range steps {
			recordStep(t, hook, func(int64) map[string]smdebug.View {
				return map[string]smdebug.View{"x": smdebug.Scalar(int32(10*number + step))}
			})
		}
		hooks = append(hooks, hook)
	}
	for _, hook := range hooks {
		must(t, hook.Close())
	}
	return path
}

func TestWorkers(t *testing.T) {
	trial := openTrial(t, recordWorkers(t))
	if workers := got(trial.Workers())(t); !slices.Equal(workers, []string{"worker_0", "worker_1"}) {
		t.Error(workers)
	}
	all := got(trial.AllSteps(smdebug.Train))(t)
	if !slices.Equal(all, []int64{0, 1, 2}) {
		t.Error(all)
	}
	tensor := got(trial.Tensor("x"))(t)
	if all := got(tensor.AllSteps(smdebug.Global))(t); !slices.Equal(all, []int64{0, 1, 2}) {
		t.Error(all)
	}
	if workers := got(tensor.Workers(2, smdebug.Train))(t); !slices.Equal(workers, []string{"worker_0"}) {
		t.Error(workers)
	}
	second := got(tensor.Value(1, smdebug.Train, smdebug.FromWorker("worker_1")))(t)
	if number := got(second.Float64())(t); number != 11 {
		t.Error(number)
	}
	if number := got(tensor.Reduction(1, smdebug.Train, "max", smdebug.FromWorker("worker_1")))(t); number != 11 {
		t.Error(number)
	}
	values := got(tensor.Values(0, math.MaxInt64, smdebug.Train, smdebug.FromWorker("worker_1")))(t)
	if len(values) != 3 || values[1].Step != 1 || values[1].Err != nil || got(values[1].Value.Float64())(t) != 11 {
		t.Error(values)
	}
	mustFail(t, values[2].Err, smdebug.ErrWorkerUnknown)
	sums := got(tensor.ReductionValues(1, 2, smdebug.Global, "abs_sum"))(t)
	if len(sums) != 1 || sums[0].Step != 1 || got(sums[0].Value.Float64())(t) != 1 {
		t.Error(sums)
	}
	values = got(tensor.Values(0, 9, smdebug.Train, smdebug.FromWorker("nobody")))(t)
	mustFail(t, values[0].Err, smdebug.ErrWorkerUnknown)
	mustFail(t, two(tensor.Values(0, 9, 77)), smdebug.ErrInvalidArgument)
	mustFail(t, two(tensor.ReductionValues(0, 9, smdebug.Train, "average")), smdebug.ErrInvalidArgument)
	if shape := got(tensor.Shape(1, smdebug.Train, smdebug.FromWorker("worker_1")))(t); !slices.Equal(shape, []int{1}) {
		t.Error(shape)
	}
	_, err := tensor.Value(2, smdebug.Train, smdebug.FromWorker("worker_1"))
	mustFail(t, err, smdebug.ErrWorkerUnknown)
	_, err = tensor.Value(2, smdebug.Train, smdebug.FromWorker("\x00"))
	mustFail(t, err, smdebug.ErrInvalidArgument)
}

// The parts of Python's and C's trials are read alike; those of workers that hold the whole must
// agree.
func TestFullTensor(t *testing.T) {
	trial := openTrial(t, recordWorkers(t))
	tensor := got(trial.Tensor("x"))(t)
	whole := got(tensor.FullValue(2, smdebug.Train))(t)
	if number := got(whole.Float64())(t); number != 2 {
		t.Error(number)
	}
	if number := got(tensor.FullReduction(2, smdebug.Train, "abs_max"))(t); number != 2 {
		t.Error(number)
	}
	mustFail(t, two(tensor.FullValue(1, smdebug.Train)), smdebug.ErrWrongState)
	mustFail(t, two(tensor.FullReduction(1, smdebug.Train, "max")), smdebug.ErrWrongState)
	mustFail(t, two(tensor.FullReduction(2, smdebug.Train, "average")), smdebug.ErrInvalidArgument)
}

func TestTensorNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	for _, mode := range []smdebug.Mode{smdebug.Train, smdebug.Eval} {
		must(t, hook.Step(mode, func(int64) error {
			must(t, hook.Save("loss", smdebug.Scalar(1)))
			return hook.Save(mode.String()+".weight", smdebug.Scalar(1))
		}))
	}
	must(t, hook.Close())
	trial := openTrial(t, path)
	for name, test := range map[string]struct {
		conditions []smdebug.NameCondition
		names      []string
	}{
		"all":               {nil, []string{"EVAL.weight", "TRAIN.weight", "loss"}},
		"at a step":         {[]smdebug.NameCondition{smdebug.AtStep(0, smdebug.Eval)}, []string{"EVAL.weight", "loss"}},
		"before step 0":     {[]smdebug.NameCondition{smdebug.AtStep(-1, smdebug.Global)}, nil},
		"in a mode":         {[]smdebug.NameCondition{smdebug.InMode(smdebug.Train)}, []string{"TRAIN.weight", "loss"}},
		"matching":          {[]smdebug.NameCondition{smdebug.Matching("weight$", "^nothing")}, []string{"EVAL.weight", "TRAIN.weight"}},
		"of a collection":   {[]smdebug.NameCondition{smdebug.InCollection("losses")}, []string{"loss"}},
		"two conditions":    {[]smdebug.NameCondition{smdebug.AtStep(0, smdebug.Eval), smdebug.Matching("w")}, []string{"EVAL.weight"}},
		"at no step":        {[]smdebug.NameCondition{smdebug.AtStep(9, smdebug.Global)}, nil},
		"matching nothing":  {[]smdebug.NameCondition{smdebug.Matching("x")}, nil},
		"matching is added": {[]smdebug.NameCondition{smdebug.Matching("^E"), smdebug.Matching("^l")}, []string{"EVAL.weight", "loss"}},
	} {
		if names := got(trial.TensorNames(test.conditions...))(t); !slices.Equal(names, test.names) {
			t.Errorf("%s: %v", name, names)
		}
	}
	recorded := got(trial.RecordedNames(0, smdebug.Eval))(t)
	if !slices.Equal(recorded, []string{"loss", "EVAL.weight"}) {
		t.Error(recorded)
	}
	if names := got(trial.RecordedNames(9, smdebug.Global))(t); len(names) != 0 {
		t.Error(names)
	}
	_, err := trial.TensorNames(smdebug.Matching("("))
	mustFail(t, err, smdebug.ErrInvalidConfig)
	_, err = trial.TensorNames(smdebug.InCollection("none"))
	mustFail(t, err, smdebug.ErrNotFound)
	_, err = trial.TensorNames(smdebug.Matching("x"), smdebug.InCollection("losses"))
	mustFail(t, err, smdebug.ErrInvalidArgument)
	for _, condition := range []smdebug.NameCondition{smdebug.Matching("\x00"), smdebug.InCollection("\x00")} {
		_, err = trial.TensorNames(condition)
		mustFail(t, err, smdebug.ErrInvalidArgument)
	}
}

func TestTensor(t *testing.T) {
	trial := openTrial(t, record(t, 5, loss))
	if names := got(trial.Collections())(t); !slices.Contains(names, "losses") {
		t.Error(names)
	}
	_, err := trial.Collection("none")
	mustFail(t, err, smdebug.ErrNotFound)
	losses := got(trial.Collection("losses"))(t)
	if tensors := got(losses.Tensors())(t); !slices.Equal(tensors, []string{"loss"}) {
		t.Error(tensors)
	}
	must(t, trial.Prefetch([]string{"loss"}, []int64{0, 3}, smdebug.Train))
	mustFail(t, trial.Prefetch([]string{"nothing"}, []int64{0}, smdebug.Train), smdebug.ErrTensorUnavailable)
	mustFail(t, trial.Prefetch([]string{"\x00"}, nil, smdebug.Train), smdebug.ErrInvalidArgument)
	tensor := got(trial.Tensor("loss"))(t)
	if tensor.Name() != "loss" || got(tensor.OriginalName())(t) != "" {
		t.Error(tensor.Name())
	}
	if steps := got(tensor.PrevSteps(3, smdebug.Train, 2))(t); !slices.Equal(steps, []int64{2, 3}) {
		t.Error(steps)
	}
	if mean := got(tensor.Reduction(3, smdebug.Train, "mean"))(t); mean != 0.25 {
		t.Error(mean)
	}
	if number := got(got(tensor.Value(3, smdebug.Train))(t).Float64())(t); number != 0.25 {
		t.Error(number)
	}
	_, err = tensor.Value(9, smdebug.Train)
	mustFail(t, err, smdebug.ErrStepUnavailable)
	_, err = tensor.Value(0, 77)
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = tensor.Reduction(0, smdebug.Train, "mode")
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = trial.Tensor("nothing")
	mustFail(t, err, smdebug.ErrTensorUnavailable)
	_, err = trial.Tensor("\x00")
	mustFail(t, err, smdebug.ErrInvalidArgument)
}

func TestTrialOptions(t *testing.T) {
	path := record(t, 5, loss)
	open := func(options smdebug.TrialOptions) (*smdebug.Trial, error) {
		return smdebug.OpenTrial(context.Background(), path, options)
	}
	trial := got(open(smdebug.TrialOptions{Name: "mine", FirstStep: 1, EndStep: 4}))(t)
	if trial.Name() != "mine" || trial.Path() != path {
		t.Error(trial.Name(), trial.Path())
	}
	if steps := got(trial.Steps(smdebug.Global))(t); !slices.Equal(steps, []int64{1, 2, 3}) {
		t.Error(steps)
	}
	if !trial.HasEnded() || trial.LastCompleteStep() != 3 {
		t.Error(trial.HasEnded(), trial.LastCompleteStep())
	}
	for _, bad := range []smdebug.TrialOptions{
		{FirstStep: 3, EndStep: 2},
		{Settings: map[string]string{"wait_seconds": "long"}},
		{Settings: map[string]string{"wait": "1"}},
		{Name: "a\x00b"},
	} {
		if trial, err := open(bad); trial != nil || err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	_, err := smdebug.OpenTrial(context.Background(), "a\x00b", smdebug.TrialOptions{})
	mustFail(t, err, smdebug.ErrInvalidArgument)
	nowhere := smdebug.TrialOptions{Settings: map[string]string{"wait_seconds": "0"}}
	_, err = smdebug.OpenTrial(context.Background(), t.TempDir(), nowhere)
	mustFail(t, err, smdebug.ErrMissingCollections)
}

func TestStepState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, smdebug.HookOptions{SaveAll: true, SaveConfig: smdebug.SaveEvery(2)})
	for range 3 {
		recordStep(t, hook, loss)
	}
	must(t, hook.Flush(context.Background()))
	trial := openTrial(t, path)
	for step, wanted := range []smdebug.StepState{smdebug.StepAvailable, smdebug.StepUnavailable, smdebug.StepAvailable, smdebug.StepNotYet} {
		if state := got(trial.StepState(int64(step), smdebug.Train))(t); state != wanted {
			t.Errorf("step %d is %v, not %v", step, state, wanted)
		}
	}
	for state, name := range map[smdebug.StepState]string{0: "UNAVAILABLE", 1: "AVAILABLE", 2: "NOT_YET", 9: "StepState(9)"} {
		if state.String() != name {
			t.Error(state)
		}
	}
	for mode, name := range map[smdebug.Mode]string{0: "ANY", 1: "TRAIN", 2: "EVAL", 3: "PREDICT", 4: "GLOBAL", 9: "Mode(9)"} {
		if mode.String() != name {
			t.Error(mode)
		}
	}
	_, err := got(trial.Tensor("loss"))(t).Value(3, smdebug.Train)
	mustFail(t, err, smdebug.ErrStepNotYet)
}

func TestStandingStill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	hook := newHook(t, path, everything())
	next := func() {
		recordStep(t, hook, loss)
		must(t, hook.Flush(context.Background()))
	}
	next()
	trial := openTrial(t, path)
	count := func() int { return len(got(trial.Steps(smdebug.Train))(t)) }
	if count() != 1 {
		t.Error("a step is missing")
	}
	move, moveToo := trial.Still(), trial.Still()
	next()
	if count() != 1 {
		t.Error("it moved")
	}
	move()
	move()
	if count() != 1 {
		t.Error("it moved while one wants it still")
	}
	must(t, trial.Refresh())
	if count() != 2 {
		t.Error("it did not refresh")
	}
	moveToo()
	next()
	if count() != 3 {
		t.Error("it does not move")
	}
}
