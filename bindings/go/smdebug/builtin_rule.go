package smdebug

import (
	"context"
	"sync"
)

// BuiltinRule is a [Rule] that the library implements.
type BuiltinRule struct {
	rules *RuleSet
	name  string
	mutex sync.Mutex // held while a step is evaluated
	step  int64      // the last step evaluated
	last  string
}

// NewBuiltinRule returns the built-in rule with that name.  [BuiltinRules] lists the rules
// and their parameters.  For example, "VanishingGradient" with the parameter "threshold"
// ("1e-7") reports a tensor of the collection "gradients" if the mean of its absolute
// values is below the threshold.  Other parameters have the defaults of [ProfileCalibrated];
// for those of [ProfileAWS], use a [RuleSet].
func NewBuiltinRule(name string, parameters map[string]string) (*BuiltinRule, error) {
	rules, err := NewRuleSet(ProfileCalibrated)
	if err != nil {
		return nil, err
	}
	if err := rules.Add(name, parameters, ActionWarn); err != nil {
		rules.Close()
		return nil, err
	}
	return &BuiltinRule{rules: rules, name: name, step: -1}, nil
}

// Close frees the rule.  It always returns nil.
func (r *BuiltinRule) Close() error {
	return r.rules.Close()
}

// Name returns the name of the rule.
func (r *BuiltinRule) Name() string { return r.name }

// InvokeAtStep evaluates a global step, and waits for the step if necessary.  A step that
// lacks data is not a finding.  The rule keeps the history of earlier steps; it starts
// again if it evaluates an earlier step than the last one.  A finding worth a look does not
// count.
func (r *BuiltinRule) InvokeAtStep(ctx context.Context, trial *Trial, step int64) (bool, error) {
	if err := trial.WaitForStep(ctx, step, Global); err != nil {
		return false, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if step <= r.step {
		if err := r.rules.Reset(); err != nil {
			return false, err
		}
	}
	found, err := r.rules.evaluate(ctx, trial, step, 0)
	r.step = step
	hasFound := false
	for _, finding := range found {
		if finding.Level == LevelFinding {
			hasFound = true
			r.last = finding.Message
		}
	}
	return hasFound, err
}

// LastFinding returns a sentence about the last finding, or "" if there is none yet.
func (r *BuiltinRule) LastFinding() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last
}
