#!/usr/bin/env bash
# All C files through clang-format. Exit code 77: there is none here.
# Versions differ in details; 14, which Debian 12 has, is the one that counts.
#   check_format.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
format=$(command -v clang-format-14 || command -v clang-format) || exit 77
version=$("$format" --version)
if [[ $version != *"version 14."* ]]; then
    echo "skipped: $version, not 14"
    exit 77
fi
mapfile -t files < <(find src kernels halo io tests -name '*.[ch]' -o -name '*.cpp' | sort)
"$format" --dry-run --Werror --ferror-limit=2 "${files[@]}"
echo "${#files[@]} files"
