#!/bin/sh
# Packs the Rust crates as their registry has them: crates.sh FOLDER.
set -eu
mkdir -p "$1"
to=$(cd "$1" && pwd)
cd "$(dirname "$0")/../bindings/rust"
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
cargo package --quiet --no-verify --allow-dirty --locked --workspace --target-dir "$target"
cp "$target"/package/*.crate "$to"
