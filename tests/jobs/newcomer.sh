#!/usr/bin/env bash
# Play the newcomer: make a bare Debian 12, clone the committed source into it, and type the
# commands of README.md and of the guide's task pages one after the other, each with its expected
# result (test_readme.py). jobs.readme and jobs.guide type them where the program has been built.
#
#   bash tests/jobs/newcomer.sh [FOLDER]      needs root and debootstrap; 1.5 GB in FOLDER
#
# Packages come from where this machine's apt gets them. It takes 10 to 20 minutes, so it is not a
# part of tests/run.sh. FOLDER (default: a temporary one) is removed if all goes well.
set -euo pipefail

source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
suite=bookworm

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

((EUID == 0)) || die "debootstrap and chroot need root"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
if (($# > 0)); then
    [[ ! -e $1 ]] || die "$1 exists already"
    mkdir -p "$1"
    folder=$1
else
    folder=$(mktemp -d)
fi
root=$(cd "$folder" && pwd)/root

# shellcheck disable=SC2016 # apt replaces these
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" |
    head -n 1)
[[ -n $mirror ]] || die "this machine's apt knows no mirror of Debian $suite"

printf 'Making a bare Debian (%s) in %s\n' "$suite" "$root"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
    die "debootstrap failed; see $folder/debootstrap.log"
# as on the host: a proxy, for example
apt-config dump Acquire::http Acquire::https >"$root/etc/apt/apt.conf.d/99host"
cp /etc/resolv.conf "$root/etc/resolv.conf"
git clone -q --no-hardlinks "$source_root" "$root/root/isotherm"

# the mounts belong to this process and its children alone, and vanish with them
# shellcheck disable=SC2016 # the inner shell replaces these
unshare --mount --propagation private bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
        ISOTHERM_NEWCOMER_ROOT=$0 exec python3 "$1/tests/jobs/test_readme.py" \
            Readme.test_commands Guide
' "$root" "$source_root" || die "see above; the system is left in $root"
rm -rf --one-file-system "$folder"
