#!/bin/sh
# Builds the Python packages: wheel.sh FOLDER.  FOLDER gets the source package, and a wheel
# that depends on nothing but the C and C++ runtime of a system.
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug
mkdir -p "$cache"
tools/venv.sh "$cache/packages" tests/packages/requirements.txt
tools/static_libraries.sh "$cache/static"

export SMDEBUG_STATIC_LIBRARIES="$cache/static"
# The build requirements include the pinned SWIG.
unset SMDEBUG_SWIG
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

PATH="$cache/packages/bin:$PATH"
{
  # Build the wheel from the source package, in a folder like that of `make`, so that ccache
  # has its objects.
  CC=cc CXX=c++ TMPDIR="$scratch" CCACHE_BASEDIR="$scratch" CCACHE_NOHASHDIR=1 python -m build \
    --outdir "$scratch" -Cbuild-dir=build -Ccmake.define.SMDEBUG_DEVELOPER=ON \
    -Ccmake.define.SMDEBUG_BUNDLE=ON .
  # Names the wheel after the systems that it supports.
  auditwheel repair --wheel-dir "$folder" "$scratch"/*.whl
} > "$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2; exit 1; }
mv "$scratch"/*.tar.gz "$folder"
