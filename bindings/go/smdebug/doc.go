// Package smdebug records the tensors of a training run, reads them back while it runs or
// after it, and judges them by rules.  It is a thin layer over libsmdebug, which has to be
// installed: building asks pkg-config for it.
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
// And [RunRule] lets a [Rule] judge a trial; a [Panel] of built-in rules judges a trial, or
// the job itself while a [Hook] records it.
//
// # Errors
//
// What fails returns an [*Error], alone or wrapped, whose [Code] is an error for
// [errors.Is].  What waits takes a [context.Context] and returns its error, wrapped.
//
// # Closing
//
// A [Hook], [Trial], [Tensor], [Value], [Collection], [BuiltinRule] and [Panel] hold memory
// of the library.  Close each when it is no longer needed; what was forgotten is freed with the
// garbage.  They may be closed in any order, twice, and while other goroutines use them:
// calls under way end well, later ones return an error that is [ErrClosed].
package smdebug
