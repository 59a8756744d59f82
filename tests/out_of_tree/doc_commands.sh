#!/bin/sh
# doc_commands.sh CMAKE BUILD DOCUMENT: the commands of docs/writing-a-plugin.md, as written, against BUILD installed in
# a temporary prefix in place of the packages. Rust's are left out, with a word, where there is no rustc.
set -eu
cmake=$1 build=$2 document=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/install.sh"
log=$work/log
install_into "$work/prefix"
PATH=$work/prefix/bin:$(dirname "$cmake"):$PATH
export PATH
unset CC CXX CFLAGS CXXFLAGS LDFLAGS CMAKE_PREFIX_PATH || true

rust=yes
command -v rustc >/dev/null || { rust=no; echo "rustc is not there: the example in Rust is left out"; }
"$here/../../scripts/doc-commands.sh" "$document" $rust | grep -v '^apt ' | sed "s|/usr/share/|$work/prefix/share/|" \
  >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 12 ] || { echo "hardly a command in $document" >&2; cat "$work/commands" >&2; exit 1; }
mkdir "$work/desk"
cd "$work/desk"
run sh -eux "$work/commands"
for sign in 'my_scheme.so, level full' '100% tests passed' 'extrapolation/comparison: '; do
  grep -qF "$sign" "$log" || { echo "not printed: $sign" >&2; cat "$log" >&2; exit 1; }
done
if [ $rust = yes ]; then
  grep -q '^soft_window.so, level full.* 0 failed, 0 crashed' "$log" || { cat "$log" >&2; exit 1; }
fi
[ -s my_scheme.h5 ]
