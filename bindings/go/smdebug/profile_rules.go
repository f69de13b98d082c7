package smdebug

import (
	"encoding/json"
	"log/slog"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// ProfileOptions select how a profile is evaluated.
type ProfileOptions struct {
	// Profile selects rules and defaults: ProfileCalibrated, or ProfileAWS for the rules of the
	// original's history.
	Profile Profile

	// Rules are the rules to evaluate; nil: all.
	Rules []string

	// Logger receives the log lines of the library; nil: stderr.
	Logger *slog.Logger

	// Settings sets parameters such as "CPUBottleneck_threshold", and options such as
	// "s3_endpoint"; smdebug/profile_rules.h lists them.
	Settings map[string]string
}

// ProfileEvaluation is what rules over a profile have found.
type ProfileEvaluation struct {
	Findings []Finding    // Tensor is the culprit: a part of the step, or a device
	Results  []RuleResult // the summary of each rule

	// Charts has the figures of charts as JSON: phases over steps, samples over time, and the
	// spans of a usual step and of the slowest one.
	Charts json.RawMessage
}

// EvaluateProfile reads a profile, in a folder that holds "system" or "framework" or in
// s3://bucket/prefix, and evaluates rules over it: where the time of steps goes, and what to
// change.
func EvaluateProfile(path string, options ProfileOptions) (*ProfileEvaluation, error) {
	var found ProfileEvaluation
	err := withProfileRules(path, options, func(rules raw.Smd_profile_rules) (err error) {
		if err = take(raw.Smd_profile_rules_evaluate(rules)); err != nil {
			return err
		}
		found.Findings, err = outFindings(func(out raw.Smd_findings) raw.Smd_error {
			return raw.Smd_profile_rules_findings(rules, out)
		})
		if err != nil {
			return err
		}
		list, err := ruleResultsSlot.out(func(out raw.Smd_rule_results) raw.Smd_error {
			return raw.Smd_profile_rules_results(rules, out)
		})
		if err != nil {
			return err
		}
		for _, from := range raw.TakeResults(list) {
			found.Results = append(found.Results, toResult(from))
		}
		charts, err := outText(func(out raw.Smd_text) raw.Smd_error {
			return raw.Smd_profile_rules_charts(rules, out)
		})
		found.Charts = json.RawMessage(charts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// WriteProfileTimeline writes all timelines and samples of a profile into a file, as one trace
// that Perfetto opens.  It replaces the file.
func WriteProfileTimeline(path, outPath string) error {
	if err := checkText("path", outPath); err != nil {
		return err
	}
	return withProfileRules(path, ProfileOptions{}, func(rules raw.Smd_profile_rules) error {
		return take(raw.Smd_profile_rules_write_timeline(rules, outPath))
	})
}

func withProfileRules(path string, options ProfileOptions, use func(raw.Smd_profile_rules) error) error {
	if err := requireABI(); err != nil {
		return err
	}
	if err := checkText("path", path); err != nil {
		return err
	}
	if err := checkText("profile", string(options.Profile)); err != nil {
		return err
	}
	if options.Profile == "" {
		options.Profile = ProfileCalibrated
	}
	rules, err := profileRulesSlot.out(func(out raw.Smd_profile_rules) raw.Smd_error {
		return raw.Smd_profile_rules_new(path, string(options.Profile), out)
	})
	if err != nil {
		return err
	}
	defer raw.Smd_profile_rules_free(rules)
	if options.Logger != nil {
		err := take(raw.ProfileRulesSetLog(rules, levelOf(options.Logger), logTo(options.Logger)))
		if err != nil {
			return err
		}
	}
	for _, name := range options.Rules {
		if err := checkText("rule", name); err != nil {
			return err
		}
		if err := take(raw.Smd_profile_rules_set(rules, "rule", name)); err != nil {
			return err
		}
	}
	err = setAll(options.Settings, func(name, value string) raw.Smd_error {
		return raw.Smd_profile_rules_set(rules, name, value)
	})
	if err != nil {
		return err
	}
	return use(rules)
}
