#!/bin/sh
# Builds the Java package: jar.sh FOLDER BUILD...  FOLDER gets the jar, with the native parts of each
# BUILD of tools/portable.sh, and the jars of its sources and its documentation.
set -eu

folder="$(mkdir -p "$1" && cd "$1" && pwd)"
shift
here="$(cd "$(dirname "$0")/.." && pwd)"
parts="$(mktemp -d)"
trap 'rm -rf "$parts"' EXIT

for build in "$@"; do cp -r "$build/java/." "$parts"; done
cd "$here/bindings/java"
rm -f target/smdebug-*.jar
"$here/tools/maven.sh" "$parts/jar.log" 600 package -DskipTests -Dsmdebug.native.dir="$parts"
cp target/smdebug-*.jar "$folder"
