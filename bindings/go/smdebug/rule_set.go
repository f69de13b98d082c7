package smdebug

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"weak"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Profile says which defaults the parameters of built-in rules have.
type Profile string

// The profiles.
const (
	ProfileCalibrated Profile = "calibrated" // ours, which rarely report anything on a healthy run; also ""
	ProfileAWS        Profile = "aws"        // as the training service documents them
	ProfileLLM        Profile = "llm"        // a set that holds the rules for large trainings
)

// RuleSet is several rules that evaluate a job together: a trial, or a running job by
// [Hook.Attach].  Built-in rules share what they read, and evaluate each step once.  A rule set
// belongs to the first trial or hook of which it evaluates a step.
//
// It is safe for concurrent use, but only one goroutine may evaluate at a time; for another one,
// evaluating fails with [ErrWrongState].
type RuleSet struct {
	handle    *handle[raw.Smd_rule_set]
	functions *ruleFunctions
}

// EvaluateOption changes how a rule set evaluates a trial.
type EvaluateOption uint32

// The options.
const (
	StopAtFinding     = EvaluateOption(raw.StopAtFinding)     // fail with ErrRuleConditionMet at the first finding
	IncludeIncomplete = EvaluateOption(raw.IncludeIncomplete) // also evaluate steps that a worker may still write to
)

// evaluateFlags is the sum of options.
type evaluateFlags uint32

func flagsOf(options []EvaluateOption) (evaluateFlags, error) {
	var flags evaluateFlags
	for _, option := range options {
		if option != StopAtFinding && option != IncludeIncomplete {
			return 0, invalidArgument(fmt.Sprintf("unknown EvaluateOption %d", option))
		}
		flags |= evaluateFlags(option)
	}
	return flags, nil
}

func (f evaluateFlags) includeIncomplete() bool {
	return f&evaluateFlags(IncludeIncomplete) != 0
}

// NewRuleSet makes an empty rule set.
func NewRuleSet(profile Profile) (*RuleSet, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := checkText("profile", string(profile)); err != nil {
		return nil, err
	}
	made, err := ruleSetSlot.out(func(out raw.Smd_rule_set) raw.Smd_error {
		return raw.Smd_rule_set_new(string(profile), out)
	})
	if err != nil {
		return nil, err
	}
	functions := &ruleFunctions{}
	// The handle must not keep the functions: they may refer to the rule set, which then would
	// never be forgotten.
	unused := weak.Make(functions)
	r := &RuleSet{newHandle("rule set", made, func(set raw.Smd_rule_set) {
		raw.Smd_rule_set_free(set)
		if functions := unused.Value(); functions != nil {
			functions.drop()
		}
	}), functions}
	closeWhenForgotten(r, r.handle)
	return r, nil
}

// Close frees the rule set; a hook that it is attached to keeps its rules.  It always
// returns nil.
func (r *RuleSet) Close() error {
	r.handle.close()
	return nil
}

// Add adds a built-in rule.  [BuiltinRules] lists the rules and their parameters; parameters
// that are not given have their defaults.  The action is what the rule's findings recommend.
//
// It fails with [ErrWrongState] once a step was evaluated, and while the rule set is attached to
// a hook or being evaluated.
func (r *RuleSet) Add(rule string, parameters map[string]string, action Action) error {
	if err := checkText("rule", rule); err != nil {
		return err
	}
	given, err := parametersToJSON(rule, parameters)
	if err != nil {
		return err
	}
	handle, err := r.handle.acquire()
	if err != nil {
		return err
	}
	defer r.handle.release()
	return take(raw.Smd_rule_set_add(handle, rule, given, int(action)))
}

