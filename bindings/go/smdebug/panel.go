package smdebug

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Profile says which defaults the parameters of built-in rules have.
type Profile string

// The profiles.
const (
	ProfileAWS        Profile = "aws"        // as the training service documents them; also ""
	ProfileCalibrated Profile = "calibrated" // ours, which leave healthy runs alone
)

// Panel is several built-in rules that look at a job together: at a trial, or from
// within, by [Hook.Watch].  Each tensor is read and summed up once for all of them, and
// each step judged once, by whichever call comes first.
type Panel struct {
	handle *handle[raw.Smd_panel]
}

// NewPanel makes a panel without rules.
func NewPanel(profile Profile) (*Panel, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	if err := checkText("profile", string(profile)); err != nil {
		return nil, err
	}
	if profile == "" {
		profile = ProfileAWS
	}
	made, err := panelSlot.out(func(out raw.Smd_panel) raw.Smd_error {
		return raw.Smd_panel_new(string(profile), out)
	})
	if err != nil {
		return nil, err
	}
	p := &Panel{newHandle("panel", made, raw.Smd_panel_free)}
	closeWhenForgotten(p, p.handle)
	return p, nil
}

// Close frees the panel; a hook that watches with it keeps its rules.  It always returns
// nil.
func (p *Panel) Close() error {
	p.handle.close()
	return nil
}

// Add adds a rule, before the first step is judged.  [BuiltinRules] lists them and their
// parameters; those not given have their defaults.  The action is what the rule's
// findings will ask for.
func (p *Panel) Add(rule string, parameters map[string]string, action Action) error {
	if err := checkText("rule", rule); err != nil {
		return err
	}
	given, err := parametersToJSON(rule, parameters)
	if err != nil {
		return err
	}
	handle, err := p.handle.acquire()
	if err != nil {
		return err
	}
	defer p.handle.release()
	return take(raw.Smd_panel_add(handle, rule, given, int(action)))
}

// SetSaveConfig has the panel look only at the steps that the config saves, as if the job
// had been saved so: other steps cost a job no more than its hook does. Of a mode that it
// does not hold, the panel looks at every step. It is set before the first step is judged.
func (p *Panel) SetSaveConfig(config SaveConfig) error {
	handle, err := p.handle.acquire()
	if err != nil {
		return err
	}
	defer p.handle.release()
	saves, err := config.toRaw()
	if err != nil {
		return err
	}
	defer raw.Smd_save_config_free(saves)
	return take(raw.Smd_panel_set_save_config(handle, saves))
}

// StepRange is the global steps First <= s < End; End 0: all from First on.
type StepRange struct {
	First, End int64
}

func (r StepRange) has(step int64) bool {
	return step >= r.First && (r.End == 0 || step < r.End)
}

// Run judges the steps of a trial that are there and were not judged yet.  Earlier ones
// are shown to the rules, and not reported.  It returns what was found until then also
// with an error; ctx is looked at between steps.
func (p *Panel) Run(ctx context.Context, trial *Trial, steps StepRange) ([]Verdict, error) {
	known, err := trial.Steps(Global)
	if err != nil {
		return nil, err
	}
	var verdicts []Verdict
	for _, step := range known {
		if !steps.has(step) {
			continue
		}
		found, err := p.judge(ctx, trial, step)
		verdicts = append(verdicts, found...)
		if err != nil {
			return verdicts, err
		}
	}
	return verdicts, nil
}

// Follow is Run of a job that may still be recording: it gives each finding as it is
// made, waits for steps, and ends with the job.  An error, also that of ctx, is given out
// last.  A loop that is left misses the other findings of its step.
//
//	for verdict, err := range panel.Follow(ctx, trial, smdebug.StepRange{}) {
//		if err != nil { return err }
//		fmt.Println(verdict)
//	}
func (p *Panel) Follow(ctx context.Context, trial *Trial, steps StepRange) iter.Seq2[Verdict, error] {
	return func(yield func(Verdict, error) bool) {
		for step, err := range trial.follow(ctx, Global, steps.First, steps.End) {
			var found []Verdict
			if err == nil {
				found, err = p.judge(ctx, trial, step)
			}
			for _, verdict := range found {
				if !yield(verdict, nil) {
					return
				}
			}
			if err != nil {
				yield(Verdict{}, err)
				return
			}
		}
	}
}

func (p *Panel) judge(ctx context.Context, trial *Trial, step int64) ([]Verdict, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("smdebug: judging step %d: %w", step, err)
	}
	panel, err := p.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer p.handle.release()
	judged, err := trial.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer trial.handle.release()
	return outVerdicts(func(out raw.Smd_verdicts) raw.Smd_error {
		return raw.Smd_panel_run(panel, judged, step, step+1, 0, out)
	})
}

// Outcomes are what each rule has to say of all that it has seen, in the order they were
// added: one verdict each, of a rule with findings the first one with how many there were.
func (p *Panel) Outcomes() ([]Verdict, error) {
	handle, err := p.handle.acquire()
	if err != nil {
		return nil, err
	}
	defer p.handle.release()
	return outVerdicts(func(out raw.Smd_verdicts) raw.Smd_error {
		return raw.Smd_panel_outcomes(handle, out)
	})
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

// BuiltinRules are all rules of the library, and their parameters.
func BuiltinRules() ([]RuleInfo, error) {
	if err := requireABI(); err != nil {
		return nil, err
	}
	text, err := outText(raw.Smd_panel_rules)
	if err != nil {
		return nil, err
	}
	var rules []RuleInfo
	err = json.Unmarshal([]byte(text), &rules)
	return rules, err
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
