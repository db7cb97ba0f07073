/* The Jacobi iteration of the backend `hip` as queued operations. */
#include "kernels/study/jacobi_hip.h"

#include "kernels/hip/device_hip.h"

static enum status run(struct queue *queue, const struct jacobi_grid *grid, enum jacobi_part part,
                       const struct jacobi_work *work)
{
    TRY_HIP(hip_launch_jacobi, queue->stream, queue->d_scratch, grid, part, work);
    if (part == JACOBI_NORM) {
        TRY_HIP(hipMemcpyAsync, work->h_sum, work->d_sum, sizeof *work->h_sum,
                hipMemcpyDeviceToHost, queue->stream);
    }
    return STATUS_OK;
}

const struct jacobi_kernels jacobi_hip[] = {
    {.name = "hip", .about = "HIP kernels, blocks of 256 threads", .run = run}, {.name = NULL}};
