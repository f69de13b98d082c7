#!/bin/sh
# Makes a static library that needs nothing but the C library: one_archive.sh COMPILER EXPORTED
# OUTPUT FILES...  FILES are objects, and the archives from which they need parts; the C++ library
# of COMPILER, a folder of tools/portable_compiler.sh, is added.  All is one object, in which only
# the symbols that the pattern EXPORTED matches are left: nothing clashes with a program's own copies.
set -eu
compiler=$1
exported=$2
output=$3
shift 3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The archives that the compiler links into a C++ program.
echo 'int main() {}' > "$scratch/empty.cc"
"$compiler/clang++" -v -O2 -fPIC -shared "$scratch/empty.cc" -o "$scratch/empty" 2> "$scratch/said"
runtime=$(grep '^ld.lld ' "$scratch/said" | tr ' ' '\n' |
  grep -e '/libc++\.a$' -e '/libc++abi\.a$' -e '/libunwind\.a$' -e '/libcompiler_rt\.a$')
[ "$(echo "$runtime" | wc -l)" = 4 ] ||
  { echo "one_archive.sh: $compiler/clang++ names no C++ library to link" >&2; exit 1; }

# Uninitialized variables get a place (-d), as those without one stay global.  Section groups must go:
# their names, local afterwards, would still be matched with a program's.
tools=$(sed -n 's/^# .* for \([a-z0-9_]*\)-.*/\1-linux-gnu-/p' "$compiler/clang")
"${tools}ld" -r -d --force-group-allocation -o "$scratch/smdebug.o" --start-group "$@" $runtime --end-group
"${tools}objcopy" --wildcard --keep-global-symbol="$exported" --strip-unneeded "$scratch/smdebug.o"
rm -f "$output"
"${tools}ar" rcsD "$output" "$scratch/smdebug.o"
