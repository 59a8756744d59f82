# A decision with trained models of another run: they decide, the key follows the file's content, each refusal by its code.
. "$SOURCE/tests/cli/checks.sh"
rm -rf ./*.h5 ./*.yaml ./*.parts ./*_decision.* moved
training() { # seeds, further keys
  cat <<END
title: Small models
schemes: [rope, {rope: {base: 500}, label: far}, {sinusoidal: {}, label: divided, positions: {divide: 2}}, none]
experiments:
  - length_generalization: {corpus: 4000, train_length: 8, lengths: [8, 16], steps: 3, batch: 2, d_model: 8, heads: 2, d_ff: 8,
      tail: 4, targets: 64, stride: 4, learning_rates: [0.01], seeds: $1$2}
END
}
training 5 ', margin: 9' >train.yaml
expect_code 0 "$PE_RUN" train.yaml output=five.h5 --quiet
training 3 ', margin: 9' >three.yaml
expect_code 0 "$PE_RUN" three.yaml output=three.h5 --quiet
expect_code 0 "$PE_RUN" train.yaml output=one.h5 length_generalization.seeds=1 --quiet

# Untrained weights: all forward passes see is a condition that nobody meets; three steps of training change nothing by 1
# nat, so that the trained models say the opposite.
cat >config.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 16}}
schemes: [rope, {rope: {base: 500}, label: other}, {sinusoidal: {}, label: interpolated, positions: {divide: 2}}, alibi, none]
experiments: [equivariance: {mask: causal}]
decision:
  trained: five.h5
  conditions:
    - {measure: deviation.max, length: 16, above: 1000, margin: 1}
    - {measure: trained.change, length: 16, below: 1, margin: 0.1}
  rank: {measure: trained.loss, length: 16, margin: 5}
END
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet
expect_output 'No winner: the data do not separate rope, other, interpolated and none.'
expect_output 'The two kinds of evidence disagree, and the trained models decide. rope: forward passes miss condition 1'
expect_output 'models trained with it meet their conditions.'
expect_output 'alibi is judged without trained models: the file has no trained models of alibi.'
expect_output "The strongest evidence: 'Small models' (five.h5, SHA-256"
expect_output 'interpolated  divided'
expect_output 'other         far'
grep -qF '| interpolated | divided |' results_decision.md
key() { h5dump -a /decision/comparison/key "$1" | grep -o '"[0-9a-f]*"'; }
command -v h5dump >/dev/null || exit 0
first=$(key results.h5)
[ "$(h5dump -a /decision/comparison/trained_sha256 results.h5 | grep -o '"[0-9a-f]*"')" = "\"$(sha256sum <five.h5 | cut -c1-64)\"" ]
# Elsewhere, under another name and date: the same decision. Nothing else is done again.
mkdir moved
cp five.h5 moved/models.h5
expect_code 0 "$PE_RUN" config.yaml output=results.h5 decision.trained=moved/models.h5 --quiet
[ "$(key results.h5)" = "$first" ]
# Other content under the old name: decided again, from the jobs that are there.
sed 's/seeds: 5/seeds: 5, weight_decay: 1/' train.yaml >changed.yaml
expect_code 0 "$PE_RUN" changed.yaml output=moved/models.h5 --fresh --quiet
expect_code 0 "$PE_RUN" config.yaml output=results.h5 decision.trained=moved/models.h5
[ "$(key results.h5)" != "$first" ]
# Another limit is another decision, too.
expect_code 0 "$PE_RUN" config.yaml output=results.h5 'decision.conditions[1].below=2' --quiet
[ "$(key results.h5)" != "$first" ]

# Who has not learned at L gets no verdict beyond it: within 0 nats of the best is the best alone.
sed 's/margin: 9/margin: 0/' train.yaml >strict.yaml
expect_code 0 "$PE_RUN" strict.yaml output=strict.h5 --quiet
expect_code 0 "$PE_RUN" config.yaml output=results.h5 decision.trained=strict.h5 --quiet
expect_output 'no verdict: not learned at L'
expect_output 'the only scheme that meets every condition.'

# Other lengths are said.
cat >forward.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16}}
schemes: [rope, none]
seeds: 2
experiments: [extrapolation: {train_length: 32, lengths: [32, 64], offsets: [8]}]
decision:
  trained: five.h5
  conditions:
    - {measure: trained.change, length: 16, below: 1, margin: 0.1}
END
expect_code 0 "$PE_RUN" forward.yaml output=lengths.h5 --quiet
expect_output 'Mind the lengths: the models were trained at L = 8, forward passes are about L = 32'

# What cannot serve.
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=missing.h5
expect_output 'error[E0401]: missing.h5'
expect_code 4 "$PE_RUN" config.yaml output=no.h5 "decision.trained=$SOURCE/data/trained/rope-0.h5"
expect_output 'error[E0404]'
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=config.yaml
expect_output 'error[E0404]'
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=lengths.h5
expect_output "error[E0406]: decision.trained: 'lengths.h5' has no trained models"
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=three.h5
expect_output "error[E0406]: decision.trained: 'three.h5' has 3 seeds; schemes are ranked from 5 on"
expect_code 0 "$PE_RUN" config.yaml output=three_results.h5 decision.trained=three.h5 decision.rank=null --quiet
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=one.h5 decision.rank=null
expect_output 'has 1 seed; an interval needs 2'
expect_code 0 "$PE_RUN" train.yaml output=partial.h5 --only '*/rope' --quiet
expect_code 4 "$PE_RUN" config.yaml output=no.h5 decision.trained=partial.h5
expect_output "'partial.h5' is partial"
sed 's/^schemes: .*/schemes: [alibi]/; s/^experiments: .*/experiments: [attention]/' config.yaml >alibi.yaml
expect_code 4 "$PE_RUN" alibi.yaml output=no.h5
expect_output "error[E0406]: decision.trained: 'five.h5' has none of the config's schemes: of alibi, the file has no trained"
# What the config asks is told before that.
expect_code 2 "$PE_RUN" config.yaml output=no.h5 decision.trained=null
expect_output "'trained.change' speaks of trained models, which decision.trained: FILE.h5 names"
