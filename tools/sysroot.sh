#!/bin/sh
# Fills a folder with Debian's headers and libraries for another architecture, to cross-compile
# against: sysroot.sh ARCHITECTURE FOLDER.  The packages of this machine stay as they are.
set -eu
architecture=$1
folder=$2

packages="libc6-dev libstdc++6 libprotobuf-c-dev libcjson-dev libcurl4-openssl-dev libssl-dev
  libpcre2-dev libhwy-dev rapidjson-dev libcli11-dev libmicrohttpd-dev zlib1g-dev libgtest-dev libgmock-dev"
# The cross compiler brings its own libstdc++, which must not be newer than the sysroot's.
suite=$(. /etc/os-release && echo "${ID}/${VERSION_CODENAME:-}")
case "$suite" in
  debian/?*) suite=${suite#debian/} ;;
  *) echo "sysroot.sh: needs Debian, this is ${suite%/*}; run it in a container of Debian" >&2; exit 1 ;;
esac

# A second process waits while the first one fills the folder.
mkdir -p "$(dirname "$folder")"
exec 9> "$folder.lock"
flock 9
wanted=$(echo "$suite" "$architecture" $packages)
[ "$(cat "$folder/made_from" 2>/dev/null)" = "$wanted" ] && exit 0

echo "Preparing Debian's libraries for $architecture in $folder"
rm -rf "$folder" "$folder.new"
mmdebstrap --quiet --variant=extract --architectures="$architecture" \
  --include="$(echo $packages | tr ' ' ,)" "$suite" "$folder.new" > "$folder.log" 2>&1 ||
  { cat "$folder.log" >&2; exit 1; }
# QEMU would take these, where they exist, in place of the machine's own.
rm -rf "$folder.new/dev" "$folder.new/etc" "$folder.new/tmp" "$folder.new/var"
# Links such as libm.so -> /lib/... would lead to the libraries of this machine.
find "$folder.new" -type l -lname '/*' | while read -r link; do
  ln -srfn "$folder.new$(readlink "$link")" "$link"
done
echo "$wanted" > "$folder.new/made_from"
mv "$folder.new" "$folder"
rm "$folder.log"
