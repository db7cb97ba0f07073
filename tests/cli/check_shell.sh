#!/usr/bin/env bash
# All scripts through shellcheck. Exit code 77: there is none here.
#   check_shell.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(find .ci/run jobscripts tests -type f \
    \( -path .ci/run -o -name '*.sh' -o -name '*.sbatch' \) | sort)
shellcheck --external-sources "${scripts[@]}"
echo "${#scripts[@]} scripts"
