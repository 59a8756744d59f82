# bash completion for pe-run. Commands, options, schemes and their keys come from the program that is called.

# The names in a table of `pe-run list`: 1 schemes, 2 experiments.
_pe_run_ids() {
  "$1" list --format csv 2>/dev/null |
    awk -F, -v wanted="$2" '/^# / { n++; skip = 1; next } skip { skip = 0; next } n == wanted { print $1 }'
}

_pe_run_commands() {
  "$1" --help 2>/dev/null | awk '/^  [a-z]+ +[a-z]/ { print $1 }'
}

_pe_run_options() {
  ARGP_HELP_FMT=rmargin=4000 "$1" "$2" --help 2>/dev/null | grep -oE '^ +(-., |    )--[a-z-]+=?' | grep -oE -e '--[a-z-]+=?'
}

# The keys of a scheme or experiment, as KEY=.
_pe_run_keys() {
  "$1" describe "$2" --format csv 2>/dev/null | awk -F, 'NR > 2 && /^# / { exit } NR > 2 && /^[a-z]/ { print $1 "=" }'
}

# The words that an option takes, where they are few.
_pe_run_words() {
  case $1 in
    --format) echo table json csv md ;;
    --level) echo quick full deep ;;
    --site) echo embed qk bias ;;
    --lang) echo c c++ ;;
    --role) echo query key ;;
    *) return 1 ;;
  esac
}

_pe_run() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words suffix= first= i
  COMPREPLY=()
  # bash cuts words at =: --format = js
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if words=$(_pe_run_words "$previous"); then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  case $previous in
    --plugin-dir | --png | --svg)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null || true
      return
      ;;
  esac
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_pe_run_commands "$program") $(_pe_run_ids "$program" 2)" -- "$current")
    suffix=yaml
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_pe_run_options "$program" "$command")" -- "$current")
    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  else
    for ((i = 2; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -* ]] || { first=${COMP_WORDS[i]}; break; }
    done
    case $command in
      describe | apply | compare | vectors)
        if [[ -z $first ]]; then
          words=$(_pe_run_ids "$program" 1)
          [[ $command == describe ]] && words+=" $(_pe_run_ids "$program" 2)"
        else
          words=$(_pe_run_keys "$program" "$first")
          compopt -o nospace 2>/dev/null
        fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
        ;;
      check) suffix=so ;;
      show | report | diff) suffix=h5 ;;
      new) return ;;
      *) suffix=yaml ;;
    esac
  fi
  local files
  mapfile -t files < <(compgen -f -X "!*.$suffix" -- "$current"; compgen -d -- "$current")
  ((${#files[@]})) && compopt -o filenames 2>/dev/null
  COMPREPLY+=("${files[@]}")
}
complete -F _pe_run pe-run
