#!/bin/sh
# Makes the Python packages: wheel.sh FOLDER.  FOLDER gets the source package, and a wheel
# that needs nothing of a system but the C and C++ runtime.
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug
mkdir -p "$cache"
tools/venv.sh "$cache/packages" tests/packages/requirements.txt
tools/static_libraries.sh "$cache/static"

export SMDEBUG_STATIC_LIBRARIES="$cache/static"
# The pinned SWIG is among the requirements of the build.
unset SMDEBUG_SWIG
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

PATH="$cache/packages/bin:$PATH"
{
  python -m build --sdist --wheel --outdir "$scratch" -Ccmake.define.SMDEBUG_BUNDLE=ON .
  # Names the wheel after the systems that it runs on.
  auditwheel repair --wheel-dir "$folder" "$scratch"/*.whl
} > "$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2; exit 1; }
mv "$scratch"/*.tar.gz "$folder"
