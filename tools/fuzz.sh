#!/bin/sh
# Runs the fuzzer on each parser, or on the given ones: fuzz.sh BUILD SECONDS [TARGET...].
# New inputs go into BUILD/corpus, failing inputs into BUILD/found.  Fails if there are any.
set -eu
build="$1"
seconds="$2"
shift 2
corpora="$(dirname "$0")/../tests/fuzz/corpus"
[ $# -gt 0 ] || set -- $(ls "$corpora")
mkdir -p "$build/found"
failed=""
for target in "$@"; do
  mkdir -p "$build/corpus/$target"
  if SMDEBUG_FUZZ_TARGET="$target" timeout $((seconds + 120)) "$build/bin/fuzz" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$build/found/$target-" \
    "$build/corpus/$target" "$corpora/$target" > "$build/found/$target.log" 2>&1; then
    runs="$(sed -n 's/^stat::number_of_executed_units: //p' "$build/found/$target.log")"
    echo "$target: $runs inputs, no bug"
  else
    echo "$target: BUG, see $build/found/$target.log"
    failed="$failed $target"
  fi
done
[ -z "$failed" ]
