#compdef isotherm
# zsh completion for isotherm. Made from the tables of the program: @ISOTHERM_VERSION@.

# command|word|values|help; --set|key|values|
_isotherm_table() {
    cat <<'TABLE'
@ISOTHERM_WORDS@
TABLE
}

# _isotherm_offer VALUES...
_isotherm_offer() {
    local value
    local -a names
    for value in "$@"; do
        case $value in
        -) ;;
        '<file>') _files ;;
        '<directory>') _files -/ ;;
        '<config>') _files -g '*.y(a|)ml' ;;
        '<set>') _isotherm_keys ;;
        *) names+=("$value") ;;
        esac
    done
    ((${#names} == 0)) || compadd -a names
}

# KEY=VALUE
_isotherm_keys() {
    local row key values help
    local -a keys choices
    while IFS='|' read -r row key values help; do
        [[ $row == --set ]] || continue
        keys+=("$key")
        [[ $key != "${PREFIX%%=*}" ]] || choices=(${=values})
    done < <(_isotherm_table)
    if compset -P 1 '*='; then
        ((${#choices} == 0)) || compadd -a choices
    else
        compadd -q -S = -a keys
    fi
}

_isotherm() {
    local page='' before='' option='' row name values help
    local -a found
    if ((CURRENT > 2)); then
        [[ ${words[2]} == -* ]] || page=${words[2]}
        before=${words[CURRENT - 1]}
        while IFS='|' read -r row name values help; do
            [[ $CURRENT -le 3 || $row != "${words[2]} ${words[3]}" ]] || page=$row
        done < <(_isotherm_table)
    fi
    if compset -P 1 '--*='; then
        before=${IPREFIX%=}
    fi
    while IFS='|' read -r row name values help; do
        if [[ $row == "$page" && -n $name && $name == "$before" && $values != - ]]; then
            option=$name
            _isotherm_offer ${=values}
        fi
    done < <(_isotherm_table)
    [[ -z $option ]] || return 0
    while IFS='|' read -r row name values help; do
        [[ $row == "$page" ]] || continue
        if [[ -z $name ]]; then
            [[ $PREFIX == -* ]] || _isotherm_offer ${=values}
        elif [[ $PREFIX == -* || $name != -* ]]; then
            found+=("$name:$help")
        fi
    done < <(_isotherm_table)
    ((${#found} == 0)) || _describe -V isotherm found
}

_isotherm "$@"
