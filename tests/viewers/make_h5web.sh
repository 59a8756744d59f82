#!/usr/bin/env bash
# make_h5web.sh FOLDER: H5Web as a page, from the npm registry in the versions of h5web/package-lock.json. Quick when there
# is nothing to do.
set -euo pipefail
source=$(dirname "$0")/h5web
mkdir -p "$1"
if [ -f "$1/dist/page.js" ] && diff -rq --exclude=node_modules --exclude=dist "$source" "$1" >/dev/null; then
  exit 0
fi
cp "$source"/* "$1"/
cd "$1"
npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
