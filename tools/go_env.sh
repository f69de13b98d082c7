# Source this with `here` (this project) and `build` (a build folder) set.  It tells Go where
# to find itself and the library of that build, and sets go, gofmt, place and prefix.
place="$build/go"
prefix="$place/prefix"

# Installs the library as users install it.
install_library() {
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" --strip > /dev/null
}

# Go's build cache depends on flags, but not on headers that pkg-config adds.
flags_for() {
  echo "-O2 -g -DHEADERS=$(cat "$1"/include/smdebug/*.h "$1"/include/smdebug/sys/*.h | cksum | cut -d' ' -f1)"
}

mkdir -p "$place"
go="$("$here/tools/go.sh" "${SMDEBUG_GO:-$place/toolchain}")"
gofmt="$("$go" env GOROOT)/bin/gofmt"
[ -d "$prefix" ] || install_library
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
export CGO_LDFLAGS="-Wl,-rpath,$prefix/lib"
CGO_CFLAGS="$(flags_for "$prefix")"
export CGO_CFLAGS
export CGO_ENABLED=1 GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false
