#!/bin/sh
# new_plugins.sh CMAKE BUILD: installs BUILD into a temporary prefix; what its `pe-run new` writes builds there with
# each compiler and keeps the contract untouched: three sites, two languages. Its own tests (`check --level deep`, a run
# of its config) are run once per site and language.
set -eu
cmake=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/install.sh"
log=$work/log
install_into "$work/prefix"
# find_package looks beside the programs on the PATH.
PATH=$work/prefix/bin:$PATH
export PATH
unset CFLAGS CXXFLAGS LDFLAGS CMAKE_PREFIX_PATH || true
cd "$work"

built=0
for pair in gcc:g++ clang:clang++; do
  CC=${pair%:*} CXX=${pair#*:}
  export CC CXX
  if ! command -v "$CC" >/dev/null || ! command -v "$CXX" >/dev/null; then
    echo "$CC or $CXX is not there"
    continue
  fi
  mkdir "$work/$CC"
  cd "$work/$CC"
  for language in c c++; do
    for site in embed qk bias; do
      name=mine_$site
      if [ "$language" = c++ ]; then name=${name}_cxx; fi
      run pe-run new "$name" --site "$site" --lang "$language"
      run "$cmake" -S "$name" -B "$name/build"
      run "$cmake" --build "$name/build"
      if grep -i warning "$log"; then echo "$CC warns in $name" >&2; exit 1; fi
      if [ $built -lt 6 ]; then
        run ctest --test-dir "$name/build" --output-on-failure
        grep -q '100% tests passed, 0 tests failed out of 2' "$log" || { cat "$log" >&2; exit 1; }
      else
        run pe-run check "$name/build/$name.so" --level quick
      fi
      built=$((built + 1))
    done
  done
done
[ $built -gt 0 ] || { echo "no compiler" >&2; exit 1; }
echo "$built new plugins built, checked and run"
