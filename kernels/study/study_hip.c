/* The kernels of studies for GPUs as queued operations. */
#include <inttypes.h>

#include "kernels/hip/host/device_hip.h"
#include "kernels/study/study.h"

enum status study_run_hip(struct queue *queue, const struct study_call *call)
{
    enum { MOST_BLOCKS = 65535 }; /* of a launch, in y and z */
    const struct layout *layout = &call->problem->layout;
    const int64_t *n = layout->cells;
    const int64_t most_x = call->problem->most_x > 0 ? call->problem->most_x : INT32_MAX / 2;
    if (n[AXIS_X] > most_x || n[AXIS_Y] > MOST_BLOCKS || n[AXIS_Z] > MOST_BLOCKS) {
        return fail(STATUS_DEVICE,
                    "%s: the kernels for GPUs take at most %" PRId64
                    " x %d x %d cells, not %" PRId64 " x %" PRId64 " x %" PRId64,
                    call->kernel->name, most_x, MOST_BLOCKS, MOST_BLOCKS, n[0], n[1], n[2]);
    }
    const int error =
        call->kernel->launch[layout->precision](queue->stream, queue->d_scratch, call);
    return hip_check((hipError_t)error, call->kernel->name);
}
