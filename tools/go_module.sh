#!/bin/sh
# Makes the Go module of a release: go_module.sh FOLDER BUILD...  FOLDER gets the files of a module
# proxy.  The module holds the static library of each BUILD of tools/portable.sh and the headers, so
# that its users need neither; the build tag smdebug_system selects the library that pkg-config finds.
set -eu
. "$(dirname "$0")/pack_env.sh"
shift
cp -r "$here/bindings/go" "$scratch/go"
raw="$scratch/go/internal/raw"

# Go names architectures its own way.  `go mod vendor` copies folders that are packages.
constraint=
for build in "$@"; do
  architecture=$(basename "$build"/java/native/linux-*)
  architecture=${architecture#linux-}
  case "$architecture" in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac
  cp "$build/lib/libsmdebug.a" "$raw/libsmdebug_linux_$architecture.a"
  constraint="$constraint${constraint:+ || }$architecture"
  cat > "$raw/link_linux_$architecture.go" <<END
//go:build !smdebug_system

package raw

// #cgo CFLAGS: -I\${SRCDIR}/include
// #cgo LDFLAGS: \${SRCDIR}/libsmdebug_linux_$architecture.a -lm -lpthread -ldl
import "C"

import (
	_ "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw/include"
	_ "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw/include/smdebug"
	_ "github.com/libsmdebug/libsmdebug/bindings/go/internal/raw/include/smdebug/sys"
)
END
done
sed -i "1i //go:build smdebug_system || !linux || !($constraint)\n" "$raw/link_system.go"
mkdir "$raw/include"
(cd "$here/capi/include" && find . -name '*.h' | tar -c -T -) | tar -x -C "$raw/include"
for each in include include/smdebug include/smdebug/sys; do
  printf '// Package %s holds headers of C.\npackage %s\n' "${each##*/}" "${each##*/}" > "$raw/$each/doc.go"
done
cp "$here/LICENSE" "$scratch/go"
cp -r "$1/java/licenses" "$scratch/go/licenses"
python3 "$here/tools/go_proxy.py" "$to" "$scratch/go" \
  "v$(cd "$here" && . tools/release_env.sh && echo "$version")"
