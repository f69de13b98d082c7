#!/bin/sh
# Builds the installed files twice from one commit, in folders of different names and without
# a cache.  Fails if the files differ: reproducible.sh FOLDER.
set -eu
mkdir -p "$1"
folder="$(cd "$1" && pwd)"
cd "$(dirname "$0")/.."
rm -rf "$folder/a" "$folder/another one"
commit=$(git rev-parse HEAD)
for name in a "another one"; do
  mkdir "$folder/$name"
  git archive "$commit" | tar -x -C "$folder/$name"
  CCACHE_DISABLE=1 cmake -S "$folder/$name" -B "$folder/$name/build" -DCMAKE_BUILD_TYPE=Release \
    -DSMDEBUG_TESTS=OFF > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
  CCACHE_DISABLE=1 cmake --build "$folder/$name/build" -j "$(nproc)" > "$folder/log" 2>&1 ||
    { tail -n 40 "$folder/log"; exit 1; }
  cmake --install "$folder/$name/build" --strip --prefix "$folder/$name/installed" > "$folder/log"
done
cd "$folder"
diff -r "a/installed" "another one/installed"
(cd a/installed && find . -type f -exec sha256sum {} + | sort -k 2)
