#!/bin/sh
# Installs axe-core, which checks the accessibility of pages, from npm into the folder of the
# argument.  The version and its hash are those of tests/axe/package-lock.json.
set -eu

folder="$1"
here="$(cd "$(dirname "$0")/.." && pwd)"
cmp -s "$here/tests/axe/package-lock.json" "$folder/package-lock.json" && exit 0

echo "Installing axe-core"
mkdir -p "$folder"
cp "$here/tests/axe/package.json" "$folder/"
cp "$here/tests/axe/package-lock.json" "$folder/"
npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts --silent || {
  # The next call installs again.
  rm -f "$folder/package-lock.json"
  exit 1
}
