#!/bin/sh
# Packs what a build of tools/portable.sh installs: tarball.sh ARCHITECTURE BUILD FOLDER.
set -eu
architecture=$1
build=$(cd "$2" && pwd)
mkdir -p "$3"
to=$(cd "$3" && pwd)
cd "$(dirname "$0")/.."
. tools/release_env.sh
name="libsmdebug-$version-linux-$architecture"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

DESTDIR= cmake --install "$build" --prefix "$scratch/$name" > "$build/log"
cp README.md CHANGELOG.md "$scratch/$name"
pack "$scratch" "$name" "$to"
