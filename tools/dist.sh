#!/bin/sh
# Creates a release's source archive and its SBOM: dist.sh FOLDER.  The same commit always produces
# the same bytes.
set -eu
mkdir -p "$1"
to="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."
. tools/release_env.sh
name="libsmdebug-$version"
git archive --format=tar --prefix="$name/" HEAD | gzip -9n > "$to/$name-source.tar.gz"
python3 tools/sbom.py "$version" "$timestamp" > "$to/$name.spdx.json"
