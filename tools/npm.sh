#!/bin/sh
# Packs the package for Node.js: npm.sh FOLDER BUILD...  It holds the library of each BUILD of
# tools/portable.sh; without any, its users install the library otherwise.
set -eu
. "$(dirname "$0")/pack_env.sh"
shift
(cd "$here/bindings/node" && tar -c --exclude=./node_modules --exclude=./native .) | tar -x -C "$scratch"
native="$scratch/native"

# Node.js names architectures its own way.
for build in "$@"; do
  built=$(echo "$build"/java/native/linux-*)
  case "$built" in *-x86_64) architecture=x64 ;; *-aarch64) architecture=arm64 ;; esac
  mkdir -p "$native/linux-$architecture" "$native/licenses"
  cp "$built/libsmdebug.so.1" "$native/linux-$architecture"
  cp "$build"/java/licenses/* "$native/licenses"
done
(cd "$scratch" && npm pack --ignore-scripts --loglevel=error --pack-destination "$to" > /dev/null)
