#!/bin/sh
# Packs the Rust crates as their registry has them: crates.sh FOLDER.
set -eu
. "$(dirname "$0")/pack_env.sh"
cd "$here/bindings/rust"
cargo package --quiet --no-verify --allow-dirty --locked --workspace --target-dir "$scratch"
cp "$scratch"/package/*.crate "$to"
