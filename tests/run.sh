#!/usr/bin/env bash
# Set up this machine, build, and run every test that it can run; ends in CTest's summary.
set -euo pipefail
# shellcheck source=jobscripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../jobscripts/setup.sh"

usage() {
    cat <<'TEXT'
usage: bash tests/run.sh [--quick] [-L LABELS] [-R NAMES]

Install what is missing, build the presets fuzz, hip-amd, hip-nvidia (where there are compilers for
them), hip-host, hip-host-sm90, asan and cpu, and run their tests.

  --quick       preset cpu only; without -L and -R the tests in C and the checks of the source
  -L LABELS     tests whose label matches: unit backend mpi io physics cli robust jobs fuzz
  -R NAMES      tests whose name matches
  -h, --help    this text
TEXT
}

# More than 2 ranks, hundreds of flipped bits, and programs started many times over to compare
# numbers, or files with those of an old release, walk the same paths in the code as the other
# tests; under the sanitizers every rank takes a second to start and to look for leaks. The timeline
# is arithmetic without memory.
asan_leaves_out='\.np[3-9]$|^mpi\.test_watch\.np2|^physics\.|^io\.release_files'
asan_leaves_out+='|^unit\.test_timeline'
# A flipped class makes a kernel read a few bytes beyond its table, as a fault of a memory would.
asan_leaves_out+='|^mpi\.test_self_check|^cli\.end_to_end_(compare|import|output|watchdog)'

# Kills, Slurm, pages of the manual, and programs started many times over: ten minutes.
quick_leaves_out='^(physics|robust|jobs)\.|^cli\.(end_to_end|check_tidy)|^io\.release'
quick_leaves_out+='|^mpi\.(faults|transports)'

