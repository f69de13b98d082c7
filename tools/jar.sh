#!/bin/sh
# Builds the Java package: jar.sh FOLDER BUILD...  FOLDER gets the jar, with the native parts of each
# BUILD of tools/portable.sh, and the jars of its sources and its documentation.
set -eu
. "$(dirname "$0")/pack_env.sh"
shift

for build in "$@"; do cp -r "$build/java/." "$scratch"; done
cd "$here/bindings/java"
rm -f target/smdebug-*.jar
"$here/tools/maven.sh" "$scratch/jar.log" 600 package -DskipTests -Dsmdebug.native.dir="$scratch"
cp target/smdebug-*.jar "$to"
