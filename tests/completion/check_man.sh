#!/bin/sh
# check_man.sh PE_RUN FOLDER: the man pages are clean under the checkers that are there, and have every command, scheme
# and experiment.
set -eu
pe_run=$1 folder=$2
failed=0 checkers=0
for page in pe-run.1 pe-run.yaml.5; do
  if command -v mandoc >/dev/null; then
    checkers=$((checkers + 1))
    mandoc -T lint "$folder/$page" || failed=1
  fi
  # groff's own warnings; a container's Debian may have `man` without it.
  if command -v groff >/dev/null; then
    checkers=$((checkers + 1))
    warnings=$(groff -man -ww -K utf-8 -T utf8 "$folder/$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$warnings"; failed=1; }
  fi
done
for command in $("$pe_run" --help | awk '/^  [a-z]+ +[a-z]/ { print $1 }'); do
  grep -q "^.SS \"pe.*run $command[ \"]" "$folder/pe-run.1" || { echo "pe-run.1 lacks $command"; failed=1; }
done
for id in rope alibi extrapolation equivariance; do
  grep -q "^.SS \"$id: " "$folder/pe-run.yaml.5" || { echo "pe-run.yaml.5 lacks $id"; failed=1; }
done
[ $failed = 0 ] || exit 1
[ $checkers -gt 0 ] || { echo "neither mandoc nor groff is there"; exit 77; }
