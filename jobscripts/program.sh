#!/usr/bin/env bash
# Find the program: the one rule for all scripts.
#
#   bash jobscripts/program.sh [PRESET]     print its path (PRESET: cpu)
#   . jobscripts/program.sh                 get the function

# isotherm_program PRESET: build/PRESET/isotherm of a source tree, bin/isotherm of an installation.
isotherm_program() {
    local top installed=../../bin/isotherm
    top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    if isotherm_is_installed; then
        printf '%s/isotherm\n' "$(cd "$top/${installed%/isotherm}" && pwd)"
    else
        printf '%s\n' "$top/build/$1/isotherm"
    fi
}

# An installed tree, in share/isotherm, has no source.
isotherm_is_installed() {
    [[ ! -e $(dirname "${BASH_SOURCE[0]}")/../CMakeLists.txt ]]
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    isotherm_program "${1:-cpu}"
fi
