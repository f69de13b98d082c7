#!/bin/sh
# Tests the Go binding with the library of a build folder: test_go.sh BUILD [STEP...].
# Without steps it runs all but bench.  BUILD/go keeps the installed library and the build.
# SMDEBUG_SWIG names the SWIG program.  If Go is missing, it is installed into SMDEBUG_GO.
set -eu

here="$(cd "$(dirname "$0")/.." && pwd)"
build="$(cd "$1" && pwd)"
shift
module="$here/bindings/go"
version="v$(cd "$here" && . tools/release_env.sh && echo "$version")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# An older installation has other headers.
rm -rf "$build/go/prefix"
. "$here/tools/go_env.sh"

in_module() { (cd "$module" && timeout 600 "$@"); }

# Checks that the committed files equal SWIG's output.
generated() {
  timeout 60 "$here/tools/go_generate.sh" "$scratch"
  for file in raw.go raw_wrap.c; do
    cmp "$scratch/$file" "$module/internal/raw/$file" || {
      echo "$file differs from SWIG's output for the headers: run tools/go_generate.sh" >&2
      return 1
    }
  done
}

lint() {
  badly="$("$gofmt" -l "$module" "$here/examples/go" "$here/tests/go" \
    "$here/tests/faults/go" | grep -v internal/raw/raw.go || true)"
  [ -z "$badly" ] || { echo "gofmt would change $badly" >&2; return 1; }
  in_module "$go" vet ./smdebug ./internal/conformance
  # SWIG stores addresses as integers.
  in_module "$go" vet -unsafeptr=false ./internal/raw
  in_module "$go" run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./smdebug ./internal/conformance
}

unit() { in_module "$go" test -timeout 300s ./...; }

# The race detector has memory of its own, so the leak tests are skipped.
race() { in_module "$go" test -timeout 500s -race -skip DoNotLeak ./...; }

conformance() { in_module "$go" build -o "$place/conformance" ./internal/conformance; }

# A module elsewhere gets this one from a proxy and does not need SWIG.
consumer() {
  python3 "$here/tools/go_proxy.py" "$scratch/proxy" "$module" "$version"
  mkdir "$scratch/consumer" "$scratch/bin"
  printf '#!/bin/sh\necho "a user needs no swig" >&2\nexit 1\n' > "$scratch/bin/swig"
  chmod +x "$scratch/bin/swig"
  cp "$here/tests/go/consumer.go" "$scratch/consumer/main.go"
  (
    cd "$scratch/consumer"
    export PATH="$scratch/bin:$PATH" GOMODCACHE="$scratch/modules" GOFLAGS="-modcacherw"
    export GOPROXY="file://$scratch/proxy" GOSUMDB=off
    timeout 60 "$go" mod init consumer.test/consumer 2> /dev/null
    timeout 60 "$go" get github.com/libsmdebug/libsmdebug/bindings/go@"$version" 2> /dev/null
    timeout 300 "$go" build -o consumer .
    timeout 60 ./consumer run | grep -F '[loss]'

    # A program built for a later library must report that.
    cp -r "$prefix" "$scratch/later"
    sed -i 's/^#define SMD_VERSION_MINOR .*/#define SMD_VERSION_MINOR 99/' \
      "$scratch/later/include/smdebug/version.h"
    CGO_CFLAGS="$(flags_for "$scratch/later")" PKG_CONFIG_PATH="$scratch/later/lib/pkgconfig" \
      timeout 300 "$go" build -o later .
    timeout 60 ./later run2 | grep -E '^true .*1\.99'
  )
}

# Failing calls below the library become Go errors, and no data is lost.
faults() {
  (
    cd "$here/tests/faults/go"
    CGO_CFLAGS="$CGO_CFLAGS -I$here/tests/faults" \
      CGO_LDFLAGS="$CGO_LDFLAGS -Wl,-rpath,$build/lib -L$build/lib -lfault_failing_calls" \
      timeout 300 "$go" build -o "$place/faults" .
    FAULT_UNDER=libsmdebug.so timeout 600 "$place/faults" "$scratch/faults" 2> "$scratch/said" || {
      tail -n 40 "$scratch/said" >&2
      return 1
    }
  )
}

bench() { in_module "$go" test -run '^$' -bench Save16Floats ./smdebug; }

# The example trains and prints the expected lines.
example() {
  (
    cd "$here/examples/go"
    timeout 600 "$go" build -o "$place/example" .
    timeout 120 "$place/example" -out "$scratch/run" > "$scratch/said"
    diff "$here/examples/go/expected.txt" "$scratch/said"
  )
}

for step in ${*:-generated lint unit race conformance consumer example faults}; do
  echo "go: $step"
  "$step"
done
