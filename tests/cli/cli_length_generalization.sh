# The quick variant of train short, test long holds this config's own numbers, and prints what follows from them.
. "$SOURCE/tests/cli/checks.sh"
expect_code 0 "$PE_RUN" "$SOURCE/configs/length_generalization_quick.yaml" output=results.h5
expect_output 'degrades from 128'
expect_output 'undefined from 64'
expect_output '3 seeds: pairs of schemes are judged from 5 on'
expect_output 'Press et al. 2022'
# Done already: nothing is trained again.
expect_code 0 "$PE_RUN" "$SOURCE/configs/length_generalization_quick.yaml" output=results.h5
expect_output 'kept'
