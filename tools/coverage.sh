#!/bin/sh
# Reports the line and branch coverage of each layer by a build's tests: coverage.sh BUILD GCOVR.
# Fails if a layer that reads input from outside has less than 90 % of its lines covered.
set -eu
build="$(cd "$1" && pwd)"
gcovr="$2"
cd "$(dirname "$0")/.."
"$gcovr" --root . --object-directory "$build" --filter cpp_impl/ --filter capi/src/ \
  --exclude-throw-branches --gcov-ignore-parse-errors=negative_hits.warn \
  --json "$build/coverage.json" --html-details "$build/coverage.html" "$build" > "$build/gcovr.log" 2>&1
python3 - "$build/coverage.json" << 'END'
import collections
import json
import sys

WATCHED = {"format", "tensor", "config", "analyze", "aws"}
lines, branches, files = (collections.Counter() for _ in range(3))
reached_lines, reached_branches = collections.Counter(), collections.Counter()
worst = []
for file in json.load(open(sys.argv[1]))["files"]:
    layer = file["file"].split("/")[1] if file["file"].startswith("cpp_impl/") else "capi"
    # gcov lists a line of a template once for each instantiation.
    hits, ways = collections.Counter(), collections.Counter()
    for line in file["lines"]:
        hits[line["line_number"]] += line["count"]
        for place, branch in enumerate(line["branches"]):
            ways[line["line_number"], place] += branch["count"]
    lines[layer] += len(hits)
    reached_lines[layer] += sum(count > 0 for count in hits.values())
    branches[layer] += len(ways)
    reached_branches[layer] += sum(count > 0 for count in ways.values())
    missed = [str(number) for number, count in sorted(hits.items()) if count == 0]
    if missed:
        worst.append((len(missed), file["file"], missed))
print("| layer | lines | branches |\n|---|---|---|")
for layer in sorted(lines):
    part = reached_branches[layer] / max(branches[layer], 1)
    print(f"| {layer} | {reached_lines[layer] / lines[layer]:.1%} | {part:.1%} |")
print("\nNot reached, most first:")
for count, name, missed in sorted(worst, reverse=True)[:25]:
    print(f"  {name}: {count} lines: {', '.join(missed[:12])}{' ...' if count > 12 else ''}")
sys.exit(any(reached_lines[layer] < 0.9 * lines[layer] for layer in WATCHED))
END
