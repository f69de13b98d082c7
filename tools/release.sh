#!/bin/sh
# Makes all files of a release: release.sh FOLDER ARCHITECTURE...  FOLDER gets the sources, Python
# packages, archives of the library, the jar, the Go module, the Node.js package, the Rust crates,
# Debian packages of this machine's Debian, SBOMs and checksums.  The same commit, compiler and third-party sources make the same bytes.
set -eu
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
. tools/release_env.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug
[ -z "$(git status --porcelain)" ] ||
  echo "release.sh: the archive of the sources lacks what is not committed" >&2

builds=
for architecture in "$@"; do
  build=build/portable-$architecture
  tools/portable.sh "$architecture" "$build"
  tools/tarball.sh "$architecture" "$build" "$to"
  builds="$builds $PWD/$build"
done
tools/dist.sh "$to"
python3 tools/sbom.py "$version" "$timestamp" "$cache/portable-$1/parts.txt" \
  > "$to/libsmdebug-$version-bundled.spdx.json"
tools/wheel.sh "$to" "$@"
tools/jar.sh "$to" $builds
tools/go_module.sh "$to/go" $builds
tools/npm.sh "$to" $builds
tools/crates.sh "$to"
tools/deb.sh build/deb "$to"
# The module of Go is published as a tag, which Go's own sums protect.
(cd "$to" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum > SHA256SUMS)
