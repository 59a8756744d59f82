# fish completion for pe-run. Commands, options, schemes and their keys come from the program that is called.

function __pe_run_words
    commandline -opc
end

function __pe_run_commands
    set -l words (__pe_run_words)
    $words[1] --help 2>/dev/null | string match -rg '^  ([a-z]+ +[a-z].*)' | string replace -r ' +' \t
end

# 1: schemes, 2: experiments
function __pe_run_ids
    set -l words (__pe_run_words)
    $words[1] list --format csv 2>/dev/null |
        awk -F, -v wanted=$argv[1] '/^# / { n++; skip = 1; next } skip { skip = 0; next } n == wanted { print $1 }'
end

function __pe_run_options
    set -l words (__pe_run_words)
    ARGP_HELP_FMT=rmargin=4000,opt-doc-col=70 $words[1] $words[2] --help 2>/dev/null |
        string match -rg '^ +(?:-., )?(--[a-z-]+=?)\S* +(.*)' | while read -l option
        read -l text
        printf '%s\t%s\n' $option $text
    end
end

# The words after the command that are no options.
function __pe_run_arguments
    set -l words (__pe_run_words)
    string match -rv '^-' -- $words[3..]
end

function __pe_run_keys
    set -l words (__pe_run_words)
    set -l arguments (__pe_run_arguments)
    $words[1] describe $arguments[1] --format csv 2>/dev/null |
        awk -F, 'NR > 2 && /^# / { exit } NR > 2 && /^[a-z]/ { print $1 "=" }'
end

# Files with a suffix, and folders.
function __pe_run_files
    set -l token (commandline -ct)
    for file in $token*$argv[1] $token*/
        echo $file
    end
end

function __pe_run_is
    set -l words (__pe_run_words)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

function __pe_run_starts
    test (count (__pe_run_words)) -eq 1
end

function __pe_run_has_argument
    test (count (__pe_run_arguments)) -gt 0
end

complete -c pe-run -f
complete -c pe-run -n __pe_run_starts -a '(__pe_run_commands)'
complete -c pe-run -n __pe_run_starts -a '(__pe_run_ids 2)' -d experiment
complete -c pe-run -n __pe_run_starts -a '(__pe_run_files .yaml)'
complete -c pe-run -n 'not __pe_run_starts' -a '(__pe_run_options)'
complete -c pe-run -n '__pe_run_is describe apply compare vectors; and not __pe_run_has_argument' -a '(__pe_run_ids 1)' -d scheme
complete -c pe-run -n '__pe_run_is describe; and not __pe_run_has_argument' -a '(__pe_run_ids 2)' -d experiment
complete -c pe-run -n '__pe_run_is describe apply compare vectors; and __pe_run_has_argument' -a '(__pe_run_keys)' -d key
complete -c pe-run -n '__pe_run_is check' -a '(__pe_run_files .so)'
complete -c pe-run -n '__pe_run_is show report diff' -a '(__pe_run_files .h5)'
complete -c pe-run -n '__pe_run_is run plan join' -a '(__pe_run_files .yaml)'
complete -c pe-run -n 'not __pe_run_starts' -l format -x -a 'table json csv md'
complete -c pe-run -n '__pe_run_is check' -l level -x -a 'quick full deep'
complete -c pe-run -n '__pe_run_is new apply' -l site -x -a 'embed qk bias'
complete -c pe-run -n '__pe_run_is new' -l lang -x -a 'c c++'
complete -c pe-run -n '__pe_run_is apply compare' -l role -x -a 'query key'
complete -c pe-run -n '__pe_run_is run join report apply vectors' -s o -l output -r -F
