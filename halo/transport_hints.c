/* Each MPI library has its own query functions. */
#include "halo/transport.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

const char *mpi_hint_name(enum mpi_hint hint)
{
    static const char *const names[] = {"says nothing", "no", "yes"};
    return names[hint];
}

#if defined(MPIX_CUDA_AWARE_SUPPORT) || defined(OMPI_HAVE_MPI_EXT_ROCM) ||                         \
    defined(MPIX_GPU_SUPPORT_CUDA)
static enum mpi_hint hint_of(int answer)
{
    return answer != 0 ? MPI_SAYS_YES : MPI_SAYS_NO;
}
#endif

struct mpi_hints mpi_hints_ask(void)
{
    struct mpi_hints hints = {MPI_SAYS_NOTHING, MPI_SAYS_NOTHING};
#ifdef MPIX_CUDA_AWARE_SUPPORT /* Open MPI */
    hints.cuda = hint_of(MPIX_Query_cuda_support());
#endif
#ifdef OMPI_HAVE_MPI_EXT_ROCM /* Open MPI from 5.0 */
    hints.rocm = hint_of(MPIX_Query_rocm_support());
#endif
#ifdef MPIX_GPU_SUPPORT_CUDA /* MPICH and Cray MPICH */
    int answer = 0;
    if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &answer) == MPI_SUCCESS) {
        hints.cuda = hint_of(answer);
    }
    if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &answer) == MPI_SUCCESS) {
        hints.rocm = hint_of(answer);
    }
#endif
    return hints;
}
