# plan: the resolved plan is a config that gives the same plan; jobs; tokens with the ids that the equivariance golden uses.
. "$SOURCE/tests/cli/checks.sh"
rm -rf tree && mkdir -p tree/configs && ln -s "$SOURCE/data" tree/data
for config in "$SOURCE"/configs/*.yaml; do
  cp "$config" tree/configs/original.yaml
  (cd tree/configs && "$PE_RUN" plan original.yaml output=x.h5 >first.yaml && "$PE_RUN" plan first.yaml >second.yaml)
  diff tree/configs/first.yaml tree/configs/second.yaml
done
expect_code 0 "$PE_RUN" plan "$SOURCE/configs/equivariance.yaml" --jobs
expect_output 'equivariance/sinusoidal'
expect_code 0 "$PE_RUN" plan "$SOURCE/configs/equivariance.yaml" --tokens --format csv
grep -q ',0,16,' output && grep -q ',1,171,' output && grep -q ',2,40,' output
# list and describe in every format.
for format in table json csv md; do
  expect_code 0 "$PE_RUN" list --format $format
  expect_output 'sinusoidal'
  expect_code 0 "$PE_RUN" describe rope base=5e5 --format $format
  expect_output 'inv_freq'
  expect_code 0 "$PE_RUN" describe extrapolation --format $format
  expect_output 'train_length'
done
expect_code 0 "$PE_RUN" list --format csv --heads 4 --head-dim 16 --train-length 100
expect_output 'learned,embedding,6400,no,no,undefined'
