#!/bin/sh
# Builds the Python packages: wheel.sh FOLDER ARCHITECTURE...  FOLDER gets the source package, and
# for each architecture a wheel that depends on nothing but glibc 2.17 or later.
set -eu
. "$(dirname "$0")/pack_env.sh"
shift
cd "$here"
. tools/release_env.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug
mkdir -p "$cache"
tools/venv.sh "$cache/packages" tests/packages/requirements.txt bindings/requirements.txt
export PATH="$cache/packages/bin:$PATH" CCACHE_BASEDIR="$scratch" CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
export SMDEBUG_SWIG="$cache/packages/bin/swig"

quietly() { "$@" > "$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2; exit 1; }; }

quietly python -m build --sdist --no-isolation --outdir "$scratch" .
# A folder of Python's headers alone: with the C library's of this machine beside them, those would
# be found too.  Those of one 64-bit architecture serve the others, as far as the stable ABI goes.
python - "$scratch/include" <<'END'
import shutil, sys, sysconfig
shutil.copytree(sysconfig.get_path("include"), sys.argv[1])
shutil.copy(sysconfig.get_config_h_filename(), sys.argv[1])
END

for architecture in "$@"; do
  export SMDEBUG_STATIC_LIBRARIES="$cache/portable-$architecture"
  tools/static_libraries.sh "$architecture" "$SMDEBUG_STATIC_LIBRARIES"
  # Builds from the source package, in a folder like that of `make`, so that ccache has its objects.
  # Python names the wheel after the platform that it is told; pip would install the requirements of
  # the build for that platform too.
  _PYTHON_HOST_PLATFORM="linux-$architecture" TMPDIR="$scratch" quietly python -m pip wheel --no-deps \
    --no-build-isolation --check-build-dependencies --wheel-dir "$scratch" \
    -Cbuild-dir="build/portable-$architecture" -Ccmake.build-type=Release -Ccmake.define.SMDEBUG_DEVELOPER=ON \
    -Ccmake.define.SMDEBUG_UNITY=ON \
    -Ccmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/cmake/Portable.cmake" \
    -Ccmake.define.CMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -Ccmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
    -Ccmake.define.Python_INCLUDE_DIR="$scratch/include" "$scratch"/*.tar.gz
  quietly python -m wheel tags --remove \
    --platform-tag "manylinux_2_17_$architecture.manylinux2014_$architecture" "$scratch"/*linux_"$architecture".whl
  # Puts the files in order: the licences are in that of the file system.
  quietly python -m wheel unpack --dest "$scratch/unpacked" "$scratch"/*.whl
  quietly python -m wheel pack --dest-dir "$to" "$scratch/unpacked"/*
  rm -r "$scratch/unpacked" "$scratch"/*.whl
done
mv "$scratch"/*.tar.gz "$to"
