#!/bin/sh
# Makes or completes a Python environment: venv.sh FOLDER REQUIREMENTS...
# A folder that already holds exactly these requirements is left alone.  VENV_PYTHON is the
# Python it is made of, VENV_OPTIONS are those of its module venv.
set -eu

folder=$1
shift
# Who comes while another makes it waits.
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
