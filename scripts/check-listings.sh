#!/bin/sh
# check-listings.sh: a listing in README.md or docs/ is the file that the tests build. The line before its fence names
# it: <!-- listing: PATH -->
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
listings=0
for document in README.md docs/*.md; do
  for path in $(sed -n 's/^<!-- listing: \(.*\) -->$/\1/p' "$document"); do
    awk -v marker="<!-- listing: $path -->" '
      $0 == marker { armed = 1; next }
      armed && /^```/ { inside = 1; armed = 0; next }
      /^```$/ { inside = 0 }
      inside { print }' "$document" >"$work/listing"
    listings=$((listings + 1))
    if ! diff -u "$path" "$work/listing" >"$work/difference"; then
      echo "$document differs from $path:"
      cat "$work/difference"
      failed=1
    fi
  done
done
echo "$listings listings"
[ $listings -ge 8 ] || failed=1
exit $failed
