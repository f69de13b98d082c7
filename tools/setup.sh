#!/bin/sh
# Installs missing Debian packages and prints their names.  The arguments select groups of
# packages: demo (alone), or build (always), lint, fuzz, bench, embed, registries, java, torch, pytorch, portable,
# browser, musl, aarch64, shells.
set -eu

demo="g++ make cmake ninja-build pkg-config libcjson-dev libpcre2-dev libhwy-dev rapidjson-dev python3 python3-dev
  python3-venv"
build="$demo ccache libprotobuf-c-dev protobuf-c-compiler libcurl4-openssl-dev libssl-dev libcli11-dev
  libmicrohttpd-dev zlib1g-dev libgtest-dev libgmock-dev openssl"
lint="clang clang-format clang-tidy abigail-tools"
fuzz="clang libclang-rt-14-dev"
bench="libbenchmark-dev"
# Packages for tests/embed.
embed="clang luajit ruby dpkg-dev lintian"
# Programs that pack for the registries of Node.js and Rust; they may also come from elsewhere.
registries=""
command -v npm >/dev/null || registries="nodejs npm"
command -v cargo >/dev/null || registries="$registries rustc-web cargo-web"
java="default-jdk-headless maven unzip"
torch="libtorch-dev"
pytorch="python3-torch python3-venv"
# Packages to build and try the files of a release, for both architectures.
portable="dpkg-dev make perl binutils binutils-aarch64-linux-gnu qemu-user-static mmdebstrap"
musl="dpkg-dev make perl musl"
aarch64="g++-aarch64-linux-gnu qemu-user-static mmdebstrap"
# Packages for tests of HTML pages.
browser="chromium chromium-driver"
command -v npm >/dev/null || browser="$browser nodejs npm"
# Shells whose completions are tested.
shells="zsh fish"

wanted="$build"
for group in "$@"; do
  case "$group" in
    demo) wanted="$demo" ;;
    lint) wanted="$wanted $lint" ;;
    fuzz) wanted="$wanted $fuzz" ;;
    bench) wanted="$wanted $bench" ;;
    embed) wanted="$wanted $embed $registries" ;;
    registries) wanted="$wanted $registries" ;;
    java) wanted="$wanted $java" ;;
    torch) wanted="$wanted $torch" ;;
    pytorch) wanted="$wanted $pytorch" ;;
    portable) wanted="$wanted $portable" ;;
    musl) wanted="$wanted $musl" ;;
    aarch64) wanted="$wanted $aarch64" ;;
    browser) wanted="$wanted $browser" ;;
    shells) wanted="$wanted $shells" ;;
    *) echo "setup.sh: unknown group of packages '$group'" >&2; exit 2 ;;
  esac
done

missing=""
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: apt-get is missing; install these packages:$missing" >&2
  exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
echo "Installing:$missing"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing \
  >/dev/null
