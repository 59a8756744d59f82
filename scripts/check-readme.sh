#!/bin/sh
# check-readme.sh: the listings of README.md are the files that the tests build.
set -eu
cd "$(dirname "$0")/.."
# listing LANGUAGE N: the N-th fenced block of that language
listing() {
  awk -v language="$1" -v wanted="$2" '
    $0 == "```" language { n++; inside = n == wanted; next }
    /^```/ { inside = 0 }
    inside { print }' README.md
}
failed=0
compare() {
  if ! listing "$2" "$3" | diff -u "$1" - >/tmp/check-readme.$$; then
    echo "README.md differs from $1:"
    cat /tmp/check-readme.$$
    failed=1
  fi
  rm -f /tmp/check-readme.$$
}
compare tests/out_of_tree/readme/root_bias.c c 1
compare tests/out_of_tree/readme/CMakeLists.txt cmake 1
exit $failed
