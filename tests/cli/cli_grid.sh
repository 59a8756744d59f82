# The grid trained with x applied: one run over several models, one table per measure, the same numbers as each model alone.
. "$SOURCE/tests/cli/checks.sh"
rm -rf ./*.h5 ./*.yaml ./*.parts
cat >grid.yaml <<END
model: {weights: $SOURCE/data/trained/none-0.h5, layer: 1, tokens: {text: he works at the old harbor and she reads}}
schemes: [rope, alibi, none]
experiments: [extrapolation: {train_length: 8, lengths: [8, 16], offsets: [4], window: 8, spans: 1, queries: 4}]
sweep:
  extrapolation.weights: [$SOURCE/data/trained/rope-0.h5, $SOURCE/data/trained/alibi-0.h5]
END
expect_code 0 "$PE_RUN" grid.yaml output=grid.h5 --quiet
expect_output 'extrapolation, trained with (rows) x applied (columns): Divergence from the model as trained, by length, at sequence length 16'
cp output first
expect_code 0 "$PE_RUN" grid.yaml output=in-process.h5 --in-process --threads 1 --quiet
cmp grid.h5 in-process.h5
expect_code 0 "$PE_RUN" plan grid.yaml
expect_output "label: extrapolation_weights_rope_0"
cp output planned.yaml
expect_code 0 "$PE_RUN" planned.yaml output=planned.h5 --quiet
grep -v '\.h5$' first >first.tables
grep -v '\.h5$' output | cmp - first.tables
# Alone: the same rows.
for model in rope alibi; do
  sed "s/none-0/$model-0/; /^sweep/,\$d" grid.yaml >alone.yaml
  expect_code 0 "$PE_RUN" alone.yaml output=$model.h5 --quiet
  for measure in comparison comparison_jsd_to_trained; do
    expect_code 0 "$PE_RUN" show $model.h5 extrapolation/$measure
    cp output alone.txt
    expect_code 0 "$PE_RUN" show grid.h5 extrapolation_weights_${model}_0/$measure
    grep -c '[0-9]' output >counted
    grep -v extrapolation output >rows || true
    grep -v extrapolation alone.txt | cmp - rows
  done
done
# One more model is computed, the others are taken as they are.
sed "s/rope-0.h5, /rope-0.h5, $(echo "$SOURCE" | sed 's/[\/&]/\\&/g')\/data\/trained\/none-0.h5, /" grid.yaml >larger.yaml
expect_code 0 "$PE_RUN" larger.yaml output=grid.h5
grep -q '^none .* 0 \*$' output
[ "$(grep -c kept output)" = 6 ]
# A scheme of the same name with another parameter is not the model itself.
sed 's/^schemes: .*/schemes: [rope, {rope: {base: 1e6}, label: far}, none]/' grid.yaml >far.yaml
expect_code 0 "$PE_RUN" far.yaml output=far.h5 --quiet
grep -qE '^rope +[0-9.]+ \* +[0-9.]+ +[0-9.]+$' output
cat >random.yaml <<END
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 4}}
schemes: [rope]
experiments: [{equivariance: {}, weights: $SOURCE/data/trained/rope-0.h5}]
END
expect_code 2 "$PE_RUN" random.yaml output=no.h5
expect_output 'weights stand in the place of model.weights, which this config does not have'
sed '/^sweep/,$d; s/experiments: .*/experiments: [{equivariance: {}, label: grid, weights: none.h5}]/' grid.yaml >label.yaml
expect_code 2 "$PE_RUN" label.yaml output=no.h5
expect_output "an experiment has the label 'grid'"
