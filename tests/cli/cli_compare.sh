# compare: wrong use and wrong files. What it finds: tests/golden/golden_compare.c.
. "$SOURCE/tests/cli/checks.sh"

golden=$SOURCE/tests/golden/data
case=half_hd8_rot8_base10000_off0
out=$golden/rope.h5:/$case/out_q
in=$golden/rope.h5:/$case/in_q

compare() {
  "$PE_RUN" compare "$@"
}

# Every format; tables that machines read.
for format in table json csv md; do
  expect_code 1 compare rope --format $format -- rope base=5e5
  expect_output "They part"
  expect_code 0 compare rope -- "$out" in="$in" --format $format
  expect_output "Equal up to rounding"
done

# Sides.
expect_code 2 compare rope
expect_output "a side is missing"
expect_code 2 compare -- rope
expect_output "a side is missing"
expect_code 2 compare rope --
expect_output "a side is missing"
expect_code 2 compare "$out" -- rope
expect_output "the scheme comes first"
expect_code 2 compare rope -- rop
expect_output "did you mean 'rope'"
expect_code 2 compare rope bas=5 -- rope
expect_output "did you mean 'base'"
expect_code 2 compare rope -- rope bas=5
expect_output "did you mean 'base'"
expect_code 1 compare rope rotary_dim=128 -- rope
expect_output "rotary_dim 128 is wider than a head"
expect_code 1 compare t5 --positions 0.5 -- t5
expect_output "E0705"

# Options.
expect_code 2 compare rope --round table -- rope
expect_output "is not STAGE=FORMAT"
expect_code 2 compare rope --round table=float8 -- rope
expect_code 2 compare rope --round tables=float16 -- rope
expect_code 2 compare alibi --round table=float16 -- alibi
expect_output "alibi is not made of angles alone"
expect_code 2 compare xpos --round angle=float16 -- xpos
expect_code 2 compare rope --positions x -- rope
expect_code 2 compare rope --heads 0 -- rope
expect_code 2 compare rope --no-such-option -- rope

# Files.
expect_code 4 compare rope -- missing.npy
expect_output "missing.npy"
expect_code 4 compare rope -- "$golden/rope.h5:/nothing"
expect_code 2 compare rope -- "$out"
expect_output "say what="
expect_code 2 compare rope -- "$out" what=rotated
expect_output "in=TENSOR"
expect_code 2 compare rope -- "$out" what=cosine
expect_output "cos"
expect_code 2 compare rope -- "$out" waht=cos
expect_output "did you mean 'what'"
expect_code 2 compare rope -- "$out" "$in"
expect_output "is not KEY=VALUE"
expect_code 2 compare rope -- "$golden/rope.h5:/$case/out_inv_freq" in="$in" what=inv_freq
expect_output "goes with rows that were turned"
expect_code 4 compare rope -- "$out" what=inv_freq
expect_output "has shape [2, 16, 8], and inv_freq has shape [pairs]"
expect_code 4 compare rope -- "$out" in="$golden/rope.h5:/half_hd64_rot64_base10000_off0/in_q"
expect_output "has shape [2, 16, 64], and"
expect_code 4 compare rope --positions 0:15 -- "$out" in="$in"
expect_output "has 16 rows, and --positions 0:15 has shape [15]"
expect_code 4 compare rope --head-dim 64 -- "$golden/rope.h5:/$case/out_inv_freq"
expect_output "--head-dim says how wide a head is"
expect_code 2 compare alibi -- "$golden/rope.h5:/$case/out_inv_freq"

expect_code 0 compare --help
expect_output "--round=STAGE=FORMAT"

# What is infinite on one side alone is a difference, however large that makes the numbers.
expect_code 1 compare --heads 1 --positions 0:2 --round output=float16 table 'bias=[[0,3e38]]' -- table 'bias=[[0,3e38]]'
expect_output "They part"

# Memory grows with the positions, not with their square: four matrices of 4096 x 4096 would be 256 MiB. Sanitizers map
# more than this for themselves.
if [ -z "${SANITIZER:-}" ]; then
  expect_code 1 timeout 60 sh -c 'ulimit -v 320000; exec "$0" "$@"' "$PE_RUN" compare alibi --heads 1 --head-dim 8 \
    --positions 0:4096 -- kerple
  expect_output "2048 to 4095"
fi
