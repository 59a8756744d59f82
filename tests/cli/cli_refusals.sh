# What a wrong config or a bad plugin gets: its exit code and its message, and no output file.
. "$SOURCE/tests/cli/checks.sh"
bad=$(dirname "$PE_RUN")/tests/bad_plugins
rm -rf out && mkdir out
base='model: {random: {heads: 1, head_dim: 4, d_model: 4}}
experiments: [relative_position: {length: 4, shifts: [1]}]'

# refused CODE CONFIG-LINES MESSAGE
refused() {
  printf '%s\n%s\n' "$base" "$2" >config.yaml
  expect_code "$1" "$PE_RUN" config.yaml output=out/results.h5 --quiet
  expect_output "$3"
  [ ! -e out/results.h5 ] || { echo "an output file was written"; exit 1; }
}

# A number in e-notation is a number, wherever it is not a whole one it is refused with the place (Y01).
refused 2 'schemes: [rope]
seed: 1e-4' "config.yaml:4:7: error[E0105]: seed: '1e-4' is not a whole number"
printf '%s\nschemes: [rope: {base: 1e4}]\n' "$base" >config.yaml
expect_code 0 "$PE_RUN" plan config.yaml
expect_output 'base: 10000'
# `no` where text is meant is the text; quoted text is no boolean (Y03).
printf '%s\nschemes: [rope]\ntitle: no\n' "$base" >config.yaml
expect_code 0 "$PE_RUN" plan config.yaml
expect_output 'title: "no"'
refused 2 'schemes:
  - rope: {}
    positions: {shuffled: "true"}' "error[E0105]: schemes.rope.positions.shuffled"
# The same key twice (Y05).
refused 2 'schemes: [rope]
seed: 1
seed: 2' "error[E0104]: seed: the key stands twice, in lines 4 and 5"
# Near names, all errors in one go.
refused 2 'schemes: [rope: {basee: 1}, rop]' "error[E0103]: schemes.rope.basee: unknown key; did you mean 'base'?"
expect_output "error[E0115]: schemes.rop: unknown scheme 'rop'; did you mean 'rope'?"

# An undefined symbol is found at load, with its name (P03).
refused 3 "schemes:
  - sound: {}
    plugin: $bad/undefined_symbol.so" "undefined_symbol.so: cannot be loaded: undefined symbol: missing_fn"
# Another version of the contract: both named, nothing called (P05).
refused 3 "schemes:
  - sound: {}
    plugin: $bad/newer_major.so" "newer_major.so: built for version 99.3 of the plugin contract, this pe-run has 0.1"
refused 3 "schemes:
  - sound: {}
    plugin: $bad/null_member.so" "sites names PE_SITE_BIAS, but bias_add is NULL"
# A bare name is a file beside the config, wherever one stands (P07).
cp "$(dirname "$PE_RUN")/plugins/rope.so" out/mine.so
printf '%s\nschemes:\n  - rope: {}\n    plugin: mine.so\n' "$base" >out/config.yaml
expect_code 0 "$PE_RUN" out/config.yaml output=out/from-above.h5 --quiet
(cd out && "$PE_RUN" config.yaml output=from-beside.h5 --quiet >/dev/null)
cmp out/from-above.h5 out/from-beside.h5
refused 3 'schemes:
  - rope: {}
    plugin: rope.so' "config.yaml:5:13: error[E0301]: schemes.rope:"
refused 2 'schemes:
  - rope: {}
    plugin: ""' "error[E0105]: schemes.rope.plugin: is empty"
refused 3 'schemes:
  - rope: {}
    plugin: out' "not a regular file but a folder"
echo text >out/text.so
refused 3 'schemes:
  - rope: {}
    plugin: out/text.so' "out/text.so: not a shared object (no ELF file)"

