#!/bin/sh
# Builds everything native for any Linux with glibc 2.17 or later: portable.sh SYSTEM BUILD
# [TARGETS...].  SYSTEM is x86_64 or aarch64; BUILD gets the shared and the static library, the
# program, and the native parts of the Java package, which need no other library.  x86_64-musl is
# Alpine Linux, with tests in place of Java.
set -eu
system=$1
# Zig checks for undefined behaviour where code is not optimized, as tests are, and lacks the library.
case "$system" in
  *-musl) tests=ON java=OFF more="-DCMAKE_C_FLAGS=-fno-sanitize=undefined -DCMAKE_CXX_FLAGS=-fno-sanitize=undefined" ;;
  *) tests=OFF java=ON more= ;;
esac
mkdir -p "$2"
build=$(cd "$2" && pwd)
shift 2
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug

mkdir -p "$cache"
tools/static_libraries.sh "$system" "$cache/portable-$system"
if [ -z "${SMDEBUG_SWIG:-}" ]; then
  tools/venv.sh "$cache/swig" bindings/requirements.txt
  export SMDEBUG_SWIG="$cache/swig/bin/swig"
fi
# The compiler is a script that a new machine writes anew.
export CCACHE_COMPILERCHECK=content CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
export SMDEBUG_STATIC_LIBRARIES="$cache/portable-$system"
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/Portable.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_INSTALL_LIBDIR=lib -DSMDEBUG_TESTS=$tests \
  -DSMDEBUG_UNITY=ON -DSMDEBUG_JAVA=$java -DSMDEBUG_DEVELOPER=ON $more > "$build/log" 2>&1 ||
  { cat "$build/log" >&2; exit 1; }
cmake --build "$build" -j "${JOBS:-$(nproc)}" ${*:+--target "$@"} > "$build/log" 2>&1 ||
  { tail -n 40 "$build/log" >&2; exit 1; }
