#!/bin/sh
# Makes the environments that hooks of frameworks are tested in:
# framework_environments.sh CACHE [FRAMEWORK...]
#
# One is made from tests/frameworks/<framework>/requirements.txt, and from original.txt one
# that the original runs in, if there is that file.  A first line "# system: GROUP" asks for
# a group of packages of setup.sh, and for Debian's Python.
set -eu

cache=$1/frameworks
shift
[ $# -gt 0 ] || set -- $(cd tests/frameworks && ls -d */requirements.txt | sed 's|/.*||')
mkdir -p "$cache"

# environment FOLDER REQUIREMENTS
environment() {
  group=$(sed -n '1s/^# system: //p' "$2")
  if [ -n "$group" ]; then
    tools/setup.sh "$group"
    VENV_PYTHON=/usr/bin/python3 VENV_OPTIONS=--system-site-packages tools/venv.sh "$1" "$2"
  else
    tools/venv.sh "$1" "$2"
  fi
}

for framework in "$@"; do
  tests=tests/frameworks/$framework
  environment "$cache/$framework" "$tests/requirements.txt"
  [ ! -f "$tests/original.txt" ] || environment "$cache/$framework-original" "$tests/original.txt"
done