# The command line itself.
expect_code 2 "$PE_RUN"
expect_code 2 "$PE_RUN" missing.yaml
expect_output 'missing.yaml: error[E0102]: cannot be read: No such file or directory'
expect_code 2 "$PE_RUN" run
expect_output 'no CONFIG given'
expect_code 2 "$PE_RUN" run config.yaml --threads 0
expect_code 0 "$PE_RUN" --help
expect_code 0 "$PE_RUN" describe rope
expect_code 2 "$PE_RUN" describe rop
expect_output "did you mean 'rope'?"
# Each names the code of a wrong use, whoever finds it: getopt, argp, the command.
for words in '--bogus' '--jobs' '--quiet=3' '--f' '-j -1' '' '--format xml' '--plugin-dir missing' '--plugin-dir config.yaml'; do
  expect_code 2 "$PE_RUN" run $words
  [ "$(grep -c '^pe-run run: error\[E0201\]: ' output)" = 1 ] || { cat output; exit 1; }
  expect_output "Try \`pe-run run --help'"
done
for command in show diff report check new describe apply compare vectors join; do
  expect_code 2 "$PE_RUN" $command
  expect_output "pe-run $command: error[E0201]: "
done
expect_code 2 "$PE_RUN" compare rope -- rope --bogus
expect_output "pe-run compare: error[E0201]: unrecognized option '--bogus'"
expect_code 0 "$PE_RUN" run --help
expect_output 'Usage: pe-run run [OPTION...] CONFIG'
# A command that is no command; a folder for plugins that is not there; a shape beside a file that has one.
expect_code 2 "$PE_RUN" reprot results.h5
expect_output "error[E0201]: there is no command, experiment or file 'reprot'; did you mean 'report'?"
expect_code 2 "$PE_RUN" extrapolatoin rope
expect_output "did you mean 'extrapolation'?"
expect_code 2 "$PE_RUN" list --plugin-dir missing
expect_output "--plugin-dir: 'missing' is not a folder: No such file or directory"
expect_code 2 "$PE_RUN" describe rope --from "$SOURCE/data/model-configs/phi-4-mini.json" --heads 3
expect_output "--from takes the shape from the file"
# Where output cannot go is told before the work.
printf '%s\nschemes: [rope]\n' "$base" >config.yaml
expect_code 4 "$PE_RUN" config.yaml output=/proc/nowhere/results.h5 --quiet
expect_output 'error[E0402]'
# A run without a file: needs schemes, and does what the config it prints would do.
expect_code 2 "$PE_RUN" extrapolation
expect_output 'extrapolation: no scheme named'
"$PE_RUN" relative_position rope length=8 shifts=[1,5] rope.base=5e5 output=out/printed.h5 >/dev/null 2>messages
sed -n '/^# The config/,/^1\/2/p' messages | sed '1d;$d' >printed.yaml
mv out/printed.h5 out/without-file.h5
expect_code 0 "$PE_RUN" printed.yaml --quiet
expect_code 0 "$PE_RUN" diff out/without-file.h5 out/printed.h5

# Settings of a training that do not go together are refused before any model is made.
training='seed: 1
schemes: [rope, alibi]
experiments:
  - length_generalization: {corpus: 60000, train_length: 16, lengths: [16, 32], tail: 8, d_model: 32, heads: 2'
untrained() {
  printf '%s, %s}\n' "$training" "$1" >config.yaml
  expect_code 2 "$PE_RUN" config.yaml output=out/results.h5 --quiet
  expect_output "config.yaml:4:5: error[E0113]: experiments.length_generalization: $2"
  [ ! -e out/results.h5 ] || { echo "an output file was written"; exit 1; }
}
untrained 'task: copy' 'needs exactly one of text, corpus, task'
untrained 'pairs: [rope/alobi]' "pairs: 'rope/alobi' is not a/b, two labels of schemes of this config"
untrained 'pairs: [rope]' "pairs: 'rope' is not a/b"
untrained 'stride: 17' 'the shortest length is 16 tokens; it must hold the stride of sliding windows'
printf '%s}\n' "$training" >config.yaml
expect_code 2 "$PE_RUN" config.yaml output=out/results.h5 length_generalization.heads=3 --quiet
expect_output 'd_model 32 is not a multiple of heads 3'
expect_code 2 "$PE_RUN" config.yaml output=out/results.h5 length_generalization.tail=17 --quiet
expect_output 'the shortest length is 16 tokens; it must hold the tail, 17'
expect_code 0 "$PE_RUN" plan config.yaml 'length_generalization.pairs=[rope/none]'
