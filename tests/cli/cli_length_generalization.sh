# The quick variant of train short, test long holds this config's own numbers, and prints what follows from them.
. "$SOURCE/tests/cli/checks.sh"
expect_code 0 "$PE_RUN" "$SOURCE/configs/length_generalization_quick.yaml" output=results.h5
expect_output 'degrades from 128'
expect_output 'nat, more than 0.05)'
expect_output 'holds to 256 (within 0.05 nat)'
expect_output 'learned at L  what follows'
expect_output 'not learned at L: no verdict beyond it'
expect_output 'undefined from 64'
expect_output '3 seeds: pairs of schemes are judged from 5 on'
expect_output 'Press et al. 2022'
# Done already: nothing is trained again.
expect_code 0 "$PE_RUN" "$SOURCE/configs/length_generalization_quick.yaml" output=results.h5
expect_output 'kept'
# T5's buckets end at L/2, and the plan says so: run again it is the same.
expect_code 0 "$PE_RUN" plan "$SOURCE/configs/length_generalization_quick.yaml" t5.num_buckets=8
expect_output 'max_distance: 16'
expect_code 0 "$PE_RUN" plan "$SOURCE/configs/length_generalization_quick.yaml" t5.max_distance=24
expect_output 'max_distance: 24'
