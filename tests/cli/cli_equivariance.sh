# The stabiliser is named, a counterexample is printed in full, and what a sample shows is called a sample.
. "$SOURCE/tests/cli/checks.sh"
expect_code 0 "$PE_RUN" "$SOURCE/configs/equivariance.yaml" output=three.h5 --quiet
expect_output 'all 6'
expect_output '{identity, reversal}'
expect_output 'counterexample: sinusoidal, mask none: I work he / he work I'
expect_output 'counterexample: none, mask causal: I work he / he work I'
expect_output "'he works' / 'works he' is no counterexample"
expect_output "cannot tell 'he works ___' from 'works he ___'"
expect_code 0 "$PE_RUN" show three.h5 equivariance/sinusoidal/counterexample_reordered --format csv
expect_code 0 "$PE_RUN" show three.h5 equivariance/alibi/survives --format csv
[ "$(grep -c ',1$' output)" = 3 ] # identity and reversal without a mask, identity under the causal one

# The worked example, digit for digit. Under the causal mask the reordered tokens end with (1, 0), whose row sees all three:
# it is row 0 of the published Y without a mask, 0.84463760, 0.57768120; e / (2 e + e^2) = 0.21194.
expect_code 0 "$PE_RUN" "$SOURCE/configs/worked_example.yaml" output=worked.h5 --quiet
expect_output 'X     token 2  1 1'
expect_output 'S     token 2  1 1 2'
expect_output 'A     token 2  0.21194 0.21194 0.57612'
expect_output "Y'    token 0  0.84464 0.57768"

cat >config.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 2}}
schemes: [alibi, rope]
experiments: [equivariance]
END
expect_code 0 "$PE_RUN" config.yaml output=two.h5 --quiet
expect_output 'alibi   untrained  none    order is seen'
if grep -q 'counterexample: alibi, mask none' output; then
  echo 'two tokens have a counterexample for a symmetric bias'
  exit 1
fi
expect_output 'counterexample: rope, mask none: tokens 0 1 / tokens 1 0'
expect_code 0 "$PE_RUN" config.yaml model.random.length=8 output=eight.h5 --quiet
expect_output 'no survivor in'
expect_output 'reversal among them'
if grep -qi 'stabili' output; then
  echo 'a sample is called a stabiliser'
  exit 1
fi
