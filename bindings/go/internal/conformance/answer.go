package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

type query struct {
	ID         string
	Call       string
	Mode       string
	Step       *int64
	Tensor     string
	Worker     string
	Count      int
	Regexes    []string
	Regex      string
	Collection string
	Reduction  string
	Absolute   bool
	Rule       string
	Parameters map[string]string
	RuleSet    ruleSet `json:"rule_set"`
	Path       string
	Options    map[string]string
}

func (q *query) mode() smdebug.Mode { return modes[q.Mode] }

func (q *query) worker() []smdebug.ReadOption {
	if q.Worker == "" {
		return nil
	}
	return []smdebug.ReadOption{smdebug.FromWorker(q.Worker)}
}

// reader answers queries about one trial.
type reader struct {
	trial    *smdebug.Trial
	attached map[string]*attached
	outDir   string
}

func answerAll(queries []query, attached map[string]*attached, outDir string) (map[string]answer, error) {
	trial, err := smdebug.OpenTrial(context.Background(), outDir, smdebug.TrialOptions{})
	if err != nil {
		return nil, err
	}
	defer trial.Close()
	r := reader{trial, attached, outDir}
	answers := make(map[string]answer)
	for i := range queries {
		q := &queries[i]
		value, err := r.answer(q)
		answers[q.ID] = answer{value, err, outDir}
	}
	return answers, nil
}

func (r *reader) answer(q *query) (any, error) {
	switch q.Call {
	case "workers":
		return r.trial.Workers()
	case "collections":
		return r.trial.Collections()
	case "modes":
		found, err := r.trial.Modes()
		return namesOf(found), err
	case "steps":
		return r.trial.Steps(q.mode())
	case "tensor_names":
		return r.tensorNames(q)
	case "recorded_names":
		return r.trial.RecordedNames(*q.Step, q.mode())
	case "mode_step":
		step, mode, err := r.trial.ModeStep(*q.Step)
		if step < 0 {
			return nil, err
		}
		return []any{mode.String(), step}, err
	case "global_step":
		step, err := r.trial.GlobalStep(*q.Step, q.mode())
		if step < 0 {
			return nil, err
		}
		return step, err
	case "step_state":
		state, err := r.trial.StepState(*q.Step, q.mode())
		return state.String(), err
	case "wait":
		return nil, r.trial.WaitForStep(context.Background(), *q.Step, q.mode())
	case "rule":
		return r.rule(q)
	case "findings", "results", "diagnosis":
		return r.evaluate(q)
	case "attached":
		return r.attached[q.Worker], nil
	case "include", "hook", "open":
		return nil, r.make(q)
	}
	return r.answerOfTensor(q)
}

func namesOf(found []smdebug.Mode) []string {
	names := make([]string, len(found))
	for i, mode := range found {
		names[i] = mode.String()
	}
	return names
}

func (r *reader) tensorNames(q *query) (any, error) {
	var conditions []smdebug.NameCondition
	if q.Step != nil {
		conditions = append(conditions, smdebug.AtStep(*q.Step, q.mode()))
	}
	if q.Regexes != nil {
		conditions = append(conditions, smdebug.Matching(q.Regexes...))
	}
	if q.Collection != "" {
		conditions = append(conditions, smdebug.InCollection(q.Collection))
	}
	return r.trial.TensorNames(conditions...)
}

func (r *reader) rule(q *query) (any, error) {
	rule, err := smdebug.NewBuiltinRule(q.Rule, q.Parameters)
	if err != nil {
		return nil, err
	}
	defer rule.Close()
	findings, err := smdebug.RunRule(context.Background(), rule, r.trial, smdebug.RunOptions{})
	steps := make([]int64, len(findings))
	for i, finding := range findings {
		steps[i] = finding.Step
	}
	return steps, err
}

// Makes something that fails.
func (r *reader) make(q *query) error {
	switch q.Call {
	case "include":
		collection, err := smdebug.NewCollection("c")
		if err != nil {
			return err
		}
		defer collection.Close()
		return collection.Include(q.Regex)
	case "hook":
		settings := r.placed(q.Options)
		outDir := settings["out_dir"]
		delete(settings, "out_dir")
		hook, err := smdebug.NewHook(outDir, smdebug.HookOptions{Worker: "worker_0", Settings: settings})
		if err != nil {
			return err
		}
		return hook.Close()
	}
	path := strings.ReplaceAll(q.Path, "<trial>", r.outDir)
	trial, err := smdebug.OpenTrial(context.Background(), path, smdebug.TrialOptions{Settings: q.Options})
	if err != nil {
		return err
	}
	return trial.Close()
}

func (r *reader) placed(options map[string]string) map[string]string {
	placed := make(map[string]string)
	for name, value := range options {
		placed[name] = strings.ReplaceAll(value, "<trial>", r.outDir)
	}
	return placed
}

func (r *reader) answerOfTensor(q *query) (any, error) {
	tensor, err := r.trial.Tensor(q.Tensor)
	if err != nil {
		return nil, err
	}
	defer tensor.Close()
	switch q.Call {
	case "tensor_steps":
		return tensor.Steps(q.mode())
	case "prev_steps":
		return tensor.PrevSteps(*q.Step, q.mode(), q.Count)
	case "tensor_workers":
		return tensor.Workers(*q.Step, q.mode())
	case "value":
		return describe(tensor.Value(*q.Step, q.mode(), q.worker()...))
	case "reduction":
		name := q.Reduction
		if q.Absolute {
			name = "abs_" + name
		}
		return describe(tensor.ReductionValue(*q.Step, q.mode(), name, q.worker()...))
	case "reductions":
		return tensor.Reductions(*q.Step, q.mode(), q.worker()...)
	case "shape":
		return tensor.Shape(*q.Step, q.mode(), q.worker()...)
	}
	return nil, fmt.Errorf("query %s: the call %q is unknown", q.ID, q.Call)
}

func describe(value *smdebug.Value, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	defer value.Close()
	described := map[string]any{"dtype": value.DType().String(), "shape": value.Shape()}
	if value.DType() == smdebug.String {
		described["strings"], err = value.Strings()
		return described, err
	}
	elements, err := value.Bytes()
	described["data"] = hex.EncodeToString(elements)
	return described, err
}
