// Package smdebug records the tensors of a training run, reads them back during or after
// the run, and evaluates rules on them.  It is a thin layer over libsmdebug, which must be
// installed: the build finds it with pkg-config.
//
// A [Hook] records:
//
//	hook, err := smdebug.NewHook("run", smdebug.HookOptions{
//		IncludeCollections: []string{"weights", "gradients"},
//		SaveConfig:         smdebug.SaveEvery(10),
//	})
//	...
//	err = hook.Step(smdebug.Train, func(int64) error {
//		return hook.Save("layer1.weight", smdebug.ViewOf(weights, 64, 32))
//	})
//
// A [Trial] reads:
//
//	trial, err := smdebug.OpenTrial(ctx, "run", smdebug.TrialOptions{})
//	...
//	tensor, err := trial.Tensor("layer1.weight")
//	...
//	value, err := tensor.Value(10, smdebug.Train)
//	...
//	weights, err := value.Float32s()
//
// A [Rule] is your own condition: [RunRule] evaluates it on the steps of a trial.  A
// [RuleSet] holds built-in rules and functions of your own: it evaluates a trial, or, without
// functions, the running job if it is attached to a [Hook].
//
// # Errors
//
// A call that fails returns an [*Error], alone or wrapped.  Test for its [Code] with
// [errors.Is].  A call that waits takes a [context.Context]; if the context is done, the
// call returns the context's error, wrapped.
//
// # Closing
//
// A [Hook], [Trial], [Tensor], [Value], [Collection], [BuiltinRule] and [RuleSet] hold
// memory of the library.  Close each when you no longer need it.  The garbage collector
// frees those that were never closed, but it does not know how much memory they hold, so it
// may run late.  You may close them in any order, twice, and while
// other goroutines use them: running calls complete, later calls return an error that wraps
// [ErrClosed].
package smdebug
