#!/bin/sh
# Creates the Python environments in which the framework hooks are tested:
# framework_environments.sh CACHE [FRAMEWORK...]
#
# Each is created from tests/frameworks/<framework>/requirements.txt.  If there is an
# original.txt, a second one is created from it, in which the original runs.  A first line
# "# system: GROUP" selects a group of packages of setup.sh, and Debian's Python.
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
