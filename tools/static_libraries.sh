#!/bin/sh
# Builds the third-party libraries for packages without dependencies: static_libraries.sh SYSTEM
# FOLDER.  SYSTEM is x86_64 or aarch64, or x86_64-musl for Alpine Linux.  FOLDER gets bin/ with the
# compiler, include/ and lib/ with curl (HTTP and HTTPS only), OpenSSL, cJSON, PCRE2, Highway, zlib,
# libmicrohttpd and headers, built from Debian's sources with Debian's patches; licenses/ with the
# licenses of everything in such packages; and parts.txt with the versions.  The script changes
# nothing on the system and needs no privileges.  It does nothing if the folder is complete.
set -eu

system=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
jobs=${JOBS:-$(nproc)}
# glibc of the oldest version that Zig and 64-bit ARM have.
case "$system" in
  x86_64) target=x86_64-linux-gnu.2.17 openssl_target=linux-x86_64-clang ;;
  aarch64) target=aarch64-linux-gnu.2.17 openssl_target=linux-aarch64 ;;
  x86_64-musl) target=x86_64-linux-musl openssl_target=linux-x86_64-clang ;;
  *) echo "static_libraries.sh: unknown system '$system'; it must be x86_64, aarch64 or x86_64-musl" >&2; exit 2 ;;
esac
host=${system%-musl}-linux-gnu
sources="openssl curl pcre2 cjson highway zlib libmicrohttpd rapidjson cli11"
# The tests run where this machine's kernel runs the programs.
[ "$system" != x86_64-musl ] || sources="$sources protobuf_c googletest"

