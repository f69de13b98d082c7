#!/bin/sh
# Runs Maven on the project of this folder, with the cache's repository: maven.sh LOG SECONDS
# ARGUMENTS...  Uses the network only if something is missing.
set -eu

log="$1"
seconds="$2"
shift 2
repository="${SMDEBUG_MAVEN_REPOSITORY:-${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug/maven}"
set -- -B -q -Dstyle.color=never -Dmaven.repo.local="$repository" "$@"
timeout "$seconds" mvn -o "$@" >"$log" 2>&1 && exit
if grep -q -e 'offline mode' -e 'No plugin found' "$log"; then
  timeout "$seconds" mvn "$@" >"$log" 2>&1 && exit
fi
cat "$log"
exit 1
