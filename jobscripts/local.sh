#!/usr/bin/env bash
# From a bare Debian or Ubuntu machine to a solved heat problem: install missing packages, build,
# run, and list the files.
set -euo pipefail
# shellcheck source=jobscripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=jobscripts/program.sh
. "$(dirname "${BASH_SOURCE[0]}")/program.sh"

usage() {
    cat <<'TEXT'
usage: bash jobscripts/local.sh [-n RANKS] [CONFIG] [-- ARGUMENTS]

Install missing packages with apt-get, build Isotherm in build/cpu, and run CONFIG
(configs/quickstart.yaml). Steps that are already done are skipped. Also writes env.sh:
after `. ./env.sh` a shell finds the program `isotherm`.

In an installation (share/isotherm) nothing is installed, built or written there: it runs the
installed program, and the results are below the folder where it is called.

  -n RANKS      MPI ranks (2); each gets an equal share of the cores as threads
  -- ARGUMENTS  passed to `isotherm run`, e.g. -- --set time.steps=100
  -h, --help    this text

The results are in out/<name of CONFIG>; they replace those of an earlier call.
OMP_NUM_THREADS sets the number of threads per rank.
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
    -*) die "unknown option: $1; see --help" ;;
    *)
        [[ -z $config ]] || die "unexpected argument: $1 (CONFIG is $config); see --help"
        config=$1
        ;;
    esac
    shift
done
[[ $ranks =~ ^[1-9][0-9]*$ ]] || die "-n $ranks: '$ranks' is not a positive integer"
config=${config:-$isotherm_root/configs/quickstart.yaml}
[[ -f $config ]] || die "no such configuration: $config"

setup_mpi_environment
program=$(isotherm_program cpu)
if isotherm_is_installed; then
    out=$PWD/out
    setting=$isotherm_root/jobscripts/env_local.sh
else
    setup_packages run
    say "Building (build/cpu)"
    build_preset cpu
    write_environment "$isotherm_root/env.sh"
    out=$isotherm_root/out
    setting=./env.sh
    [[ $PWD -ef $isotherm_root ]] || setting=$isotherm_root/env.sh
fi

cores=$(count_cores)
threads=$((cores / ranks > 0 ? cores / ranks : 1))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$threads}
setup_oversubscribe "$ranks" "$cores"

name=$(basename "$config")
output=$out/${name%.*}
arguments=(run "$config" --output "$output")
if [[ -n $(ls -A "$output" 2>/dev/null) ]]; then
    arguments+=(--overwrite)
fi
say "Running ${name%.*}: ranks $ranks, threads per rank $OMP_NUM_THREADS"
# no binding: by default mpirun binds each rank, with all its threads, to one core
mpirun -n "$ranks" --bind-to none "$program" "${arguments[@]}" "${extra[@]}"

# the run itself has listed its files
say ""
say "To use the program in this shell, type:"
say "  . $setting"
say "  isotherm --help"
