#!/bin/sh
# check_header.sh HEADER: the contract compiles alone, as C11 and as C++11, without a warning, by every compiler that is
# there. A header is compiled as a user meets it: as the first line of a file.
set -u
header=$1
compiled=0
status=0
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
for attempt in "gcc c c11" "clang c c11" "g++ c++ c++11" "clang++ c++ c++11"; do
  # shellcheck disable=SC2086
  set -- $attempt
  if ! command -v "$1" >/dev/null; then
    echo "$1: not here, left out"
    continue
  fi
  compiled=$((compiled + 1))
  # shellcheck disable=SC2086
  if ! printf '#include "%s"\n' "$header" | "$1" -x "$2" -std="$3" -fsyntax-only $warnings -; then
    echo "$1 -std=$3: refuses $header"
    status=1
  fi
done
if [ $compiled -eq 0 ]; then
  echo "no compiler was found"
  exit 1
fi
exit $status
