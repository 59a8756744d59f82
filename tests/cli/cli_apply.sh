# apply: sites, positions, outputs, and what is refused. Numbers: tests/golden/golden_apply.c.
. "$SOURCE/tests/cli/checks.sh"

golden=$SOURCE/tests/golden/data
case=half_hd8_rot8_base10000_off0
q=$golden/rope.h5:/$case/in_q

apply() {
  "$PE_RUN" apply "$@"
}

# Outputs: a dataset of the user's name, /result, .npy; the same bytes each time; folders are made.
expect_code 0 apply rope --site qk --positions 0:16 --in "$q" --out new/folder/a.h5
expect_code 0 apply rope --site qk --positions 0:16 --in "$q" --out b.h5
cmp new/folder/a.h5 b.h5
expect_code 0 apply rope --site qk --positions 0:16 --in "$q" --out c.h5:/model/layer0/q --derived
expect_code 0 apply rope --site qk --role key --positions 0:16:1 --in c.h5:/model/layer0/q --out d.npy
expect_code 0 apply rope --site qk --positions 0:16 --in d.npy --out e.h5

# Derived values at the length of the call: dynamic NTK stays at its original length, then raises the base
# (huggingface/transformers#25306: inv_freq[31] 1.333521432e-4 up to 2048, 0.4445071441e-4 at 4096).
expect_code 0 apply rope scaling=dynamic factor=2 original_max_position_embeddings=2048 --site qk --positions 0:16 \
  --in "$q" --out f.h5 --derived --seq-len 4096
if command -v h5dump >/dev/null; then
  h5dump -d /derived/inv_freq f.h5 >output
  expect_output "DATASPACE  SIMPLE { ( 4 ) / ( 4 ) }"
  h5dump -a /parameters f.h5 >output
  expect_output '"scaling": "dynamic"'
  h5dump -d /model/layer0/q c.h5 >output
  expect_output "H5T_IEEE_F32LE"
fi

# Biases; one query against a cache; a scheme's tensor as a list.
expect_code 0 apply alibi --site bias --heads 8 --queries 7 --keys 0:8 --out bias.npy
expect_code 0 apply t5 num_buckets=4 max_distance=8 'table=[[0,1],[2,3],[4,5],[6,7]]' --site bias --heads 2 \
  --queries 0:4 --keys 0:4 --out t5.h5

# Shapes that do not fit name both.
expect_code 4 apply rope --site qk --positions 0:15 --in "$q" --out no.h5
expect_output "has shape [2, 16, 8], T = 16 rows, and --positions 0:15 has shape [15]"
expect_code 4 apply sinusoidal --site embed --positions 0:16 --in "$q" --out no.h5
expect_output "has shape [2, 16, 8], and --site embed takes [T, d_model]"
expect_code 4 apply rope --site qk --positions 0:16 --in "$golden/rope.h5:/$case/in_positions" --out no.h5
expect_output "has shape [16], and --site qk takes [T, head_dim] or [heads, T, head_dim]"
expect_code 4 apply rope2d --site qk --positions "$golden/rope.h5:/$case/in_positions" --in "$q" --out no.h5
expect_output "has shape [16], and positions of this scheme have shape [T, 2]"
expect_code 4 apply t5 num_buckets=4 max_distance=8 'table=[[0,1],[2,3]]' --site bias --heads 2 --queries 0:4 \
  --keys 0:4 --out no.h5
expect_output "table of t5 is [2][2], the scheme needs [4][2]"

# Positions.
expect_code 2 apply rope --site qk --positions 0:x --in "$q" --out no.h5
expect_output "'x' is not a number"
expect_code 2 apply rope --site qk --positions 5:5 --in "$q" --out no.h5
expect_output "holds no position"
expect_code 2 apply rope --site qk --positions 0:1:2:3 --in "$q" --out no.h5
expect_code 2 apply rope --site qk --positions 0:16:0 --in "$q" --out no.h5
expect_code 2 apply rope --site qk --positions 0:1:1e-12 --in "$q" --out no.h5
expect_output "too many positions"
expect_code 2 apply rope --site qk --positions 1,,2 --in "$q" --out no.h5
expect_code 2 apply rope2d --site qk --positions 0:16 --in "$q" --out no.h5
expect_output "has 2 coordinates"
expect_code 4 apply rope --site qk --positions missing.h5:/p --in "$q" --out no.h5
expect_output "missing.h5"
# A position that the scheme is not defined at is told with its row, and nothing is written.
expect_code 0 apply sinusoidal --site embed --positions 0:17 --in "$golden/learned.h5:/grid_bicubic_4x4to6x9_prefix1/in_pos_embed" --out rows.h5
expect_code 1 apply learned max_positions=4 --site embed --positions 1:18 --in rows.h5:/result --out no.h5
expect_output "E0705"
expect_code 1 apply t5 --site bias --heads 2 --queries 0.5 --keys 0:4 --out no.h5
expect_output "E0705"

