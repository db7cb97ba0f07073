/* The backend `hip`: the step with a wider stencil. */
#include "kernels/hip/host/device_hip.h"

/* The part of `box` that is not next to closed faces from `first` on. */
static struct box inner_of(const struct layout *layout, const struct coefficients *args,
                           const struct box *box, enum face first)
{
    struct box inner = *box;
    for (int f = first; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const int64_t radius =
            args->high_order.used[axis] && args->closed[f] ? args->high_order.radius : 0;
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
static bool march_takes(const struct coefficients *args, const struct box *inner)
{
    enum { LEAST_X = 32, LEAST_Y = 8, LEAST_Z = 8 };
    return args->high_order.used[AXIS_X] && args->high_order.used[AXIS_Y] &&
           args->high_order.used[AXIS_Z] && !box_is_empty(inner) &&
           box_extent(inner, AXIS_X) >= LEAST_X && box_extent(inner, AXIS_Y) >= LEAST_Y &&
           box_extent(inner, AXIS_Z) >= LEAST_Z;
}

/* The cells in `done` on closed faces that are summed; returns how many boxes they are. */
static int summed_layers(const struct step_args *args, const struct box *done,
                         struct box layers[FACE_COUNT])
{
    const struct coefficients *c = args->levels;
    struct box inner = *done;
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int64_t cells = args->layout.cells[axis];
        const bool summed = c->closed[f] && c->high_order.used[axis] && c->d_face_sum[f] != NULL;
        if (summed && face_side((enum face)f) == SIDE_MIN && done->lo[axis] == 0) {
            inner.lo[axis] = 1;
        } else if (summed && face_side((enum face)f) == SIDE_MAX && done->hi[axis] == cells) {
            inner.hi[axis] = cells - 1;
        }
    }
    return box_shell(done, &inner, layers);
}

enum status hip_step_radius(struct queue *queue, const struct step_args *args)
{
    const struct layout *layout = &args->layout;
    const struct coefficients *c = args->levels;
    struct step_args no_step = *args; /* only sums */
    no_step.d_out = NULL;
    for (int b = 0; b < args->nboxes; b++) {
        const struct box *box = &args->boxes[b];
        const struct box planes = inner_of(layout, c, box, FACE_Z_MIN);
        const struct box inner = inner_of(layout, c, box, FACE_Y_MIN);
        struct box done = {{0, 0, 0}, {0, 0, 0}};
        struct box boxes[FACE_COUNT];
        struct hip_step step = hip_step_on(queue, args);
        if (box_is_empty(box)) {
            continue;
        }
        const bool staged = march_takes(c, &planes) && hip_step_staged_takes(layout, &planes);
        if (staged) {
            done = *box;
        } else if (march_takes(c, &inner)) {
            done = inner;
        }
        if (!box_is_empty(&done)) {
            step.boxes = &done;
            step.nboxes = 1;
            if (!staged) {
                step.shape = hip_tuned_shape(queue->device, layout, box);
            }
            TRY_HIP((staged ? hip_launch_step_high_order : hip_launch_step_march), &step);
            step.args = &no_step;
            step.boxes = boxes;
            step.nboxes = summed_layers(args, &done, boxes);
            TRY_HIP(hip_launch_step_cell, &step);
        }
        step.args = args;
        step.boxes = boxes;
        step.nboxes = box_shell(box, &done, boxes);
        TRY_HIP(hip_launch_step_cell, &step);
    }
    return STATUS_OK;
}
