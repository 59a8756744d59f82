# pe-run check: exit codes, what is shown, machine formats, the seed.
. "$SOURCE/tests/cli/checks.sh"
build=$(dirname "$PE_RUN")
bad=$build/tests/bad_plugins

expect_code 0 "$PE_RUN" check "$build/plugins/rope.so" --level quick
expect_output "rope.so, level quick, seed 1: "
expect_output "0 failed, 0 crashed, 0 warnings"
expect_code 1 "$PE_RUN" check "$bad/split_tiles.so" --level quick --only split
expect_output "against tiles of 1 queries and 1 keys"
expect_code 1 "$PE_RUN" check "$bad/split_tiles.so" --level quick --only split.tiles --in-process
expect_output "against tiles of 1 queries and 1 keys"
expect_code 3 "$PE_RUN" check "$bad/no_entry.so"
expect_output "exports no pe_plugin_entry"
expect_code 3 "$PE_RUN" check "$WORK/not-there.so"
expect_output "No such file or directory"
expect_code 2 "$PE_RUN" check
expect_code 2 "$PE_RUN" check a.so b.so
expect_code 2 "$PE_RUN" check "$bad/sound.so" --only spli
expect_output "no check is called spli"
expect_code 2 "$PE_RUN" check "$bad/sound.so" --level deeper
expect_output "'deeper' is none of quick, full, deep"

# A plugin that prints cannot spoil what is read by a machine.
expect_code 1 "$PE_RUN" check "$bad/process_prints.so" --level quick --format json
if command -v python3 >/dev/null; then
  python3 - <<'PYTHON'
import json
document = json.load(open("output"))
row = next(r for r in document["rows"] if r["check"] == "environment.process")
assert row["outcome"] == "fail" and "standard output" in row["says"], row
PYTHON
fi

# The same seed shows the same.
"$PE_RUN" check "$bad/create_crashes_at_bound.so" --seed 5 --format csv >first || true
"$PE_RUN" check "$bad/create_crashes_at_bound.so" --seed 5 --format csv >second || true
cmp first second
expect_code 0 "$PE_RUN" check --list
expect_output "trait.relative"
