package smdebug

import (
	"fmt"

	"github.com/libsmdebug/libsmdebug/bindings/go/internal/raw"
)

// Cause is a likely cause of what rules have found.
type Cause struct {
	ID         string     // such as "rate_too_high"; docs/diagnosis.md lists all
	Title      string     // the cause in a few words
	Confidence float64    // the chance that this is the cause, from 0 to 1
	Advice     string     // what to do, in two sentences
	Link       string     // the section of the documentation that says more
	Evidence   []Evidence // what speaks for the cause, the strongest first
	Missing    []string   // rules without tensors or data, which would make it surer
}

// String is the cause as a line of a log.
func (c Cause) String() string {
	return fmt.Sprintf("%s (%.0f %%)", c.Title, 100*c.Confidence)
}

// Evidence is the findings of one check of a rule, which speak for a cause.
type Evidence struct {
	First        Finding // the one with the lowest step
	FindingCount int64
	TensorCount  int64
}

func toCause(from raw.Cause) Cause {
	cause := Cause{
		ID:         from.ID,
		Title:      from.Title,
		Confidence: from.Confidence,
		Advice:     from.Advice,
		Link:       from.Link,
		Missing:    from.Missing,
	}
	for _, each := range from.Evidence {
		cause.Evidence = append(cause.Evidence, Evidence{
			First: toFinding(each.First), FindingCount: each.Findings, TensorCount: each.Tensors,
		})
	}
	return cause
}
