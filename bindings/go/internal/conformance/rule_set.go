package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// ruleSet is a rule set of the scenario.
type ruleSet struct {
	Profile   smdebug.Profile
	SaveEvery map[string]int64 `json:"save_every"`
	Rules     []struct {
		Rule       string
		Parameters map[string]string
		Function   string
		Tensor     string
		Until      *int64
		Action     string
	}
}

// saved finds the steps at which a tensor was saved.
func saved(tensor string, until *int64) smdebug.RuleFunction {
	return func(_ context.Context, step *smdebug.RuleStep) error {
		found, err := step.Trial().Tensor(tensor)
		if err != nil {
			return err
		}
		defer found.Close()
		value, err := found.Value(step.Step(), smdebug.Global)
		if err != nil {
			return err
		}
		if until != nil && step.Step() == *until {
			step.Finish()
		}
		return errors.Join(value.Close(), step.Reportf("it was saved"), step.Report(smdebug.Finding{
			Tensor:  tensor,
			Check:   "place",
			Worker:  "worker_1",
			Message: "it has a step",
			Action:  smdebug.ActionWarn,
			Value:   float64(step.Step()),
			Limit:   0.5,
		}), step.Report(smdebug.Finding{
			Message: "it is large",
			Action:  smdebug.ActionStop,
			Level:   smdebug.LevelWorthALook,
			Value:   math.NaN(),
			Limit:   math.NaN(),
		}))
	}
}

func (r *ruleSet) make() (*smdebug.RuleSet, error) {
	made, err := smdebug.NewRuleSet(r.Profile)
	if err != nil {
		return nil, err
	}
	if err := r.fill(made); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

func (r *ruleSet) fill(made *smdebug.RuleSet) error {
	if err := made.SetSaveConfig(saveConfig(r.SaveEvery)); err != nil {
		return err
	}
	for _, rule := range r.Rules {
		action, err := actionNamed(rule.Action)
		if err != nil {
			return err
		}
		if rule.Function != "" {
			err = made.AddFunction(rule.Function, saved(rule.Tensor, rule.Until), action)
		} else {
			err = made.Add(rule.Rule, rule.Parameters, action)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func actionNamed(name string) (smdebug.Action, error) {
	for _, action := range []smdebug.Action{smdebug.ActionContinue, smdebug.ActionWarn, smdebug.ActionStop} {
		if action.String() == name {
			return action, nil
		}
	}
	return 0, fmt.Errorf("no action is named %q", name)
}

func (r *ruleSet) attach(hook *smdebug.Hook) error {
	made, err := r.make()
	if err != nil {
		return err
	}
	defer made.Close()
	return hook.Attach(made)
}

// attached is what the rules of a worker's hook reported while it recorded.
type attached struct {
	Actions  []string         `json:"actions"`
	Findings []map[string]any `json:"findings"`
}

func (a *attached) note(hook *smdebug.Hook) error {
	a.Actions = append(a.Actions, hook.Action().String())
	findings, err := hook.TakeFindings()
	for _, finding := range findings {
		a.Findings = append(a.Findings, describeFinding(finding))
	}
	return err
}

// evaluate returns the findings over the whole trial, the results of the rules, or the causes.
func (r *reader) evaluate(q *query) (any, error) {
	made, err := q.RuleSet.make()
	if err != nil {
		return nil, err
	}
	defer made.Close()
	findings := []map[string]any{}
	for finding, err := range made.Follow(context.Background(), r.trial, smdebug.StepRange{}) {
		if err != nil {
			return nil, err
		}
		findings = append(findings, describeFinding(finding))
	}
	if q.Call == "findings" {
		return findings, nil
	}
	if q.Call == "diagnosis" {
		return diagnose(made)
	}
	results, err := made.Results()
	described := make([]map[string]any, len(results))
	for i, result := range results {
		described[i] = describeResult(result)
	}
	return described, err
}

func diagnose(rules *smdebug.RuleSet) (any, error) {
	causes, err := rules.Diagnose()
	described := make([]map[string]any, len(causes))
	for i, cause := range causes {
		evidence := make([]map[string]any, len(cause.Evidence))
		for k, each := range cause.Evidence {
			evidence[k] = map[string]any{
				"first":         describeFinding(each.First),
				"finding_count": each.FindingCount,
				"tensor_count":  each.TensorCount,
			}
		}
		described[i] = map[string]any{
			"id":         cause.ID,
			"title":      cause.Title,
			"confidence": cause.Confidence,
			"advice":     cause.Advice,
			"link":       cause.Link,
			"evidence":   evidence,
			"missing":    append([]string{}, cause.Missing...),
		}
	}
	return described, err
}

func describeResult(result smdebug.RuleResult) map[string]any {
	var first any
	if result.First != nil {
		first = describeFinding(*result.First)
	}
	return map[string]any{
		"rule":          result.Rule,
		"status":        result.Status.String(),
		"finding_count": result.FindingCount,
		"look_count":    result.LookCount,
		"message":       result.Message,
		"first":         first,
	}
}

func describeFinding(finding smdebug.Finding) map[string]any {
	return map[string]any{
		"rule":      finding.Rule,
		"check":     finding.Check,
		"tensor":    finding.Tensor,
		"worker":    finding.Worker,
		"message":   finding.Message,
		"step":      finding.Step,
		"mode":      finding.Mode.String(),
		"mode_step": finding.ModeStep,
		"action":    finding.Action.String(),
		"value":     numberOrNull(finding.Value),
		"limit":     numberOrNull(finding.Limit),
		"level":     finding.Level.String(),
	}
}

func numberOrNull(number float64) any {
	if math.IsNaN(number) {
		return nil
	}
	return number
}
