#!/bin/sh
# check-layering.sh [ROOT]: does the source tree under ROOT (default: the current folder) keep its structure?
#
#   runner/   folders stand in the order of the data's flow, and a file includes headers of its own folder and of those
#             before it; main.c is free. The contract is included as pe/plugin.h. The environment is read in main.c alone.
#             No data that changes outside of functions' frames, but for what the handler of signals writes to
#             (jobs/signals.c), which can reach nothing else, and the library that is loaded once for the whole process
#             (base/blas.c), whose functions keep their names and can be handed nothing.
#   plugins/  a file includes <pe/plugin.h>, C's own headers and headers of its own folder. Memory is taken and given
#             back in create and destroy alone; no environment, files, clock, random numbers, output or data that change.
#   include/  C's own headers alone.
#
# Prints one line FILE:LINE: REASON per violation; exit 0 none, 1 some, 2 usage. Sees what a line of text shows, no more.
set -u
root=${1:-.}
if [ $# -gt 1 ] || [ ! -d "$root/runner" ] || [ ! -d "$root/plugins" ] || [ ! -d "$root/include" ]; then
  echo "usage: check-layering.sh [ROOT]; ROOT holds runner, plugins and include" >&2
  exit 2
fi
cd "$root" || exit 2

find include plugins runner -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort | xargs awk '
BEGIN {
  n = split("base config host input attention train experiments results jobs commands", order, " ")
  for (i = 1; i <= n; i++) {
    rank[order[i]] = i
  }
  split("assert complex ctype errno fenv float inttypes limits math stdalign stdarg stdbool stddef stdint stdio " \
        "stdlib string", names, " ")
  for (i in names) {
    standard[names[i] ".h"] = 1
  }
}

function report(reason) {
  printf "%s:%d: %s\n", FILENAME, FNR, reason
  violations++
}

# The line without its comments; a comment may go on over lines.
function code_of(line, before, at) {
  before = ""
  while (1) {
    if (in_comment) {
      at = index(line, "*/")
      if (!at) {
        return before
      }
      line = substr(line, at + 2)
      in_comment = 0
    }
    at = index(line, "/*")
    if (!at) {
      sub(/\/\/.*/, "", line)
      return before line
    }
    before = before substr(line, 1, at - 1) " "
    line = substr(line, at + 2)
    in_comment = 1
  }
}

# The folder that a quoted include names, or "" where it names none.
function folder_of(name) {
  return index(name, "/") ? substr(name, 1, index(name, "/") - 1) : ""
}

function check_include(line, name, quoted, folder) {
  name = line
  quoted = line ~ /include[ \t]*"/
  sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
  sub(/[">].*$/, "", name)
  if (part == "include") {
    if (quoted || !(name in standard)) {
      report("the contract includes " name ", which is no header of C")
    }
  } else if (part == "plugins") {
    if (quoted ? index(name, "/") > 0 : name != "pe/plugin.h" && !(name in standard)) {
      report("a plugin includes " name "; it may include pe/plugin.h, headers of C and those of its own folder")
    }
  } else if (quoted && place != "") {
    folder = folder_of(name)
    if (folder == "pe") {
      return
    }
    if (!(folder in rank)) {
      report("includes \"" name "\", which is in no folder of the runner; write \"folder/name.h\"")
    } else if (rank[folder] > rank[place]) {
      report(place "/ includes " name ", and " folder "/ comes after it")
    }
  }
}

# A declaration of static storage that is neither a function nor constant.
function is_mutable_data(line, head) {
  head = line
  sub(/[=;{].*/, "", head)
  if (head ~ /\(/ && head !~ /\([ \t]*\*/) {
    return 0
  }
  if (head ~ /sig_atomic_t/) {
    return 0
  }
  if (head ~ /\*/) {
    sub(/.*\*/, "", head)
  }
  return head !~ /(^|[^A-Za-z0-9_])const([^A-Za-z0-9_]|$)/
}

FNR == 1 {
  in_comment = 0
  function_name = ""
  split(FILENAME, path, "/")
  part = path[1]
  # place: the folder of a file of the runner; "" for main.c, which is free.
  place = part == "runner" ? path[2] : ""
  if (place ~ /\.[ch]$/) {
    if (place != "main.c") {
      report("stands in no folder; main.c alone may")
    }
    place = ""
  }
  if (place != "" && !(place in rank)) {
    report("the folder " place "/ has no place in the order")
  }
}

{
  raw = $0
  line = code_of($0)
  if (line ~ /^[ \t]*#[ \t]*include/) {
    check_include(line)
    next
  }
  # Text in quotes is no code.
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
}

line ~ /^[A-Za-z_].*\(/ && line !~ /;[ \t]*$/ && line !~ /^#/ {
  function_name = line
  sub(/\(.*/, "", function_name)
  sub(/.*[^A-Za-z0-9_]/, "", function_name)
}

line ~ /^}/ {
  function_name = ""
}

part != "include" && line ~ /(^|[^A-Za-z0-9_])(secure_)?getenv[ \t]*\(/ && FILENAME != "runner/main.c" {
  report("reads the environment; runner/main.c alone may")
}

part != "include" && line ~ /^[ \t]*static[ \t]/ && FILENAME != "runner/main.c" && FILENAME != "runner/jobs/signals.c" &&
FILENAME != "runner/base/blas.c" && is_mutable_data(line) {
  report("static data that can change")
}

part == "plugins" && line ~ /(^|[^A-Za-z0-9_])(malloc|calloc|realloc|aligned_alloc|free)[ \t]*\(/ &&
function_name !~ /(create|destroy)/ {
  report("memory is taken or given back in " function_name ", which is neither create nor destroy")
}

part == "plugins" &&
line ~ /(^|[^A-Za-z0-9_])(printf|fprintf|puts|perror|fopen|rand|srand|time|clock|setlocale|fesetround|fesetenv|exit|abort)[ \t]*\(/ {
  report("a plugin has no output, files, clock, random numbers or process of its own")
}

END {
  exit violations > 0
}
' || exit 1
