#!/bin/sh
# Builds the Java package from the native parts in BUILD: jar.sh BUILD FOLDER.  FOLDER gets the jar
# for this platform, and those of its sources and documentation.
set -eu

build="$(mkdir -p "$1" && cd "$1" && pwd)"
folder="$(mkdir -p "$2" && cd "$2" && pwd)"
here="$(cd "$(dirname "$0")/.." && pwd)"

"$here/tools/java_native.sh" "$build" >"$build/jar.log" || { cat "$build/jar.log"; exit 1; }
cd "$here/bindings/java"
rm -f target/smdebug-*.jar
"$here/tools/maven.sh" "$build/jar.log" 600 package -DskipTests -Dsmdebug.native.dir="$build/java"
cp target/smdebug-*.jar "$folder"
