# A decision from the config to its Markdown: a winner, a length that was not measured, a condition that follows from another.
. "$SOURCE/tests/cli/checks.sh"
cat >config.yaml <<'END'
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 12}}
schemes: [alibi, none]
experiments: [equivariance]
decision:
  question: Which of the two sees order?
  conditions:
    - {measure: "deviation[mask=none].max", length: 12, above: 0.01, margin: 0.001}
  prefer: none
END
rm -f results_decision.md
expect_code 0 "$PE_RUN" config.yaml output=results.h5 --quiet
expect_output 'Winner: alibi, the only scheme that meets every condition.'
expect_output 'The config prefers none. Of none the data say that it misses condition 1'
grep -qF '# Which of the two sees order?' results_decision.md
grep -qF '**Winner: alibi, the only scheme that meets every condition.**' results_decision.md
if command -v gnuplot >/dev/null; then
  grep -qF '![Distance of each scheme to the limit of each condition, in margins](results_decision.svg)' results_decision.md
  grep -q '<svg' results_decision.svg
fi
expect_code 0 "$PE_RUN" show results.h5 decision/comparison
expect_code 0 "$PE_RUN" plan config.yaml
cp output planned.yaml
expect_code 0 "$PE_RUN" planned.yaml output=again.h5 --quiet
expect_output 'Winner: alibi'
sed 's/length: 12, above/length: 13, above/' config.yaml >other.yaml
expect_code 1 "$PE_RUN" other.yaml output=other.h5 --quiet
expect_output 'No decision: a condition names what was not measured.'
sed '/measure:/p' config.yaml >twice.yaml
expect_code 2 "$PE_RUN" twice.yaml output=twice.h5 --quiet
expect_output 'follows from conditions[0]'
