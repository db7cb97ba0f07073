# shellcheck shell=bash
# Frontier: modules and settings for the build and for jobs.
#   . jobscripts/env_frontier.sh                        Cray MPICH
#   ISOTHERM_MPI=openmpi; . jobscripts/env_frontier.sh  your own Open MPI, in OPENMPI_DIR
# NOT TRIED ON FRONTIER ITSELF. Versions as of 2025 (programming environment 24.11), from public
# build scripts for the machine; `module avail` shows new ones. cce and rocm must fit each other:
# Frontier User Guide, compatible compiler and ROCm versions.
if ! command -v module >/dev/null; then
    echo "error: no command 'module': env_frontier.sh is for Frontier" >&2
    return 2
fi
case ${ISOTHERM_MPI:-cray} in
cray)
    module load PrgEnv-cray/8.6.0 cce/18.0.1 cray-mpich/8.1.31 || return 2
    # GPU target, HIP, parallel HDF5
    module load craype-accel-amd-gfx90a rocm/6.2.4 cray-hdf5-parallel/1.12.2.11 || return 2
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
    module load rocm/6.2.4 || return 2
    export PATH=$OPENMPI_DIR/bin:$PATH
    export LD_LIBRARY_PATH=$OPENMPI_DIR/lib:${LD_LIBRARY_PATH:-}
    export CC=mpicc CXX=mpicxx
    ;;
*)
    echo "error: ISOTHERM_MPI is '$ISOTHERM_MPI'; it is cray or openmpi" >&2
    return 2
    ;;
esac
module load cmake/3.30.5 ninja || return 2
# copy kernels reach 69-76 GB/s between GCDs, the SDMA engines at most 49
export HSA_ENABLE_SDMA=0
