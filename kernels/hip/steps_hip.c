/* The backend `hip`: several steps in a pass. */
#include "kernels/hip/device_hip.h"

/* Places for the values of the faces that are summed, in the queue's memory. */
static enum status place_face_values(struct queue *queue, const struct layout *layout,
                                     const struct step_args *args, int nsteps,
                                     struct hip_face_values *values)
{
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const int64_t unit = LAYOUT_ALIGN_BYTES / bytes;
    int64_t first[FACE_COUNT];
    int64_t elements = 0;
    *values = (struct hip_face_values){{NULL}};
    for (int face = 0; face < FACE_COUNT; face++) {
        const enum axis axis = face_axis((enum face)face);
        const int64_t nu = layout->cells[axis == AXIS_X ? AXIS_Y : AXIS_X];
        const int64_t nv = layout->cells[axis == AXIS_Z ? AXIS_Y : AXIS_Z];
        first[face] = -1;
        for (int l = 0; l < nsteps; l++) {
            first[face] =
                args[l].closed[face] && args[l].d_face_sum[face] != NULL ? elements : first[face];
        }
        values->pitch[face] = (nu + unit - 1) / unit * unit;
        values->level[face] = values->pitch[face] * nv;
        elements += first[face] >= 0 ? values->level[face] * (nsteps - 1) : 0;
    }
    if ((size_t)(elements * bytes) > queue->faces_bytes) {
        hip_memory_free(queue->device, queue->d_faces);
        queue->d_faces = NULL;
        queue->faces_bytes = 0;
        TRY(hip_memory_alloc(queue->device, (size_t)(elements * bytes), &queue->d_faces));
        queue->faces_bytes = (size_t)(elements * bytes);
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        values->d_first[face] =
            first[face] >= 0 ? (char *)queue->d_faces + first[face] * bytes : NULL;
    }
    return STATUS_OK;
}

enum status hip_steps(struct queue *queue, const struct layout *layout,
                      const struct step_args *args, int nsteps, void *d_out, const void *d_in,
                      const struct box *boxes, int nboxes)
{
    if (nsteps == 1) {
        return hip_step_production(queue, layout, args, d_out, d_in, boxes, nboxes);
    }
    struct hip_face_values values;
    TRY(place_face_values(queue, layout, args, nsteps, &values));
    for (int b = 0; b < nboxes; b++) {
        if (box_is_empty(&boxes[b])) {
            continue;
        }
        TRY(hip_check(hip_launch_steps_tile(queue->stream, layout, args, nsteps, d_out, d_in,
                                            &boxes[b], &values),
                      "kernel of several steps"));
    }
    TRY_HIP(hip_launch_steps_sums, queue->stream, queue->d_scratch, layout, args, nsteps, d_in,
            boxes, nboxes, &values);
    return STATUS_OK;
}