// AddAll adds every built-in rule that needs no parameter and that the rule set does not hold:
// those that smdebug rules evaluates without --rule.  A rule that was added before keeps its
// parameters, and the more severe of both actions.  A rule set of [ProfileLLM] holds all of them
// from the beginning.
//
// It fails with [ErrWrongState] as [RuleSet.Add] does.
func (r *RuleSet) AddAll(action Action) error {
	handle, err := r.handle.acquire()
	if err != nil {
		return err
	}
	defer r.handle.release()
	return take(raw.Smd_rule_set_add_all(handle, int(action)))
}

// SetSaveConfig evaluates only the steps that the config selects, as if the job had saved no
// others; other steps cost a job no more than its hook does.  Every step of a mode that the
// config does not hold is evaluated.  It fails with [ErrWrongState] as Add does.
func (r *RuleSet) SetSaveConfig(config SaveConfig) error {
	handle, err := r.handle.acquire()
	if err != nil {
		return err
	}
	defer r.handle.release()
	saves, err := config.toRaw()
	if err != nil {
		return err
	}
	defer raw.Smd_save_config_free(saves)
	return take(raw.Smd_rule_set_set_save_config(handle, saves))
}

// StepRange is the global steps First <= s < End; End 0: all from First on.
type StepRange struct {
	First, End int64
}

func (s StepRange) has(step int64) bool {
	return step >= s.First && (s.End == 0 || step < s.End)
}

// Evaluate evaluates the known steps of a trial that were not evaluated yet.  Built-in rules
// also observe earlier steps, without reporting them.  It returns the findings so far also with
// an error; ctx is checked between steps.
//
// It fails with [ErrWrongState] if the rule set has evaluated another trial, is attached to a
// hook, or is being evaluated.
func (r *RuleSet) Evaluate(ctx context.Context, trial *Trial, steps StepRange, options ...EvaluateOption) ([]Finding, error) {
	flags, err := flagsOf(options)
	if err != nil {
		return nil, err
	}
	known, err := trial.steps(Global, flags.includeIncomplete())
	if err != nil {
		return nil, err
	}
	// Looking for more steps at each would ask a bucket each time.
	defer trial.Still()()
	var findings []Finding
	for _, step := range known {
		if !steps.has(step) {
			continue
		}
		found, err := r.evaluate(ctx, trial, step, flags)
		findings = append(findings, found...)
		if err != nil {
			return findings, err
		}
	}
	return findings, nil
}

// Follow is Evaluate of a job that may still be recording: it yields each finding as it is
// made, waits for steps, and ends with the job.  An error, also that of ctx, comes last.  A
// loop that breaks misses the other findings of its step.
//
//	for finding, err := range rules.Follow(ctx, trial, smdebug.StepRange{}) {
//		if err != nil { return err }
//		fmt.Println(finding)
//	}
func (r *RuleSet) Follow(ctx context.Context, trial *Trial, steps StepRange, options ...EvaluateOption) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		flags, err := flagsOf(options)
		if err != nil {
			yield(Finding{}, err)
			return
		}
		judge := func(step int64, err error) bool {
			var found []Finding
			if err == nil {
				found, err = r.evaluate(ctx, trial, step, flags)
			}
			for _, finding := range found {
				if !yield(finding, nil) {
					return false
				}
			}
			if err != nil {
				yield(Finding{}, err)
			}
			return err == nil
		}
		last := int64(-1)
		for step, err := range trial.due(ctx, steps, flags.includeIncomplete()) {
			if !judge(step, err) {
				return
			}
			last = step
		}
		if last >= 0 {
			judge(last, nil) // rules hear of the end of the job
		}
	}
}

// due yields the steps of a range as the job records them.  Incomplete steps do not end its wait;
// they are yielded before it, and after each.
func (t *Trial) due(ctx context.Context, steps StepRange, includeIncomplete bool) iter.Seq2[int64, error] {
	following := t.follow(ctx, Global, steps.First, steps.End)
	if !includeIncomplete {
		return following
	}
	return func(yield func(int64, error) bool) {
		next := steps.First
		yieldKnown := func() bool {
			known, err := t.AllSteps(Global)
			if err != nil {
				yield(next, err)
				return false
			}
			for _, step := range known {
				if step < next || !steps.has(step) {
					continue
				}
				if next = step + 1; !yield(step, nil) {
					return false
				}
			}
			return true
		}
		if !yieldKnown() {
			return
		}
		for step, err := range following {
			switch {
			case err != nil:
				yield(step, err)
				return
			case step >= next && !yieldKnown():
				return
			}
		}
	}
}

