#!/bin/sh
# Checks layout, layers, contracts and sizes, and runs clang-tidy.  Exits with 1 on any finding.
set -eu

# Skip the files that SWIG generates.
sources() {
  git ls-files --cached --others --exclude-standard -- "$@" | grep -v '^bindings/go/internal/raw/raw'
}
status=0

sources 'cpp_impl/*.cc' 'cpp_impl/*.h' 'capi/*.cc' 'capi/*.h' 'capi/*.hpp' 'cli/*.cc' 'cli/*.h' 'tests/*.cc' 'tests/*.c' 'tests/*.h' \
    'examples/*.c' 'examples/*.cc' 'bindings/*.c' 'bindings/*.h' |
  xargs clang-format --dry-run --Werror || status=1

ctest --test-dir build --output-on-failure -L lint || status=1

# clang-tidy reads how each source is compiled by itself.
cmake --preset release -B build/lint -DSMDEBUG_UNITY=OFF > build/clang-tidy.log 2>&1 || status=1
sources 'cpp_impl/*.cc' 'capi/*.cc' |
  xargs -P "$(nproc)" -n 4 clang-tidy -p build/lint --quiet 2>>build/clang-tidy.log || status=1
sources 'cli/*.cc' |
  xargs -P "$(nproc)" -n 4 clang-tidy -p build/lint --quiet --header-filter='/cli/[a-z_]+\.h$' \
    2>>build/clang-tidy.log || status=1

.venv/bin/python -m mypy --config-file bindings/python/mypy.ini || status=1
exit $status
