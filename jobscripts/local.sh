#!/usr/bin/env bash
# From a bare Debian or Ubuntu machine to a solved heat problem:
# install what is missing, build, run, name the files.
set -euo pipefail
# shellcheck source=jobscripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
    cat <<'TEXT'
usage: bash jobscripts/local.sh [-n RANKS] [CONFIG] [-- ARGUMENTS]

Build Isotherm in build/cpu and run CONFIG (configs/quickstart.yaml) on this machine.
Missing packages are installed with apt-get. What is done already is not done again.

  -n RANKS      MPI ranks (2); the cores are shared out as threads
  -- ARGUMENTS  go to `isotherm run`, e.g. -- --set time.steps=100
  -h, --help    this text

The results are in out/<name of CONFIG>, replacing an earlier run of this script.
OMP_NUM_THREADS, when set, is the number of threads a rank.
TEXT
}

ranks=2
config=
extra=()
while (($# > 0)); do
    case $1 in
    -n)
        (($# > 1)) || die "-n needs a number of ranks"
        ranks=$2
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    --)
        shift
        extra=("$@")
        break
        ;;
    -*) die "unknown option $1; see --help" ;;
    *)
        [[ -z $config ]] || die "one CONFIG at a time: $config, $1"
        config=$1
        ;;
    esac
    shift
done
[[ $ranks =~ ^[1-9][0-9]*$ ]] || die "-n $ranks: a whole number of ranks, 1 or more"
config=${config:-$isotherm_root/configs/quickstart.yaml}
[[ -f $config ]] || die "no such configuration: $config"

setup_packages run
setup_mpi_environment
say "Building (build/cpu)"
build_preset cpu

cores=$(count_cores)
threads=$((cores / ranks > 0 ? cores / ranks : 1))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$threads}
setup_oversubscribe "$ranks" "$cores"

name=$(basename "$config")
output=$isotherm_root/out/${name%.*}
arguments=(run "$config" --output "$output")
if [[ -n $(ls -A "$output" 2>/dev/null) ]]; then
    arguments+=(--overwrite)
fi
say "Running ${name%.*}: ranks $ranks, threads a rank $OMP_NUM_THREADS"
# Bound to nothing: mpirun's default ties a rank to one core, and then all its threads share it.
mpirun -n "$ranks" --bind-to none "$isotherm_root/build/cpu/isotherm" \
    "${arguments[@]}" "${extra[@]}"

# the program itself has named its files and the last picture
say ""
say "The program is $isotherm_root/build/cpu/isotherm; what else it does: isotherm --help"