func (r *RuleSet) evaluate(ctx context.Context, trial *Trial, step int64, flags evaluateFlags) ([]Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("smdebug: evaluating step %d: %w", step, err)
	}
	set, err := r.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer r.handle.release()
	evaluated, err := trial.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer trial.handle.release()
	calls := &functionCalls{ctx: ctx, trial: trial, functions: r.functions}
	found, err := outFindings(func(out raw.Smd_findings) raw.Smd_error {
		return raw.RuleSetEvaluate(set, evaluated, step, endAfter(step), uint32(flags), out, calls.invoke)
	})
	return found, calls.end(err)
}

// endAfter is the end of a range whose last step is `step`.
func endAfter(step int64) int64 {
	if step == math.MaxInt64 {
		return -1
	}
	return step + 1
}

// Results returns the summary of each rule, in the order in which they were added.
func (r *RuleSet) Results() ([]RuleResult, error) {
	handle, err := r.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer r.handle.release()
	list, err := ruleResultsSlot.out(func(out raw.Smd_rule_results) raw.Smd_error {
		return raw.Smd_rule_set_results(handle, out)
	})
	if err != nil {
		return nil, err
	}
	var results []RuleResult
	for _, from := range raw.TakeResults(list) {
		results = append(results, toResult(from))
	}
	return results, nil
}

// Diagnose returns the likely causes of what was found so far: at most three, the likeliest first.
// There are none if nothing was found, if it speaks for no known cause, or with [ProfileAWS].  It
// may be called while the rule set is attached to a hook.
func (r *RuleSet) Diagnose() ([]Cause, error) {
	handle, err := r.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer r.handle.release()
	list, err := diagnosisSlot.out(func(out raw.Smd_diagnosis) raw.Smd_error {
		return raw.Smd_rule_set_diagnose(handle, out)
	})
	if err != nil {
		return nil, err
	}
	var causes []Cause
	for _, from := range raw.TakeDiagnosis(list) {
		causes = append(causes, toCause(from))
	}
	return causes, nil
}

// Reset forgets the trial and all results, and keeps the rules; functions of the caller are not
// told.  It fails with [ErrWrongState] while the rule set is attached to a hook or being
// evaluated.
func (r *RuleSet) Reset() error {
	handle, err := r.handle.acquire()
	if err != nil {
		return err
	}
	defer r.handle.release()
	return take(raw.Smd_rule_set_reset(handle))
}

// RuleInfo describes a built-in rule.
type RuleInfo struct {
	Name       string
	Summary    string
	Parameters []RuleParameter
}

// RuleParameter describes a parameter of a built-in rule: its defaults in the two
// profiles, and what it means.
type RuleParameter struct {
	Name       string
	AWS        string
	Calibrated string
	Meaning    string
}

// BuiltinRules returns all rules of the library, and their parameters.
func BuiltinRules() ([]RuleInfo, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	var rules []RuleInfo
	for _, from := range raw.BuiltinRules() {
		info := RuleInfo{Name: from.Name, Summary: from.Summary}
		for _, each := range from.Parameters {
			info.Parameters = append(info.Parameters, RuleParameter(each))
		}
		rules = append(rules, info)
	}
	return rules, nil
}

// parametersToJSON is "" where there are none.
func parametersToJSON(rule string, parameters map[string]string) (string, error) {
	if len(parameters) == 0 {
		return "", nil
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return "", invalidArgument("the parameters of " + rule + ": " + err.Error())
	}
	return string(text), nil
}
