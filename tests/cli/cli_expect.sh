# expect: any measure becomes a check, exit code 1 when one fails.
. "$SOURCE/tests/cli/checks.sh"
cat >config.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 12}}
schemes: [rope, none]
experiments:
  - relative_position: {length: 12, shifts: [1, 5]}
  - equivariance
expect:
  - shift_error.rope.max < 1e-3
  - deviation[mask=causal].none.max > 0.01
  - equivariance.deviation[mask=none, permutation=0].rope <= 0
END
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet
expect_output 'what the config expects'
expect_code 1 "$PE_RUN" config.yaml 'expect=[shift_error.rope.max > 1]' output=results.h5 --quiet
expect_output 'does not hold'
expect_code 1 "$PE_RUN" config.yaml 'expect=[nonsense.rope.max > 1]' output=results.h5 --quiet
expect_output 'there is no such measure'
expect_code 1 "$PE_RUN" config.yaml 'expect=["shift_error[shift=7].rope > 1"]' output=results.h5 --quiet
expect_output 'there is no shift=7'
expect_code 1 "$PE_RUN" config.yaml 'expect=[shift_error.rope > 1]' output=results.h5 --quiet
expect_output '2 numbers where one is needed'
# With several seeds it must hold for each.
expect_code 0 "$PE_RUN" config.yaml seeds=3 'expect=[shift_error.rope.max < 1e-3]' output=results.h5 --quiet
# Of one seed the number is that seed's, the last one's too; moving `none` changes nothing.
expect_code 0 "$PE_RUN" config.yaml 'seed=4' seeds=3 'expect=["shift_error[shift=5, seed=6].none == 0"]' output=results.h5 --quiet --format csv
expect_output 'shift_error[shift=5, seed=6].none == 0",0,holds'
# Places of an axis that has names are chosen by them.
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet \
  'expect=["drift_rms[stage=frequency, dtype=bfloat16].rope.max < 1e-12", "fidelity_rms[stage=frequency, dtype=bfloat16].rope.min > 1e-4"]'
expect_code 1 "$PE_RUN" config.yaml 'expect=["drift_rms[stage=nowhere].rope.max < 1"]' output=results.h5 --quiet
expect_output 'there is no stage=nowhere'
# A shift of 0 or below has no logarithm, and still a result: exactly 0 at 0.
expect_code 0 "$PE_RUN" config.yaml 'relative_position.shifts=[0, -3, 20]' output=results.h5 --quiet \
  'expect=["drift_max[stage=all, dtype=bfloat16, shift=0].rope == 0", "own_drift_max.rope.max < 1e-12"]'
