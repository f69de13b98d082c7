# Source this in the project's folder.  It sets `version`, and the time of this commit for all tools
# that write times, and defines pack.
version="$(sed -n 's/^project(smdebug VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
timestamp="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"

# Packs FOLDER/NAME into TO/NAME.tar.gz; equal files make equal bytes: pack FOLDER NAME TO.
pack() {
  tar -c -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u+rw,go=rX "$2" | gzip -9n > "$3/$2.tar.gz"
}
