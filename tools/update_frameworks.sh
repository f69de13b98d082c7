#!/bin/sh
# Pins the newest releases in requirements: update_frameworks.sh CACHE FRAMEWORK...
#
# Renews each number after "==" in tests/frameworks/<framework>/requirements.txt, all at once, so
# that pip finds releases that fit each other.
set -eu

cache=$1/frameworks
shift
for framework in "$@"; do
  requirements=tests/frameworks/$framework/requirements.txt
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  python3 -m venv "$fresh/python"
  # Without numbers; other lines stay.
  sed 's/==.*//' "$requirements" > "$fresh/wanted.txt"
  "$fresh/python/bin/python" -m pip install --quiet --disable-pip-version-check \
    --dry-run --report "$fresh/report.json" -r "$fresh/wanted.txt"
  python3 - "$requirements" "$fresh/report.json" <<'END'
import json
import re
import sys

requirements, report = sys.argv[1:]
found = {
    item["metadata"]["name"].lower(): item["metadata"]["version"]
    for item in json.load(open(report))["install"]
}
text = open(requirements).read()
pinned = re.sub(r"^([\w-]+)==.*$", lambda m: f"{m[1]}=={found[m[1].lower()]}", text, flags=re.M)
open(requirements, "w").write(pinned)
print(*sorted(set(pinned.splitlines()) - set(text.splitlines())), sep="\n")
END
  rm -rf "$fresh"
done
