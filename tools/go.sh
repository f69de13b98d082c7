#!/bin/sh
# Prints the path of a Go of version 1.24 or newer: the system's, or else the one from PyPI,
# installed into the folder of the first argument.
set -eu

here="$(cd "$(dirname "$0")/.." && pwd)"
go="$(command -v go || true)"
case "$(GOTOOLCHAIN=local "${go:-false}" version 2>/dev/null || true)" in
  *go1.2[4-9]* | *go1.[3-9][0-9]*) ;;
  *)
    "$here/tools/venv.sh" "$1" "$here/tests/s3/go-requirements.txt" >&2
    go="$1/bin/go"
    ;;
esac
echo "$go"
