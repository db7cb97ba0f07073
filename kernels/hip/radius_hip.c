/* The backend `hip`: the step with a wider stencil. */
#include "kernels/hip/device_hip.h"

/* The part of `box` that is not next to closed faces of y and z. */
static struct box inner_of(const struct layout *layout, const struct wide_args *args,
                           const struct box *box)
{
    struct box inner = *box;
    for (int f = FACE_Y_MIN; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const int64_t radius = args->used[axis] && args->closed[f] ? args->radius : 0;
        const int64_t edge = layout->cells[axis] - radius;
        if (face_side(face) == SIDE_MIN && inner.lo[axis] < radius) {
            inner.lo[axis] = radius;
        } else if (face_side(face) == SIDE_MAX && inner.hi[axis] > edge) {
            inner.hi[axis] = edge;
        }
    }
    return inner;
}

/* Whole waves along x, and enough planes to march through. */
static bool march_takes(const struct wide_args *args, const struct box *inner)
{
    enum { LEAST_X = 32, LEAST_Y = 8, LEAST_Z = 8 };
    return args->used[AXIS_X] && args->used[AXIS_Y] && args->used[AXIS_Z] && !box_is_empty(inner) &&
           box_extent(inner, AXIS_X) >= LEAST_X && box_extent(inner, AXIS_Y) >= LEAST_Y &&
           box_extent(inner, AXIS_Z) >= LEAST_Z;
}

enum status hip_step_radius(struct queue *queue, const struct layout *layout,
                            const struct wide_args *args, void *d_out, const void *d_in,
                            const struct box *boxes, int nboxes)
{
    const struct box nothing = {{0, 0, 0}, {0, 0, 0}};
    for (int b = 0; b < nboxes; b++) {
        struct box inner = inner_of(layout, args, &boxes[b]);
        struct box rim[FACE_COUNT];
        if (box_is_empty(&boxes[b])) {
            continue;
        }
        if (!march_takes(args, &inner)) {
            inner = nothing;
        } else if (hip_step_staged_takes(layout, &inner)) {
            TRY_HIP(hip_launch_radius_staged, queue->stream, queue->d_scratch, layout, args, d_out,
                    d_in, &inner);
        } else {
            TRY_HIP(hip_launch_radius_march, queue->stream, layout, args, d_out, d_in, &inner);
        }
        const int nrim = box_shell(&boxes[b], &inner, rim);
        TRY_HIP(hip_launch_radius_rest, queue->stream, queue->d_scratch, layout, args, d_out, d_in,
                &boxes[b], rim, nrim);
    }
    return STATUS_OK;
}
