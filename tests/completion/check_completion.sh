#!/bin/bash
# check_completion.sh PE_RUN SOURCE: what the shells offer is what the program has. zsh and fish are left out, with a
# word, where they are not there.
set -euo pipefail
pe_run=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$pe_run" "$work/pe-run"
PATH=$work:$PATH
mkdir "$work/desk"
cd "$work/desk"
touch a.yaml b.so c.h5 d.txt

fail() { echo "$*" >&2; exit 1; }
# has SHELL "LINE" WORD...: each is offered.
has() {
  local shell=$1 line=$2 offered word
  shift 2
  offered=$("offered_by_$shell" "$line")
  for word in "$@"; do
    grep -qxF -e "$word" <<<"$offered" || fail "$shell: '$line' does not offer '$word' but: $(tr '\n' ' ' <<<"$offered")"
  done
}
# lacks SHELL "LINE" WORD
lacks() {
  if "offered_by_$1" "$2" | grep -qxF -e "$3"; then fail "$1: '$2' offers '$3'"; fi
}

. "$source/completion/pe-run.bash"
offered_by_bash() (
  IFS=' ' read -r -a COMP_WORDS <<<"$1"
  [[ $1 != *" " ]] || COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _pe_run
  printf '%s\n' "${COMPREPLY[@]}"
)
# The same function with zsh's own calls replaced by their answer.
offered_by_zsh() {
  zsh -f -c '
    compadd() { local -a given; while [[ $1 == -* ]]; do [[ $1 == -a ]] && { print -l -- ${(P)2}; return }
      [[ $1 == -S ]] && shift; shift; done; print -l -- "$@" }
    _files() { [[ $1 == -g ]] && print -l -- ${~2}(N) || print -l -- *(/N) }
    words=(${(s: :)1}); [[ $1 == *" " ]] && words+=(""); CURRENT=$#words
    source "$2"' zsh "$1" "$source/completion/_pe-run"
}
offered_by_fish() {
  HOME=$work fish --no-config -c 'source $argv[2]; complete -C $argv[1]' "$1" "$source/completion/pe-run.fish" | cut -f1
}

mapfile -t commands < <(pe-run --help | awk '/^  [a-z]+ +[a-z]/ { print $1 }')
((${#commands[@]} >= 10)) || fail "hardly a command"
for shell in bash zsh fish; do
  command -v $shell >/dev/null || { echo "$shell is not there"; continue; }
  has $shell "pe-run " "${commands[@]}" extrapolation a.yaml
  lacks $shell "pe-run " b.so
  for command in "${commands[@]}"; do
    mapfile -t options < <(pe-run "$command" --usage | grep -oE -e '--[a-z-]+=?' | sort -u)
    has $shell "pe-run $command --" "${options[@]}"
  done
  has $shell "pe-run describe " rope alibi none extrapolation
  has $shell "pe-run apply " rope
  lacks $shell "pe-run apply " extrapolation
  has $shell "pe-run describe rope " base= layout=
  has $shell "pe-run check " b.so
  has $shell "pe-run show " c.h5
  has $shell "pe-run plan " a.yaml
  [ $shell = zsh ] || has $shell "pe-run run -o " c.h5 d.txt
  for pair in "check --level:quick full deep" "new --site:embed qk bias" "new --lang:c c++" "apply --role:query key" \
    "list --format:table json csv md"; do
    read -r -a words <<<"${pair#*:}"
    has $shell "pe-run ${pair%:*} " "${words[@]}"
    # The program knows each of these words.
    for word in "${words[@]}"; do
      ARGP_HELP_FMT=rmargin=4000 pe-run "${pair%% *}" --help | grep -F -e "${pair#* }" -e "$(sed 's/.* //; s/:.*//' <<<"$pair")" |
        grep -qwF -e "$word" || fail "pe-run ${pair%% *} --help does not name $word"
    done
  done
  echo "$shell: ${#commands[@]} commands and their options"
done
