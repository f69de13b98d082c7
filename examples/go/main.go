// Command go trains a small network on Fisher's irises twice, the second time with a
// planted fault, records both trainings, and lets rules find the faulty one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

const epochs = 400

func main() {
	out := flag.String("out", "go_output", "folder for the trials, which must not be there")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	for _, training := range []struct {
		name string
		rate float64
	}{
		{"healthy", 0.5},
		{"faulty", 500}, // far too fast: it saturates the hidden layer
	} {
		path := filepath.Join(out, training.name)
		if err := train(path, training.rate); err != nil {
			return err
		}
		fmt.Println(training.name)
		if err := report(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// train records weights, gradients and losses at every 40th step.
func train(path string, rate float64) (err error) {
	inputs, labels, err := loadIris()
	if err != nil {
		return err
	}
	hook, err := smdebug.NewHook(path, smdebug.HookOptions{
		IncludeCollections: []string{"weights", "gradients"},
		SaveConfig: smdebug.SaveConfig{
			smdebug.Train: {Interval: 40},
			smdebug.Eval:  {Interval: 1},
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hook.Close()) }()

	net := newNetwork()
	for range epochs {
		err := hook.Step(smdebug.Train, func(int64) error {
			loss := net.step(inputs, labels, rate)
			return errors.Join(
				hook.Save("layer1.weight", view(net.layer1)),
				hook.Save("layer2.weight", view(net.layer2)),
				hook.Save("gradient/layer1.weight", view(net.gradient1)),
				hook.Save("gradient/layer2.weight", view(net.gradient2)),
				hook.Save("loss", smdebug.Scalar(loss)),
			)
		})
		if err != nil {
			return err
		}
	}
	return hook.Step(smdebug.Eval, func(int64) error {
		loss := net.guess(inputs, labels)
		return errors.Join(
			hook.Save("eval_loss", smdebug.Scalar(loss)),
			hook.SaveScalar("accuracy", net.accuracy(labels)),
		)
	})
}

// view returns a view of a matrix in place; its rows need not be contiguous.
func view(m *mat.Dense) smdebug.View {
	raw := m.RawMatrix()
	return smdebug.ViewOf(raw.Data, raw.Rows, raw.Cols).WithStrides(raw.Stride, 1)
}

// report reads a training back and lets two rules evaluate it.
func report(ctx context.Context, path string) error {
	trial, err := smdebug.OpenTrial(ctx, path, smdebug.TrialOptions{})
	if err != nil {
		return err
	}
	defer trial.Close()
	steps, err := trial.Steps(smdebug.Train)
	if err != nil {
		return err
	}
	accuracy, err := number(trial, "scalar/accuracy", 0, smdebug.Eval)
	if err != nil {
		return err
	}
	loss, err := number(trial, "loss", steps[len(steps)-1], smdebug.Train)
	if err != nil {
		return err
	}
	fmt.Printf("  %d steps recorded, loss %.2f, accuracy %.0f %%\n", len(steps), loss, 100*accuracy)

	vanishing, err := smdebug.NewBuiltinRule("VanishingGradient", map[string]string{"threshold": "1e-4"})
	if err != nil {
		return err
	}
	defer vanishing.Close()
	for _, rule := range []smdebug.Rule{vanishing, &LossFalls{}} {
		findings, err := smdebug.RunRule(ctx, rule, trial, smdebug.RunOptions{})
		if err != nil {
			return err
		}
		result := "passes"
		if len(findings) > 0 {
			result = fmt.Sprintf("met at %d steps, first at %d:\n%21s%s",
				len(findings), findings[0].Step, "", findings[0].Message)
		}
		fmt.Printf("  %-18s %s\n", rule.Name(), result)
	}
	return nil
}

func number(trial *smdebug.Trial, name string, step int64, mode smdebug.Mode) (float64, error) {
	tensor, err := trial.Tensor(name)
	if err != nil {
		return 0, err
	}
	defer tensor.Close()
	return tensor.Reduction(step, mode, "mean")
}
