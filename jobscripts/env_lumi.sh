# shellcheck shell=bash
# LUMI-G: modules and settings for the build and for jobs.
#   . jobscripts/env_lumi.sh                        Cray MPICH
#   ISOTHERM_MPI=openmpi; . jobscripts/env_lumi.sh  your own Open MPI, in OPENMPI_DIR
# NOT TRIED ON LUMI ITSELF. Versions as of January 2026 (software stack LUMI/25.09), from public
# build scripts for the machine; `module avail` shows current ones.
if ! command -v module >/dev/null; then
    echo "error: no command 'module': env_lumi.sh is for LUMI" >&2
    return 2
fi
# the stack, for the nodes with GPUs; lumi-CrayPath: programs find the libraries of the modules
# that are loaded instead of the system's
module load LUMI/25.09 partition/G || return 2
case ${ISOTHERM_MPI:-cray} in
cray)
    module load PrgEnv-cray cce/20.0.0 cray-mpich/9.0.1 || return 2
    # GPU target, HIP, parallel HDF5
    module load craype-accel-amd-gfx90a rocm/6.4.4 cray-hdf5-parallel/1.14.3.7 || return 2
    module load lumi-CrayPath || return 2
    # otherwise Cray MPICH treats device buffers as host memory
    export MPICH_GPU_SUPPORT_ENABLED=1
    # the wrappers of the compilers find MPI and HDF5
    export CC=cc CXX=CC
    ;;
openmpi)
    if [ -z "${OPENMPI_DIR:-}" ]; then
        echo "error: set OPENMPI_DIR to the folder of your Open MPI" >&2
        return 2
    fi
    # HIP; there is no module for Open MPI and the HDF5 built on it: the user builds them
    module load rocm/6.4.4 || return 2
    export PATH=$OPENMPI_DIR/bin:$PATH
    export LD_LIBRARY_PATH=$OPENMPI_DIR/lib:${LD_LIBRARY_PATH:-}
    export CC=mpicc CXX=mpicxx
    ;;
*)
    echo "error: ISOTHERM_MPI is '$ISOTHERM_MPI'; it is cray or openmpi" >&2
    return 2
    ;;
esac
# CMake and Ninja
module load buildtools/25.09 || return 2
# copy kernels reach 69-76 GB/s between GCDs, the SDMA engines at most 49
export HSA_ENABLE_SDMA=0