quick=false
filter=()
while (($# > 0)); do
    case $1 in
    --quick) quick=true ;;
    -L | -R)
        (($# > 1)) || die "$1 needs a pattern"
        filter+=("$1" "$2")
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) die "unknown option $1; see --help" ;;
    esac
    shift
done

setup_packages test
setup_jobs
setup_mpi_environment
# The folders of the tests are in memory where there is room: a run syncs each of its files.
if (($(df --output=avail /dev/shm 2>/dev/null | tail -n 1 || echo 0) > 4000000)); then
    ISOTHERM_TEST_SCRATCH=$(mktemp -d /dev/shm/isotherm_test_XXXXXX)
    export ISOTHERM_TEST_SCRATCH
    trap 'rm -rf "$ISOTHERM_TEST_SCRATCH"' EXIT
fi
# in the background: packages of Python are downloaded while programs are compiled
(setup_readers && setup_lint && setup_cuobjdump) &
readers=$!
cmake_arguments=(-DISOTHERM_TESTS=ON -DISOTHERM_PYTHON=/usr/bin/python3)
if [[ -e /usr/include/hypre/HYPRE.h ]]; then
    cmake_arguments+=(-DISOTHERM_HYPRE=ON) # another solver to compare steady states with
fi

# run_tests PRESET [CTEST ARGUMENTS]: two tests more at once than there are cores, since the tests
# wait for a third of their time: for daemons, a stopped rank, a file or each other
run_tests() {
    local preset=$1
    shift
    ctest --test-dir "$isotherm_root/build/$preset" --output-on-failure \
        --parallel "$(($(nproc) + 1))" \
        "${filter[@]}" "$@" </dev/null
}

# run_beside PRESET [CTEST ARGUMENTS]: the same beside what follows, such as the next build; a test
# or two, which would leave a core idle. end_beside: wait for them all.
beside=()
failed=()
run_beside() {
    run_tests "$@" &>"$isotherm_root/build/tests-$1.log" &
    beside+=("$1=$!")
}
end_beside() {
    local each
    for each in "${beside[@]}"; do
        wait "${each#*=}" || failed+=("${each%=*}")
        cat "$isotherm_root/build/tests-${each%=*}.log"
    done
    beside=()
}

# build_and_test_gpu PRESET DEVICE [CMAKE ARGUMENTS]: compiled, the code examined, and the
# conformance suite where the device file exists. Elsewhere the suite would only repeat what the
# preset cpu runs, and what is neither run nor examined is compiled without optimisation.
build_and_test_gpu() {
    local preset=$1 device=$2 target=backend_links flags=-O0 untimed=ON
    shift 2
    if [[ -e $device ]]; then
        target=backend_tests
        flags="-O3 -DNDEBUG"
        untimed=OFF
    fi
    say "Building preset $preset"
    isotherm_target=$target build_preset "$preset" "${cmake_arguments[@]}" "$@" \
        "-DCMAKE_C_FLAGS_RELEASE=$flags" "-DISOTHERM_UNTIMED=$untimed" || return
    if [[ -e $device ]]; then
        run_tests "$preset" -L backend
    else
        run_beside "$preset" -R '_(resources|waits)'
    fi
}

# run_emulated PRESET IN_ORDER RANDOM: the kernels on the host, the tests IN_ORDER with threads and
# blocks in order, and those of the options RANDOM in a random order: what depends on it shows
# there. What is slow in that order runs in order, and what takes minutes anyway by
# `ctest --test-dir build/hip-host -L backend`. Of sm_90, what it has of its own; a random order
# finds most where waves wait plane by plane.
slow='overlap|random_problems|(uniform|classes)_single'
run_emulated() {
    local failures=0 options
    read -r -a options <<<"$3"
    {
        run_tests "$1" -R "$2" || failures=1
        ISOTHERM_HIP_HOST_ORDER=1 run_tests "$1" "${options[@]}" || failures=1
    } &>"$isotherm_root/build/tests-$1.log"
    return "$failures"
}

# Presets for GPUs first: packages of Python are downloaded meanwhile. cpu last: the tests that say
# most about the numbers stand at the end of the log
if ! $quick; then
    if (setup_packages fuzz) && has_fuzzer; then
        say "Building and testing preset fuzz"
        build_preset fuzz "${cmake_arguments[@]}"
        run_beside fuzz
    else
        say "No clang-15 with libFuzzer: the fuzzers are left out."
    fi
    # in a shell of its own: what cannot be installed ends that alone
    if (setup_packages gpu) && command -v hipcc >/dev/null; then
        build_and_test_gpu hip-amd /dev/kfd || failed+=(hip-amd)
    else
        say "No HIP compiler: preset hip-amd is left out."
    fi
fi
wait "$readers" || true
if $quick && ((${#filter[@]} == 0)); then
    filter=(-E "$quick_leaves_out")
fi
cmake_arguments+=(
    "-DISOTHERM_VTK_PYTHON=$(compgen -G "$isotherm_root/build/venv/bin/python" || true)"
    "-DISOTHERM_H5PY_PYTHON=$(compgen -G "$isotherm_root/build/venv-h5py/bin/python" || true)")
if ! $quick; then
    if command -v nvcc >/dev/null; then
        build_and_test_gpu hip-nvidia /dev/nvidiactl "-DISOTHERM_CUOBJDUMP=$(find_cuobjdump)" ||
            failed+=(hip-nvidia)
    else
        say "No CUDA compiler: preset hip-nvidia is left out."
    fi
    for preset in hip-host hip-host-sm90; do
        say "Building preset $preset"
        # untimed: their tests run the backend hip and no loops of cpu
        isotherm_target=conformance_tests build_preset "$preset" "${cmake_arguments[@]}" \
            -DISOTHERM_UNTIMED=ON || failed+=("$preset")
    done
    end_beside
    say "Testing presets hip-host and hip-host-sm90"
    run_emulated hip-host 'uniform_single|hip_on_host' "-L backend -E $slow" &
    host=$!
    run_emulated hip-host-sm90 '(uniform|classes|enthalpy)_single|backend_laplacian|hip_on_host' \
        '-R _passes|high_order_single|hip_on_host' &
    sm90=$!
    wait "$host" || failed+=(hip-host)
    wait "$sm90" || failed+=(hip-host-sm90)
    cat "$isotherm_root"/build/tests-hip-host*.log
    say "Building and testing preset asan"
    # lines in reports, no variables for a debugger: a fifth of the compiler's time
    build_preset asan "${cmake_arguments[@]}" -DCMAKE_C_FLAGS_DEBUG=-g1
    run_tests asan -E "$asan_leaves_out" || failed+=(asan)
fi
say "Building and testing preset cpu"
build_preset cpu "${cmake_arguments[@]}"
if ((${#failed[@]})); then
    say "FAILED above: ${failed[*]}; see build/PRESET/Testing/Temporary/LastTestsFailed.log"
fi
run_tests cpu || failed+=(cpu)
if ((${#failed[@]})); then
    die "tests failed in: ${failed[*]}"
fi
