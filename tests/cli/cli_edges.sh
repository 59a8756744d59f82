# Inputs at the edges of what a config allows: each ends with its numbers, and never in a crash, a loop or an error of
# pe-run's own. Numbers: arithmetic that needs no program.
. "$SOURCE/tests/cli/checks.sh"
rm -rf out && mkdir out && cd out

# edge MODEL SCHEMES EXPERIMENTS: everything is done.
edge() {
  printf 'model: %s\nschemes: %s\nexperiments: %s\nseeds: 1\n' "$@" >config.yaml
  expect_code 0 "$PE_RUN" config.yaml --quiet --fresh --timeout 30s -o edge.h5
}
tiny='{random: {heads: 1, head_dim: 2, d_model: 2}}'

# Shifts below 0 alone, and shifts that are no whole numbers: the longest position is looked for between whole numbers
# and never for ever, or is not measured.
for shifts in '[-3]' '[-3, -0.5]' '[1.5]' '[0.25]' '[1.5, 3, 1.75]' '[0, -3]'; do
  edge "$tiny" '[rope, sinusoidal]' "[relative_position: {length: 8, shifts: $shifts}]"
done
edge "$tiny" '[rope]' '[relative_position: {length: 8, shifts: [-3]}]'
"$PE_RUN" show edge.h5 relative_position/rope/drift_outcome --format csv >longest.csv
[ "$(tail -n +3 longest.csv | cut -d, -f3 | sort -u)" = 0 ] # not measured

# One sample of a scheme without positions: its scores do not differ, and nothing is a share of that.
edge "$tiny" '[none]' '[relative_position: {length: 4, shifts: [1], samples: 1}]'
expect_output 'no shares: the scores do not differ (spread 0); in logits, bfloat16 drifts by 0,'
if grep -qw -e nan -e inf output; then
  cat output
  exit 1
fi

# Scores that float32 does not hold are refused, and no verdict is made of infinite ones.
for rows in '[[1e30, 1], [1, 1e-30]]' '[[1e18, 1], [1, 1]], scale: 1e3'; do
  printf 'model: {matrix: {x: %s}}\nschemes: [rope]\nexperiments: [encoding: {length: 3}]\n' "$rows" >config.yaml
  expect_code 1 "$PE_RUN" config.yaml --quiet -o edge.h5
  expect_output 'error[E0709]: model.matrix.x: scores of these rows could reach 1e+'
done

# Lengths and offsets in any order, some twice: axes of curves ascend without repeats.
edge "$tiny" '[rope]' '[extrapolation: {train_length: 8, lengths: [16, 8, 16, 12], offsets: [9, 0, 9], window: 3}]'
"$PE_RUN" show edge.h5 extrapolation/comparison/rope --format csv >curve.csv
[ "$(tail -n +3 curve.csv | cut -d, -f1 | tr '\n' ' ')" = '8 12 16 ' ]
"$PE_RUN" show edge.h5 extrapolation/rope/offset --format csv >offsets.csv
[ "$(tail -n +3 offsets.csv | cut -d, -f2 | tr '\n' ' ')" = '0 9 ' ]

# A text without an end has no orders, and says what to set; without a config it has an end.
printf 'model: %s\nschemes: [rope]\nexperiments: [equivariance]\n' "$tiny" >config.yaml
expect_code 1 "$PE_RUN" config.yaml --quiet -o edge.h5
expect_output 'error[E0709]: equivariance takes 2 to 512 tokens: say how many of them the random model has (model.random.length)'
expect_code 0 "$PE_RUN" equivariance rope --quiet -o without.h5

# Two tokens: the last row has one token before it, and nothing is said of an order that there is none of.
edge '{matrix: {x: [[1, 2], [3, 4]]}}' '[rope]' '[equivariance]'
expect_output 'Last row, causal mask: one token stands before it, which has no other order'
if grep -q 'it does not see the order of what came before' output; then
  cat output
  exit 1
fi

# Tensors saved beside a measure over positions: shorter and longer texts than positions, schemes that end before the
# positions do, queries of another width than the input.
save='save: [attention_weights, logits, q, k, v, context, embeddings, output]'
for length in 5 7 40; do
  edge "{random: {heads: 4, kv_heads: 2, head_dim: 6, d_model: 20, length: $length}}" \
    '[rope, xpos, sinusoidal, alibi, learned: {max_positions: 6}]' "[encoding: {length: 7, $save}]"
done
"$PE_RUN" show edge.h5 encoding/learned/attention_weights --format csv >learned.csv
[ "$(sed -n 2p learned.csv)" = head,saved_query,saved_key,attention_weights ]
[ "$(tail -n +3 learned.csv | wc -l)" = 144 ] # 4 heads, 6 x 6
"$PE_RUN" show edge.h5 encoding/rope/attention_weights --format csv >rope.csv
[ "$(tail -n +3 rope.csv | wc -l)" = 196 ] # 4 heads, 7 x 7
"$PE_RUN" show edge.h5 encoding/sinusoidal/position_encoding --format csv | sed -n 2p >header
[ "$(cat header)" = position,model_channel,position_encoding ]
expect_code 0 "$PE_RUN" report edge.h5
