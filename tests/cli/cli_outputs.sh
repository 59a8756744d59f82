# Where outputs go: never in the place of what the command reads or of somebody else's file, and never silently to one
# of two places that were given.
. "$SOURCE/tests/cli/checks.sh"
golden=$SOURCE/tests/golden/data/rope.h5:/half_hd8_rot8_base10000_off0
rm -rf out && mkdir out && cd out

# kept FILE COMMAND...: refused with exit code 4, and FILE is what it was.
kept() {
  file=$1
  shift
  cp "$file" before
  expect_code 4 "$@"
  cmp "$file" before
  expect_output 'error[E0403]'
}

cat >config.yaml <<'EOF'
model: {qk: {q: t.h5:/q, k: k.npy}}
schemes:
  - rope: {}
    plugin: mine.so
  - t5: {num_buckets: 4, max_distance: 8, table: table.npy}
experiments: [relative_position: {length: 8, shifts: [1]}]
EOF
cp "$(dirname "$PE_RUN")/plugins/rope.so" mine.so
"$PE_RUN" apply rope --site qk --positions 0:16 --in "$golden/in_q" --out t.h5:/q
"$PE_RUN" apply rope --site qk --positions 0:16 --in "$golden/in_q" --out k.npy
"$PE_RUN" apply alibi --site bias --queries 0:4 --keys 0:2 --heads 1 --out table3.npy
# [1, 4, 2] as [4, 2]: the header alone differs.
sed 's/(1, 4, 2), }/(4, 2), }   /' table3.npy >table.npy

# A run's own config, tensors, scheme's tensors and plugins, by other names as well, --fresh or not.
ln -s t.h5 link.h5
for file in config.yaml t.h5 ./k.npy "$PWD/table.npy" link.h5 mine.so; do
  kept "$file" "$PE_RUN" config.yaml --quiet -o "$file" --fresh
  expect_output "is a file that this run reads"
  kept "$file" "$PE_RUN" config.yaml --quiet "output=$file"
done
expect_code 0 "$PE_RUN" config.yaml --quiet -o results.h5
expect_code 0 "$PE_RUN" config.yaml --quiet -o results.h5 --fresh

# apply and vectors: neither what they read nor another program's file.
kept k.npy "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out k.npy
expect_output "--out: 'k.npy' is read by this very command (k.npy)"
kept t.h5 "$PE_RUN" apply rope --site qk --positions 0:16 --in t.h5:/q --out link.h5:/turned
kept results.h5 "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out results.h5:/turned
kept results.h5 "$PE_RUN" vectors rope --out results.h5
kept config.yaml "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out config.yaml:/turned
kept table.npy "$PE_RUN" apply t5 num_buckets=4 max_distance=8 table=table.npy --site bias --heads 2 --queries 0:4 \
  --keys 0:4 --out table.npy
echo '{"name": "somebody else"}' >package.json
kept package.json "$PE_RUN" vectors rope --out package.json
for out in again.h5 again.npy; do
  expect_code 0 "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out "$out"
  expect_code 0 "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out "$out"
done
for out in again.h5 vectors.json; do
  expect_code 0 "$PE_RUN" vectors rope --out "$out"
  expect_code 0 "$PE_RUN" vectors rope --out "$out"
done

# A page: not over the results that it shows, nor over anything but a page.
kept results.h5 "$PE_RUN" report results.h5 -o results.h5
expect_output "'results.h5' is there, and is not a page of HTML: it is not overwritten"
kept config.yaml "$PE_RUN" report results.h5 -o config.yaml
: >empty.html
expect_code 0 "$PE_RUN" report results.h5 -o empty.html
expect_code 0 "$PE_RUN" report results.h5 -o empty.html

# Two places for one thing: both are named, nothing is done.
rm -f a.h5 b.h5
expect_code 2 "$PE_RUN" config.yaml --quiet -o a.h5 output=b.h5
expect_output "--output a.h5 and output=b.h5 are both given"
expect_code 2 "$PE_RUN" join config.yaml output=b.h5 --output a.h5
expect_output "--output a.h5 and output=b.h5 are both given"
expect_code 2 "$PE_RUN" config.yaml --quiet -o a.h5 -o b.h5
expect_output "--output is given twice: 'a.h5' and 'b.h5'"
expect_code 2 "$PE_RUN" config.yaml --quiet output=a.h5 output=b.h5
expect_output "argument 2 (output=b.h5): error[E0116]: the key is set already, by argument 1 (output=a.h5); set it once"
expect_code 2 "$PE_RUN" apply rope --site qk --positions 0:16 --in k.npy --out a.npy --out b.npy
expect_output "--out is given twice: 'a.npy' and 'b.npy'"
expect_code 2 "$PE_RUN" report results.h5 -o a.html -o b.html
expect_output "--output is given twice: 'a.html' and 'b.html'"
[ ! -e a.h5 ] && [ ! -e b.h5 ] && [ ! -e a.npy ] && [ ! -e b.npy ] && [ ! -e a.html ] && [ ! -e b.html ]
