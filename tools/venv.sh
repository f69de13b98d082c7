#!/bin/sh
# Makes or completes a Python environment: venv.sh FOLDER REQUIREMENTS...
# A folder that already holds exactly these requirements is left alone.
set -eu

folder=$1
shift
stamp="$folder/requirements.sha256"
wanted=$({ python3 --version; cat "$@"; } | sha256sum)
[ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && exit 0

echo "Preparing the Python environment $folder"
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
for requirements in "$@"; do
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
done
printf '%s\n' "$wanted" > "$stamp"
