#!/bin/sh
# Builds the static libraries that Debian lacks, for packages without dependencies:
# static_libraries.sh FOLDER.  FOLDER gets include/ and lib/ with curl (HTTP and HTTPS only),
# cJSON, Highway and libmicrohttpd, built from Debian's sources with Debian's patches.  FOLDER/licenses gets
# the licenses of everything in such packages.  The script changes nothing on the system and
# needs no privileges.  It does nothing if the folder is complete.
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
stamp="$folder/made_from"
packages="libcurl4-openssl-dev libssl-dev libcjson-dev libhwy-dev libpcre2-dev rapidjson-dev libcli11-dev
  libmicrohttpd-dev zlib1g-dev"
wanted=$({
  cat "$here/static_libraries.sh"
  dpkg-query -W $packages
} | sha256sum)
[ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && exit 0

scratch=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
log="$scratch/../build.log"

fail() {
  echo "static_libraries.sh: $1" >&2
  exit 1
}

# Lists the sources of the configured packages in a list of our own.
prepare_apt() {
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -e "$keys" ] && signed="[signed-by=$keys] " || signed=""
  mkdir -p "$scratch/lists/partial" "$scratch/cache/archives/partial"
  apt-get indextargets --format "deb-src $signed\$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' 'Origin: Debian' | sort -u > "$scratch/sources.list"
  [ -s "$scratch/sources.list" ] ||
    fail "apt lists no Debian packages, whose sources are needed; run apt-get update first"
  quietly "the lists of Debian's source packages cannot be fetched" own_apt update
}

own_apt() {
  apt-get -q -o Dir::Etc::SourceList="$scratch/sources.list" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$scratch/lists" -o Dir::Cache="$scratch/cache" \
    -o APT::Sandbox::User= "$@"
}

quietly() {
  message=$1
  shift
  "$@" > "$log" 2>&1 || { tail -n 20 "$log" >&2; fail "$message"; }
}

# Unpacks and patches a source package in $scratch/<package>.
fetch() {
  mkdir "$scratch/$1.source"
  cd "$scratch/$1.source"
  quietly "the source package $1 cannot be fetched" own_apt source --only-source "$1"
  mv "$scratch/$1.source"/*/ "$scratch/$1"
  cd "$scratch/$1"
}

# Drop unused code, and the paths of this build.
CFLAGS="-O2 -g0 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
  -ffile-prefix-map=$scratch=."
CFLAGS=$(echo $CFLAGS)
export CFLAGS CXXFLAGS="$CFLAGS -fvisibility-inlines-hidden"

build_curl() {
  fetch curl
  # The path of the certificates is found at run time, because it differs between systems.
  quietly "curl cannot be configured" ./configure --prefix="$folder" \
    --disable-shared --enable-static --with-openssl --enable-threaded-resolver --enable-ipv6 \
    --without-ca-bundle --without-ca-path --disable-openssl-auto-load-config \
    --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict \
    --disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp \
    --disable-gopher --disable-mqtt --disable-manual --disable-cookies --disable-alt-svc \
    --disable-hsts --disable-doh --disable-netrc --disable-ntlm --disable-ntlm-wb \
    --disable-tls-srp --disable-unix-sockets --disable-aws --disable-mime --disable-dateparse \
    --disable-ares --without-zlib --without-brotli --without-zstd --without-libpsl \
    --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --without-gssapi
  quietly "curl cannot be built" make -s -j "$(nproc)" -C lib install
  quietly "curl's headers cannot be installed" make -s -C include install
}

build_cjson() {
  fetch cjson
  quietly "cJSON cannot be built" cc $CFLAGS -c cJSON.c -o cJSON.o
  rm -f "$folder/lib/libcjson.a"
  ar rcs "$folder/lib/libcjson.a" cJSON.o
}

build_highway() {
  fetch highway
  quietly "Highway cannot be built" c++ $CXXFLAGS -std=c++17 -I. -c hwy/targets.cc -o targets.o
  rm -f "$folder/lib/libhwy.a"
  ar rcs "$folder/lib/libhwy.a" targets.o
}

# Without TLS, which needs GnuTLS: packages for all systems cannot carry another copy of that.
build_microhttpd() {
  fetch libmicrohttpd
  quietly "libmicrohttpd cannot be configured" ./configure --prefix="$folder" \
    --disable-shared --enable-static --with-pic --disable-https --disable-bauth --disable-dauth \
    --disable-postprocessor --disable-httpupgrade --disable-doc --disable-examples --disable-curl \
    --disable-nls
  quietly "libmicrohttpd cannot be built" make -s -j "$(nproc)" -C src/microhttpd install
  quietly "libmicrohttpd's headers cannot be installed" make -s -C src/include install
}

# The licenses of all code that a package links or compiles in.
copy_licenses() {
  mkdir -p "$folder/licenses"
  for package in $packages; do
    cp "/usr/share/doc/$package/copyright" "$folder/licenses/${package%-dev}.txt"
  done
}

for program in apt-get dpkg-source cc c++ make; do
  command -v "$program" >/dev/null || fail "the program $program is missing; install it"
done
echo "Building curl, cJSON, Highway and libmicrohttpd as static libraries in $folder"
prepare_apt
mkdir -p "$folder/lib"
build_curl
build_cjson
build_highway
build_microhttpd
copy_licenses
rm -f "$log"
printf '%s\n' "$wanted" > "$stamp"
