/* The backend `guard`: operations see and change no more of a field than operations.h says. A step
 * gets a copy of its input that holds NaN outside of its reach. A field that an operation writes is
 * compared afterwards: it may differ inside its boxes only. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/host/memory.h"
#include "kernels/guard/guard_device.h"

static void copy_box(const struct layout *layout, const struct box *box, void *to, const void *from)
{
    const size_t bytes = precision_bytes(layout->precision);
    const size_t length = (size_t)box_extent(box, AXIS_X) * bytes;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            const size_t at = (size_t)layout_index(layout, box->lo[AXIS_X], j, k) * bytes;
            memcpy((char *)to + at, (const char *)from + at, length);
        }
    }
}

static void copy_boxes(const struct guard_fence *fence, void *to, const void *from)
{
    for (int b = 0; b < fence->nboxes; b++) {
        copy_box(fence->layout, &fence->boxes[b], to, from);
    }
}

/* The cells of the halo too, but none beyond a closed face. */
static struct box readable(const struct step_args *args)
{
    struct box box = layout_owned(&args->layout);
    for (int f = 0; f < FACE_COUNT; f++) {
        const bool closed = args->levels[0].closed[f];
        box = box_shrink_face(&box, (enum face)f,
                              closed ? 0 : -args->layout.halo[face_axis((enum face)f)]);
    }
    return box;
}

/* One step reads along the axes, several steps read edges and corners as well. */
static void copy_reach(const struct step_args *args, void *to)
{
    const struct coefficients *first = &args->levels[0];
    /* beside a closed face the stencils of high order lean inward */
    const int radius = first->kind == KIND_HIGH_ORDER ? 2 * first->high_order.radius - 1 : 1;
    const struct box most = readable(args);
    for (int b = 0; b < args->nboxes; b++) {
        struct box all = args->boxes[b];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            struct box wide = args->nsteps > 1 ? all : args->boxes[b];
            wide.lo[axis] -= (int64_t)radius * args->nsteps;
            wide.hi[axis] += (int64_t)radius * args->nsteps;
            all = wide;
            wide = box_intersect(&wide, &most);
            copy_box(&args->layout, &wide, to, args->d_in);
        }
    }
}

/* Give the step a copy of what it may read; it may read of d_out only what it corrects or keeps. */
static enum status replace_input(struct guard_fence *fence)
{
    struct step_args *step = &fence->step;
    TRY(host_memory_alloc(fence->bytes, &fence->input));
    memset(fence->input, 0xFF, fence->bytes);
    copy_reach(step, fence->input);
    if (!step->levels[0].corrects && step->tiles == NULL) {
        SCOPED_FREE void *nan = malloc(fence->bytes);
        TRY(CHECK_MEMORY(nan != NULL, "out of memory"));
        memset(nan, 0xFF, fence->bytes);
        copy_boxes(fence, step->d_out, nan);
    }
    step->d_in = fence->input;
    fence->args = step;
    return STATUS_OK;
}

enum status guard_fence_begin(const char *name, const void *args, struct guard_fence *fence)
{
    const struct unpack_args *unpack = args;
    const struct step_args *step = args;
    *fence = (struct guard_fence){.args = args};
    if (strncmp(name, "step", strlen("step")) == 0) {
        fence->step = *step;
        fence->layout = &step->layout;
        fence->d_field = step->d_out;
        fence->boxes = step->boxes;
        fence->nboxes = step->nboxes;
    } else if (strcmp(name, "unpack") == 0) {
        fence->layout = &unpack->layout;
        fence->d_field = unpack->d_field;
        fence->boxes = unpack->boxes;
        fence->nboxes = unpack->nboxes;
    } else {
        return STATUS_OK;
    }
    fence->bytes = layout_bytes(fence->layout);
    TRY(host_memory_alloc(fence->bytes, &fence->before));
    memcpy(fence->before, fence->d_field, fence->bytes);
    return fence->step.d_out != NULL ? replace_input(fence) : STATUS_OK;
}

enum status guard_fence_end(struct guard_fence *fence, enum status status)
{
    if (fence->before != NULL) {
        copy_boxes(fence, fence->before, fence->d_field);
        if (status == STATUS_OK && memcmp(fence->before, fence->d_field, fence->bytes) != 0) {
            status = fail(STATUS_DEVICE, "guard: an operation has written outside of its boxes");
        }
    }
    free(fence->before);
    free(fence->input);
    return status;
}
