package smdebug_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// recordExample runs a training that records its weights and its loss.
func recordExample(path string) {
	hook, err := smdebug.NewHook(path, smdebug.HookOptions{
		IncludeCollections: []string{"weights"},
		SaveConfig:         smdebug.SaveEvery(2),
	})
	if err != nil {
		log.Fatal(err)
	}
	weights := make([]float32, 6)
	for i := range 5 {
		err := hook.Step(smdebug.Train, func(int64) error {
			weights[0] = float32(i)
			return errors.Join(
				hook.Save("layer1.weight", smdebug.ViewOf(weights, 2, 3)),
				hook.Save("loss", smdebug.Scalar(1/float64(1+i))),
			)
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := hook.Close(); err != nil {
		log.Fatal(err)
	}
}

func exampleTrial() (trial *smdebug.Trial, remove func()) {
	folder, err := os.MkdirTemp("", "smdebug")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(folder, "run")
	recordExample(path)
	trial, err = smdebug.OpenTrial(context.Background(), path, smdebug.TrialOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return trial, func() {
		trial.Close()
		os.RemoveAll(folder)
	}
}

func ExampleTrial() {
	trial, remove := exampleTrial()
	defer remove()

	fmt.Println(trial.Steps(smdebug.Train))
	fmt.Println(trial.TensorNames())
	fmt.Println(trial.TensorNames(smdebug.InCollection("weights")))
	// Output:
	// [0 2 4] <nil>
	// [layer1.weight loss] <nil>
	// [layer1.weight] <nil>
}

func ExampleTensor_Value() {
	trial, remove := exampleTrial()
	defer remove()

	tensor, err := trial.Tensor("layer1.weight")
	if err != nil {
		log.Fatal(err)
	}
	defer tensor.Close()
	value, err := tensor.Value(4, smdebug.Train)
	if err != nil {
		log.Fatal(err)
	}
	defer value.Close()
	weights, err := value.Float32s()
	fmt.Println(value.DType(), value.Shape(), weights, err)

	_, err = tensor.Value(3, smdebug.Train)
	fmt.Println(errors.Is(err, smdebug.ErrStepUnavailable), err)
	// Output:
	// float32 [2 3] [4 0 0 0 0 0] <nil>
	// true smdebug: TRAIN step 3 was not saved by the training job
}

func ExampleTrial_Follow() {
	trial, remove := exampleTrial()
	defer remove()

	for step, err := range trial.Follow(context.Background(), smdebug.Train, 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(step)
	}
	// Output:
	// 2
	// 4
}

// LossTooHigh holds if the loss is above its limit.
type LossTooHigh struct{ limit float64 }

func (LossTooHigh) Name() string { return "LossTooHigh" }

func (r LossTooHigh) InvokeAtStep(_ context.Context, trial *smdebug.Trial, step int64) (bool, error) {
	tensor, err := trial.Tensor("loss")
	if err != nil {
		return false, err
	}
	defer tensor.Close()
	loss, err := tensor.Reduction(step, smdebug.Global, "max")
	return loss > r.limit, err
}

func ExampleRunRule() {
	trial, remove := exampleTrial()
	defer remove()

	findings, err := smdebug.RunRule(context.Background(), LossTooHigh{0.3}, trial, smdebug.RunOptions{})
	for _, finding := range findings {
		fmt.Println("met at step", finding.Step)
	}
	fmt.Println(err)
	// Output:
	// met at step 0
	// met at step 2
	// <nil>
}

// A training whose gradient vanishes, and that stops at the finding.
func ExampleHook_Attach() {
	folder, err := os.MkdirTemp("", "smdebug")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	hook, err := smdebug.NewHook(filepath.Join(folder, "run"), smdebug.HookOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer hook.Close()
	rules, err := smdebug.NewRuleSet(smdebug.ProfileAWS)
	if err != nil {
		log.Fatal(err)
	}
	defer rules.Close()
	err = rules.Add("VanishingGradient", map[string]string{"threshold": "1e-3"}, smdebug.ActionStop)
	if err := errors.Join(err, hook.Attach(rules)); err != nil {
		log.Fatal(err)
	}
	for gradient := 1.0; hook.Action() != smdebug.ActionStop; gradient /= 8 {
		err := hook.Step(smdebug.Train, func(int64) error {
			return hook.Save("gradient/layer1.weight", smdebug.Scalar(gradient))
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	findings, err := hook.TakeFindings()
	for _, finding := range findings {
		fmt.Println(finding.Action, finding.Rule, finding.Step, finding.Tensor, finding.Value)
	}
	fmt.Println(err)
	// Output:
	// STOP VanishingGradient 4 gradient/layer1.weight 0.000244140625
	// <nil>
}

func ExampleRuleSet_AddFunction() {
	trial, remove := exampleTrial()
	defer remove()

	rules, err := smdebug.NewRuleSet(smdebug.ProfileAWS)
	if err != nil {
		log.Fatal(err)
	}
	defer rules.Close()
	err = rules.AddFunction("LossTooHigh", func(_ context.Context, step *smdebug.RuleStep) error {
		loss, err := step.Trial().Tensor("loss")
		if err != nil {
			return err
		}
		defer loss.Close()
		mean, err := loss.Reduction(step.Step(), smdebug.Global, "mean")
		if err != nil || mean <= 0.3 {
			return err
		}
		return step.Reportf("the loss is %.2f", mean)
	}, smdebug.ActionWarn)
	if err != nil {
		log.Fatal(err)
	}
	findings, err := rules.Evaluate(context.Background(), trial, smdebug.StepRange{})
	for _, finding := range findings {
		fmt.Println(finding)
	}
	fmt.Println(err)
	// Output:
	// LossTooHigh at step 0: the loss is 1.00
	// LossTooHigh at step 2: the loss is 0.33
	// <nil>
}

func ExampleRuleSet_Evaluate() {
	trial, remove := exampleTrial()
	defer remove()

	rules, err := smdebug.NewRuleSet(smdebug.ProfileAWS)
	if err != nil {
		log.Fatal(err)
	}
	defer rules.Close()
	if err := rules.Add("VanishingGradient", nil, smdebug.ActionWarn); err != nil {
		log.Fatal(err)
	}
	findings, err := rules.Evaluate(context.Background(), trial, smdebug.StepRange{})
	fmt.Println(len(findings), err)
	results, err := rules.Results()
	for _, result := range results {
		fmt.Println(result.Status, result)
	}
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// NO_TENSORS VanishingGradient: no matching tensors
	// <nil>
}
