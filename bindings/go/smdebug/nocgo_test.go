package smdebug_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestABuildWithoutCgoSaysWhatToDo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "build_with_CGO_ENABLED_1_and_a_C_compiler") {
		t.Errorf("%v: %s", err, output)
	}
	if lines := strings.Count(strings.TrimSpace(string(output)), "\n"); lines != 1 {
		t.Errorf("more than the package and its error: %s", output)
	}
}
