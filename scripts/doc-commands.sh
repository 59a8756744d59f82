#!/bin/sh
# doc-commands.sh DOCUMENT [yes|no]: the shell commands of a document, one script, in order; `no` leaves out those of
# Rust. Commands stand in blocks fenced as ```sh.
set -eu
awk -v rust="${2:-yes}" '
  /^```sh/ { inside = !(rust == "no" && /rust/); next }
  /^```/ { inside = 0 }
  inside { print }' "$1"
