# Positions from the config: a grid for a scheme of two axes, refused by one of one axis; the control does not look.
. "$SOURCE/tests/cli/checks.sh"
cat >config.yaml <<'END'
model:
  random: {heads: 2, head_dim: 8, d_model: 16, length: 12}
  positions: {grid: [3, 4]}
schemes: [rope2d, none]
experiments: [relative_position: {length: 12, shifts: [1, 5]}]
END
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet
expect_output 'holds within rounding'
expect_output 'trivially: no dependence on position at all'
expect_code 1 "$PE_RUN" config.yaml 'schemes=[rope]' output=results.h5 --quiet
expect_output 'error[E0709]: positions have 2 coordinates, rope takes 1'
# {start, step}: a window of positions as if it began there.
cat >line.yaml <<'END'
model:
  random: {heads: 2, head_dim: 8, d_model: 16, length: 12}
  positions: {start: 100, step: 0.5}
schemes: [learned: {max_positions: 64}, rope]
experiments: [relative_position: {length: 12, shifts: [1]}]
END
expect_code 0 "$PE_RUN" line.yaml output=results.h5 --quiet
expect_output 'undefined: learned: not defined at position'
