#!/bin/sh
# Builds the servers for tests, each only once, into the folder of the first argument:
# versitygw, minio (S3) and toxiproxy (injected faults).
set -eu

folder="$1"
shift
mkdir -p "$folder"

here="$(cd "$(dirname "$0")/.." && pwd)"

build() {
  name="$1"
  package="$2"
  [ -x "$folder/$name" ] && return
  # Debian's Go is too old for these servers.
  go="$("$here/tools/go.sh" "$folder/go")"
  echo "Building $name"
  scratch="$(mktemp -d "$folder/build.XXXXXX")"
  # An interrupted build must not leave a partial program.
  CGO_ENABLED=0 GOBIN="$scratch" "$go" install -trimpath -ldflags='-s -w' "$package"
  mv "$scratch"/* "$folder/$name"
  rmdir "$scratch"
}

for server in "$@"; do
  case "$server" in
    versitygw) build versitygw github.com/versity/versitygw/cmd/versitygw@v1.8.0 ;;
    minio) build minio github.com/minio/minio@latest ;;
    toxiproxy) build toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0 ;;
    *) echo "servers.sh: unknown server '$server'" >&2; exit 2 ;;
  esac
done
