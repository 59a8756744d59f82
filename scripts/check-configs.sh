#!/usr/bin/env bash
# check-configs.sh BUILD: runs every config of configs/ with two workers of one thread each, and with one worker of one
# thread, to two paths, and compares the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: check-configs.sh BUILD}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0
for config in configs/*.yaml; do
  name=$(basename "$config" .yaml)
  # Minutes of training on a text that is not in the tree; length_generalization_quick.yaml stands for them.
  case $name in length_generalization | tasks | trained_checkpoints | trained_for_decide) continue ;; esac
  if "$build/pe-run" "$config" "output=$folder/$name-2.h5" -j 2 --threads 2 --quiet >"$folder/$name.txt" 2>&1 &&
    "$build/pe-run" "$config" "output=$folder/again/$name-1.h5" -j 1 --threads 1 --quiet >/dev/null 2>&1 &&
    cmp "$folder/$name-2.h5" "$folder/again/$name-1.h5"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "config $config failed:"
    cat "$folder/$name.txt"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
