package smdebug

import (
	"context"
	"sync"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// BuiltinRule is a [Rule] of the library.
type BuiltinRule struct {
	handle *handle[raw.Smd_rule]
	name   string
	mutex  sync.Mutex // one judges at a time
	last   string
}

// NewBuiltinRule makes a rule by its name: "VanishingGradient", with the parameter
// "threshold" ("1e-7"), is met where the mean of the absolute values of a tensor of the
// collection "gradients" is below the threshold.  [BuiltinRules] lists them.
func NewBuiltinRule(name string, parameters map[string]string) (*BuiltinRule, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := checkText("rule", name); err != nil {
		return nil, err
	}
	given, err := parametersToJSON(name, parameters)
	if err != nil {
		return nil, err
	}
	made, err := ruleSlot.out(func(out raw.Smd_rule) raw.Smd_error {
		return raw.Smd_rule_new_builtin(name, given, out)
	})
	if err != nil {
		return nil, err
	}
	r := &BuiltinRule{handle: newHandle("rule", made, raw.Smd_rule_free), name: name}
	closeWhenForgotten(r, r.handle)
	return r, nil
}

// Close frees the rule.  It always returns nil.
func (r *BuiltinRule) Close() error {
	r.handle.close()
	return nil
}

// Name is the name the rule was made by.
func (r *BuiltinRule) Name() string { return r.name }

// InvokeAtStep judges a global step, for which it waits.  A step that lacks data is no
// finding.
func (r *BuiltinRule) InvokeAtStep(ctx context.Context, trial *Trial, step int64) (bool, error) {
	if err := trial.WaitForStep(ctx, step, Global); err != nil {
		return false, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	rule, err := r.handle.acquire()
	if err != nil {
		return false, err
	}
	defer r.handle.release()
	judged, err := trial.handle.acquire()
	if err != nil {
		return false, err
	}
	defer trial.handle.release()
	found, err := outSteps(func(out raw.Smd_steps) raw.Smd_error {
		return raw.Smd_rule_run(rule, judged, step, step+1, 0, out)
	})
	if len(found) > 0 {
		r.last = raw.Smd_rule_last_finding(rule)
	}
	return len(found) > 0, err
}

// LastFinding is a sentence about the last finding; "" before there is one.
func (r *BuiltinRule) LastFinding() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last
}
