#!/bin/sh
# Prints the folder in which tests put their files: in memory, where they take less time, if 8 GiB are
# free there and programs can run there; else the folder that all programs use.
set -eu
memory=/dev/shm
usual=${TMPDIR:-/tmp}
wanted=8388608  # KiB

free=$(df -Pk "$memory" 2> /dev/null | awk 'NR == 2 { print $4 }')
available=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
if [ "${free:-0}" -lt "$wanted" ] || [ "${available:-0}" -lt "$wanted" ] || [ ! -w "$memory" ]; then
  echo "$usual"
  exit
fi
program=$(mktemp "$memory/smdebug.XXXXXX")
printf '#!/bin/sh\n' > "$program"
chmod +x "$program"
if "$program" 2> /dev/null; then echo "$memory"; else echo "$usual"; fi
rm -f "$program"
