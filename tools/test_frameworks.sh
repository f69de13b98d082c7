#!/bin/sh
# Tests the framework hooks, each in its own environment (see framework_environments.sh), two
# at a time: test_frameworks.sh CACHE [FRAMEWORK...]
#
# Tests marked "whole" run only if WHOLE is set in the environment.
#
# also.txt in the folder of a framework lists tests of others that run in its environment too.
set -eu

cache=$1/frameworks
# Those that take longest come first.
[ $# -gt 1 ] || set -- "$1" pytorch-newest pytorch \
  $(cd tests/frameworks && ls -d */requirements.txt | sed 's|/.*||' | grep -v '^pytorch')
tools/framework_environments.sh "$@"
shift

for original in "$cache"/*-original; do
  framework=$(basename "$original" -original | tr a-z A-Z)
  export "SMDEBUG_${framework}_ORIGINAL_PYTHON=$original/bin/python"
done
# Two run at once: more threads than processors wait for each other, and tests take five times as long.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
selection="not whole"
[ -z "${WHOLE:-}" ] || selection=

# Prints the output of one framework's tests as a whole.
printf '%s\n' "$@" | cache=$cache selection=$selection xargs -P 2 -I{} sh -c '
  output=$("$cache/{}/bin/python" -m pytest -q -p no:cacheprovider --timeout 120 -m "$selection" \
    tests/frameworks/{} $(cat tests/frameworks/{}/also.txt 2>/dev/null) 2>&1) && status=0 ||
    status=$?
  printf "%s:\n%s\n" "{}" "$output"
  exit $status'
