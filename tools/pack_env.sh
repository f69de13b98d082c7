# Source this in a script whose first argument is the folder for what it makes.  It makes the folder
# and sets `to`, its path; `here`, the project's folder; and `scratch`, a folder that is removed at
# the end.
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
