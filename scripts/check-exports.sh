#!/bin/sh
# check-exports.sh FOLDER: do the shared objects in FOLDER keep to the contract, as far as the linker's tables show it?
#
# Each exports pe_plugin_entry and nothing else, needs libc and libm alone, and has no data that can change but the few
# bytes of the compiler's start files. Prints one line per violation; exit 0 none, 1 some, 2 usage or no plugins.
set -u
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
  echo "usage: check-exports.sh FOLDER" >&2
  exit 2
fi
checked=0
status=0
for file in "$1"/*.so; do
  if [ ! -f "$file" ]; then
    continue
  fi
  checked=$((checked + 1))
  exports=$(nm -D --defined-only "$file" | awk '{ print $NF }' | sort | tr '\n' ' ')
  if [ "$exports" != "pe_plugin_entry " ]; then
    echo "$file: exports ${exports:-nothing}and not pe_plugin_entry alone"
    status=1
  fi
  for library in $(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $library in
    libc.* | libm.* | ld-linux* | ld-musl*) ;;
    *)
      echo "$file: needs $library"
      status=1
      ;;
    esac
  done
  # The start files hold a handle of 8 bytes and a flag.
  changing=$(size -A "$file" | awk '$1 == ".data" || $1 == ".bss" || $1 == ".tdata" || $1 == ".tbss" { n += $2 > 8 ? $2 : 0 }
    END { print n + 0 }')
  if [ "$changing" -ne 0 ]; then
    echo "$file: $changing bytes of data that can change"
    status=1
  fi
done
if [ $checked -eq 0 ]; then
  echo "$1: no plugins" >&2
  exit 2
fi
exit $status
