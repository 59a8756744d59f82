#!/bin/sh
# check_reports.sh PE_RUN PYTHON CHECK_REPORTS RESULTS FOLDER: make a report of every results file and open it.
set -e
command -v chromium >/dev/null && command -v gnuplot >/dev/null || exit 77
mkdir -p "$5"
for results in "$4"/*.h5; do
  "$1" report "$results" -o "$5/$(basename "$results" .h5).html" >/dev/null
done
exec "$2" "$3" "$5"/*.html
