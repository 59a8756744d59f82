# Results from the command line: run, show, diff.
. "$SOURCE/tests/cli/checks.sh"

config=$SOURCE/configs/worked_example.yaml
"$PE_RUN" "$config" -q output=a.h5 >/dev/null
"$PE_RUN" "$config" -q output=sub/folder/b.h5 >/dev/null

# The same config twice: the same bytes, whatever the path, and whether it is given as a key or as an option.
cmp a.h5 sub/folder/b.h5
odd='it'"'"'s "[odd]" \ #1: x.h5'
expect_code 0 "$PE_RUN" "$config" -q -o "sub/$odd"
cmp a.h5 "sub/$odd"
rm "sub/$odd"
expect_code 0 "$PE_RUN" run --output=option.h5 -q "$config"
cmp a.h5 option.h5
rm -rf shard.h5 shard.h5.parts
expect_code 0 "$PE_RUN" "$config" -q -o shard.h5 --shard 0/1
test ! -e shard.h5
expect_code 0 "$PE_RUN" join "$config" -q -o shard.h5
cmp a.h5 shard.h5
expect_code 0 "$PE_RUN" relative_position rope -q length=8 shifts=[1] -o without.h5
test -s without.h5
expect_code 2 "$PE_RUN" "$config" -o a.h5 -o b.h5
expect_output "--output is given twice"
expect_code 2 "$PE_RUN" "$config" -o ''

expect_code 0 "$PE_RUN" diff a.h5 sub/folder/b.h5
expect_output "equal: "

# Another word, another result: named, with where the plan differs.
"$PE_RUN" "$config" -q output=c.h5 'model.matrix.x=[[1,0],[0,1],[1,2]]' >/dev/null
expect_code 1 "$PE_RUN" diff a.h5 c.h5
expect_output "equivariance/none/deviation"
expect_output "run/plan"
expect_code 0 "$PE_RUN" diff a.h5 c.h5 --tolerance 100
expect_code 1 "$PE_RUN" diff a.h5 c.h5 --format json
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; d = json.JSONDecoder(); t = sys.stdin.read(); n = d.raw_decode(t)[1]; json.loads(t[n:])' <output
fi

# The same config with another seed: the seed is named, and so is every measure that random numbers enter.
for seed in 17 18; do
  "$PE_RUN" "$SOURCE/configs/relative_position.yaml" -q seed=$seed output=seed$seed.h5 >/dev/null
done
"$PE_RUN" "$SOURCE/configs/relative_position.yaml" -q output=again.h5 >/dev/null
expect_code 0 "$PE_RUN" diff seed17.h5 again.h5
expect_output "equal: "
expect_code 1 "$PE_RUN" diff seed17.h5 seed18.h5
expect_output "seed: 17"
expect_output "seed: 18"
expect_output "relative_position/rope_shuffled/"
expect_code 2 "$PE_RUN" diff a.h5
expect_code 2 "$PE_RUN" diff a.h5 c.h5 --tolerance nan
expect_code 4 "$PE_RUN" diff a.h5 missing.h5
expect_output "missing.h5"
expect_code 4 "$PE_RUN" diff a.h5 "$config"

# The tree, a record, a tensor, a text.
expect_code 0 "$PE_RUN" show a.h5
expect_output "├ none"
expect_code 0 "$PE_RUN" show a.h5 --format csv
expect_output "equivariance/none,measured,"
expect_code 0 "$PE_RUN" show a.h5 /equivariance/none/
expect_output "deviation"
expect_code 0 "$PE_RUN" show a.h5 equivariance/none/attention_weights --format csv
expect_output "0.4223"
expect_code 0 "$PE_RUN" show a.h5 run/plan
expect_output "seed:"
expect_code 2 "$PE_RUN" show a.h5 equivariance/nome
expect_output "did you mean 'none'"
expect_code 2 "$PE_RUN" show a.h5 a/b/c/d
expect_code 2 "$PE_RUN" show a.h5 --format xml
expect_code 4 "$PE_RUN" show missing.h5
expect_code 4 "$PE_RUN" show "$SOURCE/tests/golden/data/rope.h5"
expect_output "not one that pe-run wrote"
expect_code 0 "$PE_RUN" show --help
expect_output "RESULTS"

# The page and its pictures; without gnuplot the page has its tables and says what is missing.
expect_code 0 "$PE_RUN" report a.h5
expect_output "a.html"
grep -q "the mask alone breaks the symmetry" a.html
expect_code 0 "$PE_RUN" report a.h5 -o sub/page.html
if command -v gnuplot >/dev/null; then
  grep -q "<svg" a.html
  cmp a.html sub/page.html
  expect_code 0 "$PE_RUN" report a.h5 --svg pictures --png pictures
  expect_output "pictures: "
  test -s pictures/equivariance_permutations.svg
  test -s pictures/equivariance_permutations.png
fi
expect_code 0 env PATH=/nowhere "$PE_RUN" report a.h5 -o bare.html
grep -q "The pictures are missing: gnuplot cannot be started" bare.html
expect_code 4 env PATH=/nowhere "$PE_RUN" report a.h5 --svg pictures
expect_code 2 "$PE_RUN" report
expect_code 4 "$PE_RUN" report missing.h5

# What cannot be written is said before the work, and nothing is left behind.
mkdir -p folder
expect_code 4 "$PE_RUN" "$config" -q output=folder
expect_output "'folder' cannot be written: it is a folder"
expect_code 4 "$PE_RUN" "$config" -q output=/dev/null
expect_output "not a regular file"
expect_code 4 "$PE_RUN" "$config" -q output=a.h5/b.h5
expect_output "Not a directory"
test -z "$(find . -name '.*.tmp')"
