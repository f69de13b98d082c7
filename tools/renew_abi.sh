#!/bin/sh
# Writes the ABI baseline again from the built library.  A change needs a line under "ABI" in
# CHANGELOG.md.
set -eu
baseline="capi/abi/$(uname -m)-linux/libsmdebug.abi"
mkdir -p "$(dirname "$baseline")"
abidw --exported-interfaces-only --headers-dir "$PWD/capi/include" --drop-private-types \
  --no-corpus-path --no-comp-dir-path --no-show-locs build/lib/libsmdebug.so |
  sed "s| path='$PWD/| path='|" > "$baseline"
echo "$baseline: $(wc -l < "$baseline") lines"