# A second process waits while the first one fills the folder.
exec 9> "$folder.lock"
flock 9
"$here/portable_compiler.sh" "$target" "$folder/bin"
stamp="$folder/made_from"
# Updates of Debian's packages that apt knows of build the libraries again.
wanted=$(printf '%s ' "$target"; {
  cat "$here/static_libraries.sh" "$here/portable.txt"
  LC_ALL=C apt-cache policy libssl-dev libcurl4-openssl-dev libpcre2-dev libcjson-dev libhwy-dev \
    libmicrohttpd-dev zlib1g-dev rapidjson-dev libcli11-dev | grep Candidate
} | sha256sum)
[ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && exit 0

scratch=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
log="$folder/build.log"

fail() {
  echo "static_libraries.sh: $1" >&2
  exit 1
}

quietly() {
  message=$1
  shift
  "$@" > "$log" 2>&1 || { tail -n 20 "$log" >&2; fail "$message"; }
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
  quietly "the lists of Debian's source packages cannot be fetched" own apt-get update
}

own() {
  program=$1
  shift
  "$program" -q -o Dir::Etc::SourceList="$scratch/sources.list" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$scratch/lists" -o Dir::Cache="$scratch/cache" \
    -o APT::Sandbox::User= "$@"
}

# Unpacks and patches a source package in $scratch/<package>, and changes to that folder.  A mirror
# may list a version that it lacks, or has in one suite only; then the newest that it has is taken.
fetch() {
  mkdir "$scratch/$1.source"
  cd "$scratch/$1.source"
  newest=
  for listed in $(own apt-cache madison "$1" | awk '$NF == "Sources" { print $3 "/" $6 }' | sort -Vru); do
    version=${listed%%/*}
    newest=${newest:-$version}
    suite=${listed#*/}
    own apt-get source --only-source "$1=$version" > "$log" 2>&1 ||
      own apt-get source --only-source "$1/${suite%%/*}" > "$log" 2>&1 || continue
    mv "$scratch/$1.source"/*/ "$scratch/$1"
    cd "$scratch/$1"
    version=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
    [ "$version" = "$newest" ] ||
      echo "static_libraries.sh: the mirror lacks $1 $newest; version $version is used" >&2
    cp debian/copyright "$folder/licenses/$1.txt"
    echo "$1 $version" >> "$folder/parts.txt"
    return
  done
  tail -n 20 "$log" >&2
  fail "no version of the source package $1 can be fetched"
}

# Compilers that drop unused code and the paths of this build, which do not show in what the
# libraries say of their own build.
prepare_compiler() {
  mkdir "$scratch/compiler"
  for program in clang clang++; do
    printf '#!/bin/sh\nexec "%s" -ffile-prefix-map="%s"=. "$@"\n' \
      "$folder/bin/$program" "$scratch" > "$scratch/compiler/$program"
    chmod +x "$scratch/compiler/$program"
  done
  PATH="$scratch/compiler:$folder/bin:$PATH"
  CC=clang CXX=clang++ AR=ar RANLIB=ranlib SOURCE_DATE_EPOCH=0
  CFLAGS="-O2 -g0 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections"
  CXXFLAGS="$CFLAGS -fvisibility-inlines-hidden"
  PKG_CONFIG_LIBDIR="$folder/lib/pkgconfig"
  export PATH CC CXX AR RANLIB SOURCE_DATE_EPOCH CFLAGS CXXFLAGS PKG_CONFIG_LIBDIR
}

# What TLS 1.0 to 1.3 and digests need, and nothing that is loaded at run time.
build_openssl() {
  fetch openssl
  quietly "OpenSSL cannot be configured" perl Configure "$openssl_target" --prefix=/usr \
    --openssldir=/etc/ssl --libdir=lib no-shared no-tests no-dso no-engine no-legacy no-module \
    no-autoload-config no-async no-dtls no-psk no-srp no-ct no-comp no-cms no-ts no-cmp no-rfc3779 \
    no-ec2m no-idea no-seed no-camellia no-aria no-bf no-cast no-rc2 no-rc4 no-md4 no-mdc2 \
    no-whirlpool no-rmd160 no-sm2 no-sm3 no-sm4 no-siphash no-blake2 no-scrypt no-gost
  quietly "OpenSSL cannot be built" make -s -j "$jobs" build_libs
  cp libssl.a libcrypto.a "$folder/lib"
  cp -r include/openssl "$folder/include"
  version=$(sed -n 's/^# define OPENSSL_VERSION_STR "\(.*\)"/\1/p' include/openssl/opensslv.h)
  write_module libcrypto "$version" "-lcrypto -ldl -pthread"
  write_module libssl "$version" "-lssl -lcrypto -ldl -pthread"
  write_module openssl "$version" "-lssl -lcrypto -ldl -pthread"
}

build_curl() {
  fetch curl
  # The path of the certificates is found at run time, because it differs between systems.
  quietly "curl cannot be configured" ./configure --prefix="$folder" \
    --host="$host" \
    --disable-shared --enable-static --with-openssl --enable-threaded-resolver --enable-ipv6 \
    --without-ca-bundle --without-ca-path --disable-openssl-auto-load-config \
    --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict \
    --disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp \
    --disable-gopher --disable-mqtt --disable-manual --disable-cookies --disable-alt-svc \
    --disable-hsts --disable-doh --disable-netrc --disable-ntlm --disable-ntlm-wb \
    --disable-tls-srp --disable-unix-sockets --disable-aws --disable-mime --disable-dateparse \
    --disable-ares --without-zlib --without-brotli --without-zstd --without-libpsl \
    --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --without-gssapi
  quietly "curl cannot be built" make -s -j "$jobs" -C lib install
  quietly "curl's headers cannot be installed" make -s -C include install
  quietly "curl's module cannot be installed" make -s install-pkgconfigDATA
}

build_pcre2() {
  fetch pcre2
  quietly "PCRE2 cannot be configured" ./configure --prefix="$folder" \
    --host="$host" --disable-shared --enable-static --enable-jit
  quietly "PCRE2 cannot be built" make -s -j "$jobs" libpcre2-8.la
  quietly "PCRE2 cannot be installed" make -s install-includeHEADERS \
    install-nodist_includeHEADERS install-pkgconfigDATA
  cp .libs/libpcre2-8.a "$folder/lib"
}

build_cjson() {
  fetch cjson
  quietly "cJSON cannot be built" clang $CFLAGS -c cJSON.c -o cJSON.o
  ar rcsD "$folder/lib/libcjson.a" cJSON.o
  mkdir -p "$folder/include/cjson"
  cp cJSON.h "$folder/include/cjson"
  write_module libcjson "$(sed -n 's/^#define CJSON_VERSION_[A-Z]* //p' cJSON.h | paste -sd .)" -lcjson
}

build_highway() {
  fetch highway
  quietly "Highway cannot be built" clang++ $CXXFLAGS -std=c++17 -I. -c hwy/targets.cc -o targets.o
  ar rcsD "$folder/lib/libhwy.a" targets.o
  find hwy -name '*.h' | grep -v -e /tests/ -e /examples/ -e /contrib/ |
    tar -c -T - | tar -x -C "$folder/include"
  write_module libhwy "$(sed -n 's/^#define HWY_\(MAJOR\|MINOR\|PATCH\) //p' hwy/base.h hwy/highway.h |
    paste -sd .)" -lhwy
}

build_zlib() {
  fetch zlib
  quietly "zlib cannot be configured" ./configure --static --prefix="$folder"
  quietly "zlib cannot be built" make -s -j "$jobs" libz.a
  cp libz.a "$folder/lib"
  cp zlib.h zconf.h "$folder/include"
  write_module zlib "$(sed -n 's/^#define ZLIB_VERSION "\(.*\)"/\1/p' zlib.h)" -lz
}

# Without TLS, which needs GnuTLS: packages for all systems cannot carry another copy of that.
build_libmicrohttpd() {
  fetch libmicrohttpd
  quietly "libmicrohttpd cannot be configured" ./configure --prefix="$folder" \
    --host="$host" \
    --disable-shared --enable-static --with-pic --disable-https --disable-bauth --disable-dauth \
    --disable-postprocessor --disable-httpupgrade --disable-doc --disable-examples --disable-curl \
    --disable-nls
  quietly "libmicrohttpd cannot be built" make -s -j "$jobs" -C src/microhttpd install
  quietly "libmicrohttpd's headers cannot be installed" make -s -C src/include install
  quietly "libmicrohttpd's module cannot be installed" make -s install-pkgconfigDATA
}

build_rapidjson() {
  fetch rapidjson
  cp -r include/rapidjson "$folder/include"
}

build_cli11() {
  fetch cli11
  cp -r include/CLI "$folder/include"
}

build_protobuf_c() {
  fetch protobuf-c
  quietly "protobuf-c cannot be built" clang $CFLAGS -I. -c protobuf-c/protobuf-c.c -o protobuf-c.o
  ar rcsD "$folder/lib/libprotobuf-c.a" protobuf-c.o
  mkdir -p "$folder/include/protobuf-c"
  cp protobuf-c/protobuf-c.h "$folder/include/protobuf-c"
  write_module libprotobuf-c "$(sed -n 's/^#define PROTOBUF_C_VERSION[[:space:]]*"\(.*\)"/\1/p' protobuf-c/protobuf-c.h)" \
    -lprotobuf-c
}

build_googletest() {
  fetch googletest
  for part in googletest googlemock; do
    name=$(echo "$part" | sed 's/oogle//')
    for each in all main; do
      case "$each" in all) file="$name-all" ;; main) file="${name}_main" ;; esac
      quietly "GoogleTest cannot be built" clang++ $CXXFLAGS -std=c++17 -fvisibility=default -Igoogletest -Igoogletest/include \
        -Igooglemock -Igooglemock/include -c "$part/src/$file.cc" -o "$file.o"
    done
    ar rcsD "$folder/lib/lib$name.a" "$name-all.o"
    ar rcsD "$folder/lib/lib${name}_main.a" "${name}_main.o"
    cp -r "$part/include/$name" "$folder/include"
  done
}

# A module of pkg-config: NAME VERSION LIBRARIES.
write_module() {
  printf 'prefix=%s\nName: %s\nDescription: %s\nVersion: %s\nLibs: -L${prefix}/lib %s\nCflags: -I${prefix}/include\n' \
    "$folder" "$1" "$1" "$2" "$3" > "$folder/lib/pkgconfig/$1.pc"
}

# The C++ runtime, which packages link in, and parts of the C library for old systems.
copy_compiler_licenses() {
  zig=$(dirname "$(sed -n 's/^exec "\([^"]*\)".*/\1/p' "$folder/bin/clang")")
  for name in libcxx libcxxabi libunwind; do
    cp "$zig/lib/$name/LICENSE.TXT" "$folder/licenses/$name.txt"
  done
  echo "llvm-runtime $("$folder/bin/clang" --version | sed -n 's/^clang version \([0-9.]*\).*/\1/p')" \
    >> "$folder/parts.txt"
}

for program in apt-get dpkg-source make perl; do
  command -v "$program" >/dev/null || fail "the program $program is missing; install it"
done
echo "Building third-party libraries for $target in $folder"
rm -rf "$folder/lib" "$folder/include" "$folder/licenses" "$folder/parts.txt" "$stamp"
mkdir -p "$folder/lib/pkgconfig" "$folder/include" "$folder/licenses"
prepare_apt
prepare_compiler
for each in $sources; do "build_$each"; done
copy_compiler_licenses
rm -f "$log"
printf '%s\n' "$wanted" > "$stamp"
