#!/bin/sh
# check_layering_test.sh SCRIPT: does SCRIPT (check-layering.sh) find what it is there for, and nothing in a good tree?
set -u
script=$1
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
failures=0

good_tree() {
  rm -rf "$root"
  mkdir -p "$root/runner/base" "$root/runner/host" "$root/runner/commands" "$root/plugins/some" "$root/include/pe"
  printf '#include <stdint.h>\n' >"$root/include/pe/plugin.h"
  printf '#include "commands/run.h"\nint main(void) {\n  return getenv("NO_COLOR") != 0;\n}\n' >"$root/runner/main.c"
  printf '#include <sys/stat.h>\n/* getenv("HOME") is\n * not called; static int x; */\nint base(void);\n' \
    >"$root/runner/base/base.h"
  printf '#include "host/host.h"\n#include "base/base.h"\n#include "pe/plugin.h"\nstatic const int a = 1;\nstatic int f(int x) {\n  return x;\n}\nstatic const char *const names[] = {"static int x;", 0};\nstatic volatile sig_atomic_t stop;\n' \
    >"$root/runner/host/host.c"
  printf '#include "results/results.h"\n#include "host/host.h"\n' >"$root/runner/commands/run.c"
  printf '#include <math.h>\n#include <pe/plugin.h>\n#include "some_part.h"\nstatic int some_create(void) {\n  void *p = malloc(1); // free(p)\n  return p != 0;\n}\nstatic void some_destroy(void *p) {\n  free(p);\n}\n' \
    >"$root/plugins/some/some.c"
  printf 'int part(void);\n' >"$root/plugins/some/some_part.h"
}

# expect WHAT FILE LINE TEXT: a good tree with TEXT appended to FILE is refused in that file and line.
expect() {
  good_tree
  mkdir -p "$(dirname "$root/$2")"
  touch "$root/$2"
  lines=$(wc -l <"$root/$2")
  printf '%b' "$4" >>"$root/$2"
  output=$("$script" "$root")
  status=$?
  place="$2:$((lines + $3)):"
  case "$status $output" in
  "1 $place"*) ;;
  *)
    echo "$1: expected status 1 and $place, got status $status and: $output"
    failures=$((failures + 1))
    ;;
  esac
}

good_tree
output=$("$script" "$root")
status=$?
if [ $status -ne 0 ] || [ -n "$output" ]; then
  echo "a good tree is refused with status $status: $output"
  failures=$((failures + 1))
fi
expect "a folder that comes later" runner/host/host.c 1 '#include "results/results.h"\n'
expect "a folder that comes later, in a header" runner/base/base.h 1 '#include "config/plan.h"\n'
expect "a header without its folder" runner/host/host.c 1 '#include "host.h"\n'
expect "an unknown folder" runner/host/host.c 2 '\n#  include "helpers/host.h"\n'
expect "a file in no known folder" runner/misc/misc.c 1 'int misc;\n'
expect "a file beside main.c" runner/extra.c 1 'int extra;\n'
expect "a plugin that includes the runner" plugins/some/some.c 1 '#include "base/base.h"\n'
expect "a plugin that includes a library" plugins/some/some.c 1 '#include <hdf5.h>\n'
expect "a plugin that includes the system" plugins/some/some_part.h 1 '#include <unistd.h>\n'
expect "a contract that includes more" include/pe/plugin.h 1 '#include <unistd.h>\n'
expect "a contract that includes the runner" include/pe/plugin.h 1 '#include "base/base.h"\n'
expect "the environment" runner/host/host.c 2 'int g(void) {\n  return getenv("HOME") != 0;\n}\n'
expect "the environment in a plugin" plugins/some/some.c 2 'int g(void) {\n  return getenv("HOME") != 0;\n}\n'
expect "a counter" plugins/some/some.c 2 'int g(void) {\n  static int calls;\n  return calls++;\n}\n'
expect "a cache" plugins/some/some.c 1 'static double cache[16] = {0};\n'
expect "a pointer that moves" plugins/some/some.c 1 'static const char *name = "a";\n'
expect "a function pointer that moves" plugins/some/some.c 1 'static int (*hook)(int);\n'
expect "data of the runner" runner/host/host.c 1 'static int count;\n'
expect "memory in a compute function" plugins/some/some.c 2 'static int some_bias_add(void) {\n  float *x = malloc(4);\n  return x != 0;\n}\n'
expect "random numbers" plugins/some/some.c 2 'static int some_bias_add(void) {\n  return rand();\n}\n'
expect "output" plugins/some/some.c 2 'static int some_bias_add(void) {\n  return printf("a");\n}\n'
[ $failures -eq 0 ]
