#!/bin/sh
# Prints a new commit on top of HEAD, in which bindings/go is the Go module of a release, with its
# libraries: go_tag.sh ZIP.  The tag bindings/go/v1.0.0 names it, and no branch has it.
set -eu
zip=$(readlink -f "$1")
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m zipfile -e "$zip" "$scratch/module"
[ -n "$(find "$scratch/module" -name go.mod)" ] || { echo "go_tag.sh: $1 holds no module" >&2; exit 1; }
module=$(dirname "$(find "$scratch/module" -name go.mod)")
export GIT_INDEX_FILE="$scratch/index"
git read-tree HEAD
git rm -r -q --cached bindings/go
(cd "$module" && find . -type f -printf '%P\n') | while read -r file; do
  echo "100644 $(git hash-object -w "$module/$file")	bindings/go/$file"
done | git update-index --index-info
date=$(git log -1 --format=%cI)
GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date git commit-tree "$(git write-tree)" -p HEAD \
  -m "Add the libraries of ${module##*@} to the Go module"
