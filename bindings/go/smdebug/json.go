package smdebug

import (
	"encoding/json"
	"fmt"
	"math"
)

// MarshalText is the mode's name, as "TRAIN".
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a mode's name.
func (m *Mode) UnmarshalText(text []byte) error {
	return readName("Mode", text, m, append([]Mode{AnyMode}, modes[:]...))
}

// MarshalText is the action's name, as "STOP".
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an action's name.
func (a *Action) UnmarshalText(text []byte) error {
	return readName("Action", text, a, []Action{ActionContinue, ActionWarn, ActionStop})
}

// MarshalText is the level's name, as "WORTH_A_LOOK".
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name.
func (l *Level) UnmarshalText(text []byte) error {
	return readName("Level", text, l, []Level{LevelFinding, LevelWorthALook})
}

// MarshalText is the status's name, as "HAS_FINDINGS".
func (s RuleStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status's name.
func (s *RuleStatus) UnmarshalText(text []byte) error {
	return readName("RuleStatus", text, s, []RuleStatus{
		RulePassed, RuleHasFindings, RuleNoTensors, RuleNotEnoughData, RuleWorthALook,
	})
}

// MarshalText is the type's name, as "float32".
func (d DType) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func readName[T fmt.Stringer](what string, text []byte, to *T, all []T) error {
	for _, each := range all {
		if each.String() == string(text) {
			*to = each
			return nil
		}
	}
	return invalidArgument(fmt.Sprintf("%q is the name of no %s", text, what))
}

// plainFinding is a Finding without methods.
type plainFinding Finding

// jsonFinding is a finding in JSON, which has no NaN and no infinity.
type jsonFinding struct {
	plainFinding
	Value *float64
	Limit *float64
}

// MarshalJSON writes numbers that are not finite as null, and modes, actions and levels by name.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonFinding{plainFinding(f), finite(f.Value), finite(f.Limit)})
}

// UnmarshalJSON reads what MarshalJSON writes; null is NaN.
func (f *Finding) UnmarshalJSON(text []byte) error {
	if isNull(text) {
		return nil
	}
	value, limit := f.Value, f.Limit
	read := jsonFinding{plainFinding(*f), &value, &limit}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*f = Finding(read.plainFinding)
	f.Value, f.Limit = orNaN(read.Value), orNaN(read.Limit)
	return nil
}

// isNull reports whether a text is null, which by convention changes nothing.
func isNull(text []byte) bool { return string(text) == "null" }

func finite(number float64) *float64 {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil
	}
	return &number
}

func orNaN(number *float64) float64 {
	if number == nil {
		return math.NaN()
	}
	return *number
}
