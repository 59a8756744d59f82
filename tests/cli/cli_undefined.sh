# Undefined is a result: a table asked beyond its end in each experiment gives no number, says so, and the run ends well.
. "$SOURCE/tests/cli/checks.sh"
cat >config.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 300}}
schemes: [learned: {max_positions: 128}, rope]
experiments:
  - equivariance
  - relative_position: {length: 200, shifts: [1]}
  - extrapolation: {train_length: 64, lengths: [64, 256]}
  - attention: {length: 200}
END
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet
expect_output 'equivariance/learned undefined: learned: not defined at position'
expect_output 'undefined beyond'
expect_code 0 "$PE_RUN" show results.h5
