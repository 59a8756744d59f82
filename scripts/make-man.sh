#!/bin/sh
# make-man.sh PE_RUN SOURCE VERSION OUTPUT: writes OUTPUT/pe-run.1 from what PE_RUN says of its commands, and
# OUTPUT/pe-run.yaml.5 from docs/config.md and what it says of its schemes and experiments.
set -eu
export LC_ALL=C.UTF-8 ARGP_HELP_FMT=rmargin=4000,opt-doc-col=70
unset PE_PLUGIN_PATH
pe_run=$1 source=$2 version=$3 output=$4
scripts=$source/scripts
mkdir -p "$output"

# A program that does not run is an error here, not an empty page later.
help=$("$pe_run" --help)
tables=$("$pe_run" list --format csv)
commands() {
  echo "$help" | awk '/^  [a-z]+ +[a-z]/ { print $1 }'
}

head() {
  echo ".\\\" Made by scripts/make-man.sh"
  echo ".TH $1 $2 \"$(date -u -r "$source/docs/config.md" +%Y-%m-%d)\" \"pe\\-run $version\" \"pe\\-run\""
}

{
  head PE\\-RUN 1
  cat <<'END'
.SH NAME
pe\-run \- a bench for positional encodings
.SH SYNOPSIS
.B pe\-run
.I CONFIG
.RI [ key=value " ...]"
.br
.B pe\-run
.I EXPERIMENT SCHEME
\&...
.RI [ key=value " ...]"
.br
.B pe\-run
.I COMMAND
.RI [ ARGUMENT " ...]"
.SH DESCRIPTION
Attention does not see order; a positional encoding tells it.
.B pe\-run
loads encodings as plugins, runs experiments on them with controls and noise floors, prints a table with what follows,
and writes every tensor to one HDF5 file.
.I CONFIG
is a YAML file, see
.BR pe\-run.yaml (5);
any key of it can be set on the command line.
.SH COMMANDS
END
  for command in $(commands); do
    "$pe_run" "$command" --help | awk -v name="$command" -f "$scripts/help-to-man.awk"
  done
  cat <<'END'
.SH EXIT STATUS
END
  awk '/^Exit codes:/ { inside = 1; sub(/^Exit codes: /, "") } /^$/ { inside = 0 } inside { sub(/^0/, "\\\\\\&0"); print }' \
    "$source/README.md"
  cat <<'END'
.SH ENVIRONMENT
.TP
.B PE_PLUGIN_PATH
folders with plugins, separated by colons, looked into after those of
.BR \-\-plugin\-dir .
.TP
.B NO_COLOR
no colours, where it is set and not empty.
.SH SEE ALSO
.BR pe\-run.yaml (5)
.PP
Configs, data and documentation are installed in
.I share/pe\-run
beside the program's folder.
END
} | awk -f "$scripts/wrap-man.awk" >"$output/pe-run.1"

# about ID: the first table of `describe`, its title as the heading. What follows it needs parameters with some schemes.
about() {
  "$pe_run" describe "$1" --format md 2>/dev/null | awk '/^### / { n++ } n == 1 && !/^- plugin:/' |
    awk -v level=2 -f "$scripts/markdown-to-man.awk"
}
# ids N: first column of the N-th table of `list`.
ids() {
  echo "$tables" | awk -F, -v wanted="$1" '/^# / { n++; skip = 1; next } skip { skip = 0; next } n == wanted { print $1 }'
}

{
  head PE\\-RUN.YAML 5
  cat <<'END'
.SH NAME
pe\-run.yaml \- configs of pe\-run
.SH DESCRIPTION
END
  awk -v level=1 -f "$scripts/markdown-to-man.awk" "$source/docs/config.md"
  echo '.SH SCHEMES'
  for id in $(ids 1); do about "$id"; done
  echo '.SH EXPERIMENTS'
  for id in $(ids 2); do about "$id"; done
  cat <<'END'
.SH SEE ALSO
.BR pe\-run (1)
END
} | awk -f "$scripts/wrap-man.awk" >"$output/pe-run.yaml.5"
