#!/bin/sh
# Prepares a cross compiler: portable_compiler.sh TARGET FOLDER.  FOLDER gets the programs clang,
# clang++, ar and ranlib, which compile for TARGET on any machine: x86_64-linux-gnu.2.17 is Linux
# on x86-64 with glibc 2.17 or later.  The C++ library is LLVM's, linked statically.
set -eu
target=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug

mkdir -p "$cache"
"$here/venv.sh" "$cache/portable" "$here/portable.txt"
zig=$(echo "$cache"/portable/lib/python3*/site-packages/ziglang/zig)
[ -x "$zig" ] || { echo "portable_compiler.sh: the package ziglang has no program $zig" >&2; exit 1; }

# A program keeps its bytes and its time, by which ccache and CMake know it.
write() {
  printf '#!/bin/sh\n# %s for %s\nexport ZIG_GLOBAL_CACHE_DIR="%s" ZIG_LOCAL_CACHE_DIR="%s"\nexec "%s" %s "$@"\n' \
    "$(sed -n 's/^ziglang==/Zig /p' "$here/portable.txt")" "$target" \
    "$cache/portable/objects" "$cache/portable/objects" "$zig" "$2" > "$folder/$1.new"
  chmod +x "$folder/$1.new"
  if cmp -s "$folder/$1.new" "$folder/$1"; then rm "$folder/$1.new"; else mv "$folder/$1.new" "$folder/$1"; fi
}
write clang "cc -target $target"
write clang++ "c++ -target $target"
write ar ar
write ranlib ranlib
