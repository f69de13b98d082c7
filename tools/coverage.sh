#!/bin/sh
# What share of each layer's lines and branches the tests of a build reached: coverage.sh BUILD GCOVR.
# Fails where one of the layers that read what comes from outside has less than 90 % of its lines.
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
    # A line of a template is there once for each of its functions.
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