# Sites, schemes, keys.
expect_code 2 apply rope --site bias --heads 2 --queries 0:4 --keys 0:4 --out no.h5
expect_output "rope does not act there, but at qk"
expect_code 2 apply rop --site qk --positions 0:16 --in "$q" --out no.h5
expect_output "did you mean 'rope'"
expect_code 2 apply rope bass=2 --site qk --positions 0:16 --in "$q" --out no.h5
expect_output "did you mean 'base'"
expect_code 2 apply rope base=0.5 --site qk --positions 0:16 --in "$q" --out no.h5
expect_code 2 apply rope base --site qk --positions 0:16 --in "$q" --out no.h5
expect_output "'base' is not KEY=VALUE"
expect_code 1 apply rope rotary_dim=6 partial_rotary_factor=0.5 --site qk --positions 0:16 --in "$q" --out no.h5
expect_output "say the same thing"

# Options that do not go together.
expect_code 2 apply rope --positions 0:16 --in "$q" --out no.h5
expect_output "--site is missing"
expect_code 2 apply rope --site qk --positions 0:16 --in "$q"
expect_output "--out is missing"
expect_code 2 apply rope --site qk --in "$q" --out no.h5
expect_code 2 apply alibi --site bias --heads 2 --queries 0:4 --out no.h5
expect_output "needs --heads, --queries and --keys"
expect_code 2 apply alibi --site bias --heads 2 --queries 0:4 --keys 0:4 --in "$q" --out no.h5
expect_output "no --in and no --positions"
expect_code 2 apply rope --site qk --heads 2 --positions 0:16 --in "$q" --out no.h5
expect_code 2 apply sinusoidal --site embed --role key --positions 0:16 --in "$q" --out no.h5
expect_code 2 apply rope --site qk --role value --positions 0:16 --in "$q" --out no.h5
expect_output "'value' is not one of query, key"
expect_code 2 apply rope --site qk --positions 0:16 --in "$q" --out no.npy --derived
expect_output "give --out FILE.h5"
expect_code 2 apply rope --site qk --positions 0:16 --in "$q" --out no.txt
expect_code 2 apply rope --site qk --positions 0:16 --in "$q" --out no.npy:/x
expect_code 2 apply rope --site qk --positions 0:16 --in "$q" --out no.h5:/position
expect_output "name of one of its axes"
expect_code 2 apply rope --site qk --positions 0:16 --in "$q" --out no.h5:/
expect_code 2 apply alibi --site bias --heads 0 --queries 0:4 --keys 0:4 --out no.h5
expect_code 2 apply alibi --site bias --heads 1e9 --queries 0:4 --keys 0:4 --out no.h5

# Files.
expect_code 4 apply rope --site qk --positions 0:16 --in missing.npy --out no.h5
expect_code 4 apply rope --site qk --positions 0:16 --in "$golden/rope.h5:/nothing" --out no.h5
expect_code 4 apply rope --site qk --positions 0:16 --in "$golden/rope.h5" --out no.h5
expect_output "FILE.h5:/dataset or FILE.npy"
mkdir -p folder.h5
expect_code 4 apply rope --site qk --positions 0:16 --in "$q" --out folder.h5
test ! -e no.h5 && test ! -e no.npy
test -z "$(find . -name '.*.tmp')"

# An old file stays where the new one cannot be made.
cp b.h5 old.h5
expect_code 2 apply rope bass=2 --site qk --positions 0:16 --in "$q" --out old.h5
cmp b.h5 old.h5

expect_code 0 "$PE_RUN" apply --help
expect_output "--queries=POSITIONS"
