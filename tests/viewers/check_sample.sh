#!/bin/sh
# check_sample.sh WRITE_SAMPLE PYTHON CHECK_VIEWERS FOLDER: write the sample and open it everywhere.
set -e
"$1" "$4/sample.h5"
exec "$2" "$3" "$4/sample.h5"
