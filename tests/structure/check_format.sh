#!/bin/sh
# check_format.sh ROOT: every source file is as clang-format would leave it. Exit 77: there is no clang-format.
set -u
cd "$1" || exit 1
if ! command -v clang-format >/dev/null; then
  echo "clang-format: not here, left out"
  exit 77
fi
find include plugins runner templates examples tests -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' \) |
  xargs clang-format --dry-run --Werror
