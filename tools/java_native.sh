#!/bin/sh
# Builds the native parts of the Java package in a build folder: java_native.sh BUILD
set -eu

build="$1"
here="$(cd "$(dirname "$0")/.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug"

if [ -z "${SMDEBUG_SWIG:-}" ]; then
  mkdir -p "$cache"
  "$here/tools/venv.sh" "$cache/swig" "$here/bindings/requirements.txt"
  export SMDEBUG_SWIG="$cache/swig/bin/swig"
fi
# A folder that is already configured keeps its settings.
if [ -e "$build/CMakeCache.txt" ]; then
  cmake -S "$here" -B "$build" -DSMDEBUG_JAVA=ON >/dev/null
else
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSMDEBUG_TESTS=OFF \
    -DSMDEBUG_JAVA=ON >/dev/null
fi
cmake --build "$build" --target smdebug_java
