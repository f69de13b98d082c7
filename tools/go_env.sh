# To be sourced with `here` (this project) and `build` (a build folder) set: how Go finds
# itself and the library of that build.  Sets go, gofmt, place and prefix.
place="$build/go"
prefix="$place/prefix"

# The library as its users have it.
install_library() {
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" --strip > /dev/null
}

# The build cache of Go looks at flags, not at the headers that pkg-config leads to.
flags_for() {
  echo "-O2 -g -DHEADERS=$(cat "$1"/include/smdebug/*.h | cksum | cut -d' ' -f1)"
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
