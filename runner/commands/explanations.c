#include "commands/explanations.h"

#include <assert.h>
#include <stddef.h>

/* Order and spelling of codes: base/error.h. */
static const struct explanation explanations[ERROR_COUNT] = {
    [ERROR_CONFIG_SYNTAX] =
        {.cause = "The file is not YAML: a bracket or a quote is not closed, a tab indents a line, or a colon has no "
                  "blank behind it. The place is where reading stopped, which may be after the fault.",
         .fix = "Look at the place named and at the lines before it. Text with `: ` or `#` in it needs quotes.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "did not find expected ',' or ']'"},
    [ERROR_CONFIG_UNREADABLE] =
        {.cause = "The config cannot be opened, or is a folder, a pipe or a device.",
         .fix = "Check the path and the rights. Paths on the command line are relative to the current folder.",
         .example = "$ pe-run missing.yaml",
         .says = "cannot be read: No such file or directory"},
    [ERROR_CONFIG_UNKNOWN_KEY] =
        {.cause = "The section has no such key. Nothing is ignored: a mistyped key would leave its default in force.",
         .fix = "Take the name that is suggested, or see `pe-run describe NAME` and docs/config.md for the keys there "
                "are.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope]\n"
                    "sede: 17\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "sede: unknown key; did you mean 'seed'?"},
    [ERROR_CONFIG_DUPLICATE_KEY] =
        {.cause = "The same key stands twice in one mapping; YAML readers would silently take one of them.",
         .fix = "Remove one. The message names both lines.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope]\n"
                    "seed: 1\n"
                    "seed: 2\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "seed: the key stands twice, in lines 3 and 4"},
    [ERROR_CONFIG_TYPE] = {.cause = "The value is of another kind than the key takes: a text for a number, a list for "
                                    "a mapping, a fraction for a whole number. Quoted values are text.",
                           .fix = "Write a value of the kind that the message says is allowed.",
                           .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                      "schemes: [rope]\n"
                                      "seed: 1e-4\n"
                                      "experiments: [relative_position: {length: 4, shifts: [1]}]",
                           .says = "seed: '1e-4' is not a whole number"},
    [ERROR_CONFIG_RANGE] =
        {.cause = "The number is outside what the key or the scheme allows, or is not finite.",
         .fix = "Choose a value in the range that the message names; `pe-run describe SCHEME` has them all.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope: {base: -1}]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.rope.base: -1 is out of range"},
    [ERROR_CONFIG_CHOICE] = {.cause = "The key takes one word of a fixed set.",
                             .fix = "Take one of the words in the message.",
                             .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                        "schemes: [rope: {layout: pairs}]\n"
                                        "experiments: [relative_position: {length: 4, shifts: [1]}]",
                             .says =
                                 "schemes.rope.layout: 'pairs' is not one of the allowed words: half or interleaved"},
    [ERROR_CONFIG_MISSING] = {.cause = "A key without a default is not there.",
                              .fix = "Add the key; the message says what it is for.",
                              .example = "schemes: [rope]\n"
                                         "experiments: [relative_position: {length: 4, shifts: [1]}]",
                              .says = "model is missing"},
    [ERROR_CONFIG_LIMIT] = {.cause = "The file is nested deeper than 64 levels, larger than pe-run reads, or makes "
                                     "more values or jobs than it takes: more often a slip (or an attack) than a wish.",
                            .fix = "Make it smaller: a large sweep can be split into several configs.",
                            .example = "$ printf 'title: %0100d\\n' 0 | tr 0 '[' >config.yaml\n"
                                       "$ pe-run config.yaml",
                            .says = "nested deeper than 64"},
    [ERROR_CONFIG_ENCODING] = {.cause = "The file has bytes that are not UTF-8, or a NUL in a text.",
                               .fix = "Save the file as UTF-8, for example by `iconv -f latin1 -t utf-8`.",
                               .example = "$ printf 'title: caf\\351\\n' >config.yaml\n"
                                          "$ pe-run config.yaml",
                               .says = "byte 0xe9 at offset 10 is not UTF-8"},
    [ERROR_CONFIG_DOCUMENTS] = {.cause = "A line `---` begins a second YAML document. Only one could be run, and the "
                                         "other would be passed over in silence.",
                                .fix = "Put each document into a file of its own.",
                                .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                           "schemes: [rope]\n"
                                           "experiments: [relative_position: {length: 4, shifts: [1]}]\n"
                                           "---\n"
                                           "title: another",
                                .says = "a second document starts here; a config is one document"},
    [ERROR_CONFIG_LABEL] =
        {.cause = "Labels name groups in the results: letters, digits and underscores, at most 64, each once, and not "
                  "the name of an axis or of a group that pe-run makes. The default label is the scheme's or "
                  "experiment's id, so that the same one listed twice needs a second label.",
         .fix = "Add `label: NAME` to one of the entries.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope, rope: {base: 500000}]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.rope: the label 'rope' stands twice"},
    [ERROR_CONFIG_CONFLICT] = {.cause = "Two settings exclude each other.",
                               .fix = "Keep one of the keys that the message names.",
                               .example = "model:\n"
                                          "  random: {heads: 1, head_dim: 4, d_model: 4}\n"
                                          "  matrix: {x: [[1, 0], [0, 1]]}\n"
                                          "schemes: [rope]\n"
                                          "experiments: [relative_position: {length: 4, shifts: [1]}]",
                               .says = "model: has matrix, random; only one of"},
    [ERROR_CONFIG_ALIAS] = {.cause = "An alias `*name` has no anchor `&name` before it, or leads back to itself.",
                            .fix = "Set the anchor before the alias; text that begins with `*` needs quotes.",
                            .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                       "schemes: *mine\n"
                                       "experiments: [relative_position: {length: 4, shifts: [1]}]",
                            .says = "the alias *mine has no anchor &mine before it"},
    [ERROR_CONFIG_NAME] =
        {.cause = "No scheme or experiment has this name. Schemes come from plugins, so that a plugin that was not "
                  "found is missing from the list, too.",
         .fix = "See `pe-run list`. A scheme of your own needs `plugin: PATH`, `--plugin-dir` or PE_PLUGIN_PATH.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rop]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.rop: unknown scheme 'rop'; did you mean 'rope'?"},
    [ERROR_OVERRIDE] = {.cause = "An argument after the config is not KEY=VALUE, or its key cannot be followed.",
                        .fix = "Write the path of keys with dots, list entries by their label: `rope.base=5e5`, "
                               "`extrapolation.lengths=[512,1024]`. Quote brackets for the shell.",
                        .example = "$ pe-run plan config.yaml seed",
                        .says = "no '=' in it; a setting is key=value"},
    [ERROR_CONFIG_JSON] = {.cause = "A model's config.json is not JSON, or has a key twice in one object.",
                           .fix = "Take the file as the model's authors publish it.",
                           .example = "$ echo '{\"rope_theta\": }' >config.json\n"
                                      "$ pe-run describe rope --from config.json",
                           .says = "not JSON that can be relied on"},
    [ERROR_USAGE] = {.cause = "The command was given arguments that it cannot work with. (What `--help` of the command "
                              "tells at once, such as an unknown option, is printed without a code.)",
                     .fix = "`pe-run COMMAND --help` has the form; docs/commands.md has examples.",
                     .example = "$ pe-run show results.h5 relative_position/rope/a/b",
                     .says = "'relative_position/rope/a/b' has more than three parts"},
    [ERROR_PLUGIN_NOT_FOUND] = {.cause =
                                    "There is no file of this name. A path in a config is relative to the config's "
                                    "folder, and a bare name is a file there: system paths are never searched.",
                                .fix = "Give the path to the shared object that was built.",
                                .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                           "schemes:\n"
                                           "  - mine: {}\n"
                                           "    plugin: missing.so\n"
                                           "experiments: [relative_position: {length: 4, shifts: [1]}]",
                                .says = "schemes.mine: missing.so: No such file or directory"},
    [ERROR_PLUGIN_NOT_A_FILE] =
        {.cause = "The plugin is a folder, a pipe, a device or a socket. It is not opened: a pipe would never answer.",
         .fix = "Give the path of the shared object itself.",
         .example = "$ mkdir mine.so\n"
                    "$ pe-run config.yaml rope.plugin=mine.so",
         .says = "schemes.rope: mine.so: not a regular file but a folder"},
    [ERROR_PLUGIN_NOT_ELF] = {.cause = "The file is no shared object, is cut off, or was built for another processor. "
                                       "Its header is read before it is loaded.",
                              .fix = "Build it again on this machine; see docs on `pe_add_plugin` in the README. A "
                                     "file that was copied may be incomplete.",
                              .example = "$ echo text >mine.so\n"
                                         "$ pe-run config.yaml rope.plugin=mine.so",
                              .says = "schemes.rope: mine.so: not a shared object (no ELF file)"},
    [ERROR_PLUGIN_LOAD] =
        {.cause = "The system's loader refuses the file, most often because a symbol is defined nowhere. All symbols "
                  "are resolved at once, so that this is told now and not in the middle of a run.",
         .fix = "Define the missing function, or link the library that has it. Plugins need libc and libm alone.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes:\n"
                    "  - spoiled: {}\n"
                    "    plugin: undefined_symbol.so\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.spoiled: undefined_symbol.so: cannot be loaded: undefined symbol: missing_fn"},
    [ERROR_PLUGIN_NO_ENTRY] =
        {.cause = "The shared object does not export `pe_plugin_entry`, or exports something else under this name.",
         .fix = "Define `const pe_entry pe_plugin_entry` (README, \"A plugin in 40 lines\"), with external linkage "
                "and, in C++, in `extern \"C\"`.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes:\n"
                    "  - spoiled: {}\n"
                    "    plugin: no_entry.so\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.spoiled: no_entry.so: exports no pe_plugin_entry"},
    [ERROR_PLUGIN_ABI] = {.cause = "The plugin was built against another major version of the contract, or its first "
                                   "bytes are not those of a plugin. No code of it was called.",
                          .fix = "Build it again with this pe-run's pe/plugin.h.",
                          .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                     "schemes:\n"
                                     "  - spoiled: {}\n"
                                     "    plugin: newer_major.so\n"
                                     "experiments: [relative_position: {length: 4, shifts: [1]}]",
                          .says = "schemes.spoiled: newer_major.so: built for version 99.3 of the plugin contract"},
    [ERROR_PLUGIN_TABLE] =
        {.cause = "What the plugin says of itself does not hold together: a site without its function, an id with "
                  "forbidden letters, two schemes of one name, a default outside its range.",
         .fix =
             "Mend the table that the message names; `pe-run check PLUGIN` tells everything that is wrong in one go.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes:\n"
                    "  - spoiled: {}\n"
                    "    plugin: null_member.so\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.spoiled: null_member.so: scheme spoiled: sites names PE_SITE_BIAS, but bias_add is NULL"},
    [ERROR_PLUGIN_UNTRUSTED] =
        {.cause = "Others could have put this file there: it, or a folder on its way, can be written by everyone or "
                  "belongs to another user, or PE_PLUGIN_PATH has an empty element, which would mean the current "
                  "folder. A plugin runs with all your rights.",
         .fix = "Move it to a folder of your own, take the rights away (`chmod o-w`), or say `--trust-plugin-dir`.",
         .example = "$ mkdir -m 777 open\n"
                    "$ cp sound.so open\n"
                    "$ pe-run plan config.yaml rope.plugin=open/sound.so",
         .says = "schemes.rope: open/sound.so: everyone can write the folder open"},
    [ERROR_PLUGIN_CRASHED] =
        {.cause = "Code of the plugin that runs when it is loaded (a constructor) crashed or ended the process. It was "
                  "loaded in a process of its own.",
         .fix = "A plugin needs no code at load: put it into `create`. `gdb --args pe-run --in-process ...` shows the "
                "place.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes:\n"
                    "  - spoiled: {}\n"
                    "    plugin: constructor_crashes.so\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "schemes.spoiled: constructor_crashes.so: crashed: Segmentation fault (SIGSEGV) while it was loaded"},
    [ERROR_PLUGIN_HUNG] = {.cause = "The plugin was not loaded within its time: a constructor waits or loops.",
                           .fix = "A plugin needs no code at load: put it into `create`.",
                           .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                      "schemes:\n"
                                      "  - spoiled: {}\n"
                                      "    plugin: constructor_hangs.so\n"
                                      "experiments: [relative_position: {length: 4, shifts: [1]}]",
                           .says = "schemes.spoiled: constructor_hangs.so: was not loaded within"},
    [ERROR_FILE_READ] = {.cause = "A file that the config or the command names cannot be opened or read.",
                         .fix = "Check the path and the rights. Inputs in a config are relative to the config's "
                                "folder; those on the command line, to the current one.",
                         .example = "model: {weights: missing.h5, tokens: {text: he works}}\n"
                                    "schemes: [rope]\n"
                                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
                         .says = "missing.h5: cannot be opened: No such file or directory"},
    [ERROR_FILE_WRITE] =
        {.cause = "An output cannot be written: no right, no space, a limit on file sizes, or a folder or device in "
                  "its place. What was there before is untouched, and no half-written file is left; jobs that are done "
                  "are kept in the folder OUTPUT.parts.",
         .fix = "Make room or choose another output, then run the same command again: it goes on where it stopped.",
         .example = "$ pe-run config.yaml output=/proc/results.h5",
         .says = "'/proc/results.h5' cannot be written"},
    [ERROR_FILE_REFUSED] =
        {.cause =
             "The file could make pe-run read something else or hang: a pipe or device in the place of a file, an HDF5 "
             "file with external links, external storage, virtual datasets or filters that would load foreign code. Or "
             "an output would take the place of a file that is read, or of one that is no such output.",
         .fix = "Copy the data into a plain file: `h5repack -f NONE IN OUT` for filters. Give the output another name.",
         .example = "$ mkfifo text.txt\n"
                    "$ echo 'model: {weights: data/use-lite.h5, tokens: {file: text.txt}}' >config.yaml\n"
                    "$ echo 'schemes: [rope]' >>config.yaml\n"
                    "$ echo 'experiments: [extrapolation]' >>config.yaml\n"
                    "$ pe-run config.yaml",
         .says = "text.txt: is a FIFO; needed is a text file"},
    [ERROR_FILE_CONTENT] = {.cause = "The file can be read, but is not what is needed: another format, damaged, a "
                                     "tensor of another shape or type, values that are not finite.",
                            .fix = "The message names the dataset and both shapes. docs/results-format.md and "
                                   "data/README.md describe the formats.",
                            .example = "$ echo text >x.npy\n"
                                       "$ pe-run apply rope --site qk --in x.npy --positions 0:4 --out y.npy",
                            .says = "x.npy: is not a .npy file"},
    [ERROR_TOKENS] =
        {.cause =
             "The model's vocabulary has no piece for some of the text, or the text has fewer tokens than are needed.",
         .fix = "Change the text, or set `unknown: skip` to leave such places out.",
         .example = "model: {weights: data/use-lite.h5, tokens: {text: '☃'}}\n"
                    "schemes: [rope]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "no piece of the vocabulary matches '☃'"},
    [ERROR_EVIDENCE] =
        {.cause =
             "`decision.trained` names a results file that has no trained models, is partial, has fewer seeds than "
             "an interval (2) or a ranking (5) needs, or has none of the config's schemes with the same parameters "
             "and positions.",
         .fix = "Give the results of a run with the experiment length_generalization on the same schemes, run to its "
                "end; configs/trained_for_decide.yaml is such a config.",
         .example =
             "$ pe-run config.yaml output=forward.h5 --quiet\n"
             "$ pe-run config.yaml 'decision={trained: forward.h5, conditions: [{measure: trained.change, length: "
             "8, below: 0.1, margin: 0.02}]}'",
         .says = "decision.trained: 'forward.h5' has no trained models"},
    [ERROR_NOTHING_SELECTED] = {.cause = "`--only` and `--exclude` leave no job, which is seldom what was meant.",
                                .fix = "The message lists jobs that there are; `pe-run CONFIG --dry-run` lists them "
                                       "all. Quote the pattern for the shell.",
                                .example = "$ pe-run config.yaml --only 'ropes/*'",
                                .says = "no job matches --only and --exclude"},
    [ERROR_BUSY] =
        {.cause = "Another pe-run is writing this output, here or on another machine that shares the folder. Programs "
                  "that only read the output are no obstacle, and the lock of a pe-run that died is none.",
         .fix = "Wait for it, or give another `output=`. Parts of one run on several machines need `--shard I/N`.",
         .example = "$ mkdir results.h5.parts\n"
                    "$ flock results.h5.parts/.lock pe-run config.yaml output=results.h5",
         .says = "'results.h5' is being written by another pe-run"},
    [ERROR_SCHEME_REFUSED] =
        {.cause = "The scheme cannot be made for this model: an odd width, a number of heads it does not take, a "
                  "parameter that does not fit the others.",
         .fix = "Change the model's shape or the scheme's parameters as the message says. The other schemes were run.",
         .example = "model: {random: {heads: 1, head_dim: 5, d_model: 5}}\n"
                    "schemes: [rope]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "rope: head_dim 5 is odd: rope turns pairs of channels"},
    [ERROR_SCHEME_FAILED] =
        {.cause = "A function of the plugin returned an error, or something that the contract does not have.",
         .fix = "The sentence comes from the plugin. `pe-run check PLUGIN` tries its functions one by one.",
         .example = "$ pe-run relative_position spoiled spoiled.plugin=create_nothing.so",
         .says = "spoiled: create returned PE_OK and no instance"},
    [ERROR_SCHEME_VALUE] =
        {.cause = "The scheme wrote NaN or an infinity where numbers are needed, or left a place unwritten.",
         .fix = "The message names function, position and channel of the first one. Divisions by the position and "
                "logarithms of 0 are the usual causes.",
         .example = "$ pe-run relative_position spoiled spoiled.plugin=qk_nan.so",
         .says = "spoiled: qk_apply gave"},
    [ERROR_SCHEME_BOUNDS] = {.cause = "The scheme wrote beside the memory that it was given. The job's numbers cannot "
                                      "be relied on and are not stored.",
                             .fix = "`pe-run check PLUGIN` puts guard pages around every buffer and names the "
                                    "function; strides are not always the width.",
                             .example = "$ pe-run relative_position spoiled spoiled.plugin=writes_after.so",
                             .says = "spoiled: embed_add wrote outside its buffer"},
    [ERROR_UNDEFINED] =
        {.cause = "The scheme has no value there, such as a learned table past its last row. In a run this is a result "
                  "(`undefined`), no failure; a command that cannot go on without the value says it as an error.",
         .fix = "Stay inside the positions that the message names, or map them: `positions: {divide: auto}`.",
         .example = "$ pe-run vectors learned max_positions=4 --positions 2:8 --out y.json",
         .says = "learned: not defined at position 4"},
    [ERROR_JOB_CRASHED] = {.cause = "The process that ran the job ended by itself: a signal, exit() in the plugin. The "
                                    "other jobs went on in a new one.",
                           .fix = "`pe-run check PLUGIN` finds the function; `gdb --args pe-run CONFIG --in-process "
                                  "--only EXPERIMENT/LABEL` the line. The same command again tries only what failed.",
                           .example = "$ pe-run relative_position spoiled spoiled.plugin=ends_abort.so",
                           .says = "crashed: Aborted (SIGABRT)"},
    [ERROR_JOB_TIMEOUT] =
        {.cause =
             "The job took longer than `--timeout` allows, or made no progress for the time of `--stall` (one hour "
             "where it is not given), and was ended.",
         .fix =
             "Allow more (`--timeout 6h`, `--stall 6h`, 0: no limit), or make the job smaller. The same command again "
             "tries only what failed; a training goes on from where it was.",
         .example = "$ pe-run relative_position spoiled spoiled.plugin=ends_never.so --timeout 1s",
         .says = "took longer than 1 seconds (--timeout)"},
    [ERROR_JOB_MEMORY] = {.cause = "The job needed more memory than `--memory` allows, or than the machine has.",
                          .fix = "Allow more (`--memory 16G`), run fewer at once (`-j 1`), or shorten the lengths.",
                          .example = "$ pe-run relative_position spoiled spoiled.plugin=ends_memory.so --memory 300M",
                          .says = "spoiled: embed_add: out of memory"},
    [ERROR_JOB_SETUP] = {.cause = "The experiment cannot be run on this model and these settings.",
                         .fix = "Set what the message asks for.",
                         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                                    "schemes: [rope]\n"
                                    "experiments: [extrapolation: {lengths: [4]}]",
                         .says = "the model does not say its training length: set train_length"},
    [ERROR_EXPECTATION] =
        {.cause = "The run is whole, but a line of `expect:` did not hold, or names a measure that there is not.",
         .fix = "The table \"what the config expects\" has the measured value beside each line.",
         .example = "model: {random: {heads: 1, head_dim: 4, d_model: 4}}\n"
                    "schemes: [rope]\n"
                    "expect: [shift_error.rope.max > 1]\n"
                    "experiments: [relative_position: {length: 4, shifts: [1]}]",
         .says = "1 expectation did not hold"},
    [ERROR_MEMORY] = {.cause = "pe-run itself could not get memory. What is finished is kept.",
                      .fix = "The message names what the memory was for and how much. Lengths enter squared where "
                             "whole matrices are stored.",
                      .example =
                          "$ ulimit -v 1000000\n"
                          "$ pe-run apply alibi --site bias --heads 1 --queries 0:46341 --keys 0:46341 --out bias.h5",
                      .says = "biases: 8589953124 bytes of memory are not to be had"},
    [ERROR_INTERNAL] = {.cause = "Something went wrong that should not be possible: a mistake in pe-run, or a machine "
                                 "that does not do what the system promises.",
                        .fix = "Please report it with the command, the config and what `pe-run --version` prints. What "
                               "is finished is kept: the same command goes on.",
                        .example = NULL,
                        .says = NULL},
};

const struct explanation *explanation_of(enum error_code code) {
  assert(code > ERROR_NONE && code < ERROR_COUNT);
  return &explanations[code];
}
