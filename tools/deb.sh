#!/bin/sh
# Builds the Debian packages for this machine's Debian: deb.sh BUILD FOLDER.
set -eu
mkdir -p "$2"
to=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
. tools/release_env.sh
# The build ID is of the names of sources and folders: ccache names sources relative to the build, as for
# make, and takes no object that was compiled in another folder.
export CCACHE_BASEDIR="$PWD"
unset CCACHE_NOHASHDIR
cmake --preset deb -B "$1" > /dev/null
cmake --build "$1" -j "${JOBS:-$(nproc)}" > "$1/log" || { tail -n 40 "$1/log" >&2; exit 1; }
rm -rf "$1/packages"
cpack --config "$1/CPackConfig.cmake" -B "$1/packages" > "$1/log" || { cat "$1/log" >&2; exit 1; }
cp "$1"/packages/*.deb "$to"
