# Same config, same machine, same bytes: twice, to another path, with one and two threads, with one and two workers and
# without any. And the float64 reference agrees with the kernel in every number of the results.
. "$SOURCE/tests/cli/checks.sh"
rm -rf out && mkdir out
small="extrapolation.lengths=[64,160] extrapolation.offsets=[300] extrapolation.window=64 extrapolation.spans=2"
for file in "$SOURCE"/configs/*.yaml; do
  config=$(basename "$file" .yaml)
  settings=
  case $config in
  extrapolation) settings=$small ;;
  decide* | rope_scaling) settings="extrapolation.spans=2" ;;
  esac
  # Training is its own test, on a smaller model than a config's.
  case $config in length_generalization* | tasks* | trained_*) continue ;; esac
  # shellcheck disable=SC2086
  expect_code 0 "$PE_RUN" "$file" $settings output=out/$config.h5 -j 2 --threads 2 --quiet
  # shellcheck disable=SC2086
  expect_code 0 "$PE_RUN" "$file" $settings output=out/another/folder/$config-again.h5 -j 1 --threads 2 --quiet
  # shellcheck disable=SC2086
  expect_code 0 "$PE_RUN" "$file" $settings output=out/$config-1.h5 --in-process --threads 1 --quiet
  # shellcheck disable=SC2086
  expect_code 0 "$PE_RUN" "$file" $settings output=out/$config-reference.h5 --reference --quiet
  cmp out/$config.h5 out/another/folder/$config-again.h5
  cmp out/$config.h5 out/$config-1.h5
  # Logits here are up to 60: float32 attention keeps 2e-5 of that.
  expect_code 0 "$PE_RUN" diff --tolerance 1e-3 out/$config.h5 out/$config-reference.h5
done
