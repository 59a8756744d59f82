# What textbooks state: configs/course.yaml prints an answer and a number for each, and other schemes get other answers.
. "$SOURCE/tests/cli/checks.sh"
expect_code 0 "$PE_RUN" "$SOURCE/configs/course.yaml" output=course.h5 --quiet
expect_output 'attention without positions is equivariant'
expect_output 'distances 1 and 2 share a bias (a bucket)                                            no '
expect_output 'distances 100 and 101 share a bias (a bucket)                                        yes '
expect_output 'Slopes of alibi: 0.25, 0.0625, 0.015625, 0.00390625.'
expect_output 'position 0 is the identity                                                           yes '
if grep -q 'does not hold' output; then
  exit 1
fi
cat >config.yaml <<'END'
model: {random: {heads: 6, head_dim: 16, d_model: 32, length: 3}}
schemes:
  - alibi
  - rope: {}
    label: moved
    positions: {offset: 5}
  - learned: {max_positions: 16}
experiments:
  - claims: {train_length: 32, distances: [[0, 0]]}
END
expect_code 0 "$PE_RUN" config.yaml output=other.h5 --quiet --format csv
expect_output 'alibi,"the slopes of H heads are 2^(-8h/H), h = 1 .. H",no'
expect_output 'moved,position 0 is the identity,no'
expect_output 'moved,norms are kept,yes'
expect_output 'alibi,distances 0 and 0 share a bias (a bucket),yes'
expect_output 'learned,a table that ends fails loudly,yes'
