#!/bin/sh
# out_of_tree.sh CMAKE BUILD LOADER LIBDIR: installs BUILD into a temporary prefix, moves it, and builds the plugins
# beside this script against it: by CMake with each compiler that is there, and by pkg-config alone.
set -eu
cmake=$1 build=$2 loader=$3 libdir=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
. "$here/install.sh"
install_into "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
"$loader" --folder "$prefix/$libdir/pe-run/plugins"
pe_run=$prefix/bin/pe-run
for file in man/man1/pe-run.1 man/man5/pe-run.yaml.5 bash-completion/completions/pe-run zsh/vendor-completions/_pe-run \
  fish/vendor_completions.d/pe-run.fish pe-run/docs/pe-run.schema.json pe-run/examples/rust/pe.rs; do
  [ -s "$prefix/share/$file" ] || { echo "share/$file is not installed" >&2; exit 1; }
done
cd "$work"
run "$pe_run" list
grep -q '^rope ' "$log" || { echo "the installed pe-run does not find its plugins" >&2; exit 1; }
run "$pe_run" plan "$prefix/share/pe-run/configs/equivariance.yaml"

# check_and_run PLUGIN: it keeps the contract, and runs beside others.
check_and_run() {
  name=$(basename "$1" .so)
  run "$pe_run" check "$1" --level quick
  cat >"$work/config.yaml" <<CONFIG
model: {random: {heads: 2, head_dim: 4, d_model: 8}}
schemes:
  - $name: {}
    plugin: $1
  - rope
experiments: [relative_position: {length: 8, shifts: [1, 100]}]
output: $work/results.h5
CONFIG
  run "$pe_run" "$work/config.yaml" --quiet
  [ -s "$work/results.h5" ] || { echo "$1: no results" >&2; exit 1; }
  rm "$work/results.h5"
}

compilers=0
for pair in gcc:g++ clang:clang++; do
  cc=${pair%:*} cxx=${pair#*:}
  if ! command -v "$cc" >/dev/null || ! command -v "$cxx" >/dev/null; then
    echo "$cc or $cxx is not there"
    continue
  fi
  compilers=$((compilers + 1))
  for language in c cxx; do
    # Nothing of the build's own environment may reach the stranger's.
    run env -u CFLAGS -u CXXFLAGS -u LDFLAGS CC="$cc" CXX="$cxx" "$cmake" -S "$here/$language" \
      -B "$work/$cc-$language" -DCMAKE_PREFIX_PATH="$prefix"
    run "$cmake" --build "$work/$cc-$language"
    plugin=$(echo "$work/$cc-$language"/*.so)
    "$loader" "$plugin"
    check_and_run "$plugin"
    exported=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | tr '\n' ' ')
    if [ "$exported" != "pe_plugin_entry " ]; then
      echo "$cc, $language: exports $exported" >&2
      exit 1
    fi
  done
done
if [ $compilers -eq 0 ]; then
  echo "no compiler" >&2
  exit 1
fi

# The README's plugin, run by the installed pe-run beside its own schemes.
run "$cmake" -S "$here/readme" -B "$work/readme" -DCMAKE_PREFIX_PATH="$prefix"
run "$cmake" --build "$work/readme"
cat >"$work/config.yaml" <<'END'
model: {random: {heads: 2, head_dim: 16, d_model: 32}}
schemes:
  - root_bias: {}
    plugin: readme/root_bias.so
  - rope
experiments:
  - relative_position: {length: 16, shifts: [1, 100]}
END
run "$prefix/bin/pe-run" "$work/config.yaml" "output=$work/results.h5" --quiet
grep -q 'root_bias .* holds within rounding' "$log" || {
  echo "root_bias is not in the table:" >&2
  cat "$log" >&2
  exit 1
}

flags=$(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags pe-run)
mkdir "$work/by-hand"
# shellcheck disable=SC2086
run "${CC:-cc}" -shared -fPIC -O2 $flags "$here/c/decay.c" -o "$work/by-hand/decay.so" -lm
"$loader" "$work/by-hand/decay.so"
echo "$compilers compilers, C and C++, CMake and pkg-config"
