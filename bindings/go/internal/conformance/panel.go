package main

import (
	"context"
	"fmt"
	"math"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// panel is a panel of rules of the scenario.
type panel struct {
	Profile   smdebug.Profile
	SaveEvery map[string]int64 `json:"save_every"`
	Rules     []struct {
		Rule       string
		Parameters map[string]string
		Action     string
	}
}

func (p *panel) make() (*smdebug.Panel, error) {
	made, err := smdebug.NewPanel(p.Profile)
	if err != nil {
		return nil, err
	}
	if err := p.fill(made); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

func (p *panel) fill(made *smdebug.Panel) error {
	if err := made.SetSaveConfig(saveConfig(p.SaveEvery)); err != nil {
		return err
	}
	for _, rule := range p.Rules {
		action, err := actionNamed(rule.Action)
		if err != nil {
			return err
		}
		if err := made.Add(rule.Rule, rule.Parameters, action); err != nil {
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

func (p *panel) watch(hook *smdebug.Hook) error {
	made, err := p.make()
	if err != nil {
		return err
	}
	defer made.Close()
	return hook.Watch(made)
}

// watched is what the rules of a worker's hook said while it recorded.
type watched struct {
	Advice   []string         `json:"advice"`
	Verdicts []map[string]any `json:"verdicts"`
}

func (w *watched) note(hook *smdebug.Hook) error {
	w.Advice = append(w.Advice, hook.Advice().String())
	verdicts, err := hook.TakeVerdicts()
	w.Verdicts = append(w.Verdicts, describeVerdicts(verdicts)...)
	return err
}

// judgeByPanel gives the verdicts over the whole trial, or what is then said of each rule.
func (r *reader) judgeByPanel(q *query) (any, error) {
	made, err := q.Panel.make()
	if err != nil {
		return nil, err
	}
	defer made.Close()
	var verdicts []smdebug.Verdict
	for verdict, err := range made.Follow(context.Background(), r.trial, smdebug.StepRange{}) {
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	if q.Call == "outcomes" {
		verdicts, err = made.Outcomes()
	}
	return describeVerdicts(verdicts), err
}

func describeVerdicts(verdicts []smdebug.Verdict) []map[string]any {
	described := make([]map[string]any, len(verdicts))
	for i, verdict := range verdicts {
		described[i] = map[string]any{
			"rule":      verdict.Rule,
			"status":    verdict.Status.String(),
			"action":    verdict.Action.String(),
			"step":      verdict.Step,
			"mode":      verdict.Mode.String(),
			"mode_step": verdict.ModeStep,
			"worker":    verdict.Worker,
			"tensor":    verdict.Tensor,
			"value":     numberOrNull(verdict.Value),
			"limit":     numberOrNull(verdict.Limit),
			"label":     verdict.Label,
			"message":   verdict.Message,
		}
	}
	return described
}

func numberOrNull(number float64) any {
	if math.IsNaN(number) {
		return nil
	}
	return number
}
