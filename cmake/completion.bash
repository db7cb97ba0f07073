# bash completion for isotherm. Made from the tables of the program: @ISOTHERM_VERSION@.

# command|word|values|help; --set|key|values|
_isotherm_table() {
    cat <<'TABLE'
@ISOTHERM_WORDS@
TABLE
}

# _isotherm_offer WORD VALUES...: add what begins with WORD to COMPREPLY.
_isotherm_offer() {
    local word=$1 value row key values choice
    shift
    for value in "$@"; do
        case $value in
        -) ;;
        '<file>') mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word") ;;
        '<directory>') mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word") ;;
        '<config>')
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
                compgen -f -X '!*.yaml' -- "$word"
                compgen -f -X '!*.yml' -- "$word"
                compgen -d -S / -- "$word"
            )
            ;;
        '<set>')
            while IFS='|' read -r row key values _; do
                [[ $row == --set ]] || continue
                if [[ $word != *=* ]]; then
                    [[ $key != "$word"* ]] || COMPREPLY+=("$key=")
                elif [[ $key == "${word%%=*}" ]]; then
                    for choice in $values; do
                        [[ $key=$choice != "$word"* ]] || COMPREPLY+=("$key=$choice")
                    done
                fi
            done < <(_isotherm_table)
            ;;
        *) [[ $value != "$word"* ]] || COMPREPLY+=("$value") ;;
        esac
    done
}

_isotherm() {
    local words=() i page='' name row values option='' before='' current last=''
    COMPREPLY=()
    # bash has split the line at '=' too: join --name=value and key=value again
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ ${#words[@]} -gt 0 && (${COMP_WORDS[i]} == '=' || $last == '=') ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
        last=${COMP_WORDS[i]}
    done
    current=${words[${#words[@]} - 1]}
    if ((${#words[@]} > 1)); then
        [[ ${words[0]} == -* ]] || page=${words[0]}
        before=${words[${#words[@]} - 2]}
        # a page of its own, such as that of `bench halo`
        name="$page ${words[1]}"
        while IFS='|' read -r row _; do
            [[ ${#words[@]} -eq 2 || $row != "$name" ]] || page=$name
        done < <(_isotherm_table)
    fi
    # --name=value: what follows is the value
    if [[ $current == --*=* ]]; then
        before=${current%%=*}
        current=${current#*=}
    fi
    while IFS='|' read -r row name values _; do
        if [[ $row == "$page" && $name == "$before" && -n $name && $values != - ]]; then
            option=$name # it waits for its value
        fi
    done < <(_isotherm_table)
    while IFS='|' read -r row name values _; do
        [[ $row == "$page" ]] || continue
        if [[ -n $option ]]; then
            # shellcheck disable=SC2086 # a list of words
            [[ $name != "$option" ]] || _isotherm_offer "$current" $values
        elif [[ -z $name ]]; then
            # shellcheck disable=SC2086
            [[ $current == -* ]] || _isotherm_offer "$current" $values
        elif [[ $current == -* || $name != -* ]]; then
            _isotherm_offer "$current" "$name"
        fi
    done < <(_isotherm_table)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    # bash replaces only what follows the '='
    if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then
        COMPREPLY=("${COMPREPLY[@]#*=}")
    fi
} && complete -o filenames -F _isotherm isotherm
