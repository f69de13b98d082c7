// Conformance records and reads tests/conformance/scenario.json as every language does.
//
//	conformance SCENARIO OUT_DIR RESULT
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: conformance SCENARIO OUT_DIR RESULT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(scenarioPath, outDir, resultPath string) error {
	text, err := os.ReadFile(scenarioPath)
	if err != nil {
		return err
	}
	var s scenario
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	attached, err := s.record(outDir)
	if err != nil {
		return err
	}
	results, err := answerAll(s.Queries, attached, outDir)
	if err != nil {
		return err
	}
	text, err = json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(resultPath, text, 0o666)
}

// answer is the result of one query about the trial in outDir.
type answer struct {
	value  any
	err    error
	outDir string
}

func (a answer) MarshalJSON() ([]byte, error) {
	if a.err == nil {
		return json.Marshal(map[string]any{"value": a.value})
	}
	var failure *smdebug.Error
	if !errors.As(a.err, &failure) {
		return nil, a.err
	}
	return json.Marshal(map[string]any{
		"code":    failure.Code.String(),
		"message": strings.ReplaceAll(failure.Message, a.outDir, "<trial>"),
	})
}
