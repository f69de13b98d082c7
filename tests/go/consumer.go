// Command consumer uses the Go module as a stranger's program does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println(errors.Is(err, smdebug.ErrABIMismatch), err)
		os.Exit(1)
	}
}

func run(path string) error {
	hook, err := smdebug.NewHook(path, smdebug.HookOptions{})
	if err != nil {
		return err
	}
	err = hook.Step(smdebug.Train, func(int64) error {
		return hook.Save("loss", smdebug.Scalar(0.5))
	})
	if err := errors.Join(err, hook.Close()); err != nil {
		return err
	}
	trial, err := smdebug.OpenTrial(context.Background(), path, smdebug.TrialOptions{})
	if err != nil {
		return err
	}
	defer trial.Close()
	names, err := trial.TensorNames()
	fmt.Println(smdebug.Version(), names)
	return err
}
