#!/bin/sh
# Creates or completes a Python environment: venv.sh FOLDER REQUIREMENTS...
# It does nothing if the folder already holds exactly these requirements.  VENV_PYTHON is the
# Python to use; VENV_OPTIONS are options of its module venv.
set -eu

folder=$1
shift
# A second process waits while the first one creates the environment.
mkdir -p "$(dirname "$folder")"
exec 9> "$folder.lock"
flock 9
stamp="$folder/requirements.sha256"
python=${VENV_PYTHON:-python3}
wanted=$({ "$python" --version; cat "$@"; } | sha256sum)
[ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && exit 0

echo "Preparing the Python environment $folder"
[ -x "$folder/bin/python" ] || "$python" -m venv ${VENV_OPTIONS:-} "$folder"
for requirements in "$@"; do
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
done
printf '%s\n' "$wanted" > "$stamp"
