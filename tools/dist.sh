#!/bin/sh
# Creates a release's source archive, its SBOM, and their checksums: dist.sh FOLDER.
# The same commit always produces the same bytes.
set -eu
mkdir -p "$1"
to="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."
version="$(sed -n 's/^project(smdebug VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
name="libsmdebug-$version"
git archive --format=tar --prefix="$name/" HEAD | gzip -9n > "$to/$name.tar.gz"
python3 tools/sbom.py "$version" \
  "$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" > "$to/$name.spdx.json"
cd "$to"
sha256sum "$name.tar.gz" "$name.spdx.json" > "$name.sha256"
cat "$name.sha256"
