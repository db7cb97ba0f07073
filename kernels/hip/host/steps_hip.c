/* The backend `hip`: several steps in a pass. */
#include "kernels/hip/host/device_hip.h"

/* Do rows begin at multiples of 16 bytes, as kernels with wide loads need? Those of a subdomain
 * that was widened into its halo may not. */
static bool is_aligned(const struct layout *layout, const void *d_out, const void *d_in)
{
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const uint64_t addresses =
        (uint64_t)(uintptr_t)d_out | (uint64_t)(uintptr_t)d_in |
        (uint64_t)((layout->origin | layout->pitch_y | layout->pitch_z) * bytes);
    return addresses % 16 == 0;
}

/* Boxes that fill tiles well enough: the other kernel is several times slower for its tiles. Tiles
 * are copied from cells at multiples of 16 bytes, beyond an open face from up to 4 of them. */
static bool staged_takes(const struct layout *layout, const struct coefficients *args,
                         const struct box *box, const void *d_out, const void *d_in)
{
    enum { LEAST_X = 24, LEAST_Y = 12, LEAST_Z = 12, TILE_Y = 48, BEFORE_X = 4 };
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const int64_t rows = layout->cells[AXIS_Y];
    const int64_t before_x = layout->origin - layout->halo[AXIS_Y] * layout->pitch_y -
                             layout->halo[AXIS_Z] * layout->pitch_z;
    const bool y_both = args->closed[FACE_Y_MIN] && args->closed[FACE_Y_MAX];
    return args->kind == KIND_UNIFORM && hip_step_staged_is_built() &&
           is_aligned(layout, d_out, d_in) && before_x >= BEFORE_X &&
           layout->pitch_y < INT32_MAX / 2 && rows < INT32_MAX / 2 &&
           layout->cells[AXIS_Z] <= UINT16_MAX &&
           (rows + 2 * TILE_Y) * layout->pitch_y * bytes < UINT32_MAX &&
           (rows >= TILE_Y || !y_both) && box_extent(box, AXIS_X) >= LEAST_X &&
           box_extent(box, AXIS_Y) >= LEAST_Y && box_extent(box, AXIS_Z) >= LEAST_Z;
}

/* The sums of boxes whose kernels did not take them are taken by a kernel for several. */
struct unsummed {
    struct box boxes[8];
    int count;
};

static enum status sum_rest(struct queue *queue, const struct layout *layout,
                            const struct coefficients *args, int nsteps, const void *d_in,
                            struct unsummed *rest)
{
    TRY_HIP(hip_launch_steps_sums, queue->stream, queue->d_scratch, layout, args, nsteps, d_in,
            rest->boxes, rest->count);
    rest->count = 0;
    return STATUS_OK;
}

static enum status queue_steps(struct queue *queue, const struct layout *layout,
                               const struct coefficients *args, int nsteps, void *d_out,
                               const void *d_in, const struct box *boxes, int nboxes,
                               struct hip_pass_extras *extras)
{
    if (nsteps == 1) {
        return is_aligned(layout, d_out, d_in)
                   ? hip_step_production(queue, layout, args, d_out, d_in, boxes, nboxes)
                   : hip_step_cell(queue, layout, args, d_out, d_in, boxes, nboxes);
    }
    struct unsummed rest = {.count = 0};
    for (int b = 0; b < nboxes; b++) {
        if (box_is_empty(&boxes[b])) {
            continue;
        }
        static hip_steps_launcher *const staged[] = {
            hip_launch_steps_staged_2, hip_launch_steps_staged_3, hip_launch_steps_staged_4};
        hip_steps_launcher *launch = staged_takes(layout, args, &boxes[b], d_out, d_in)
                                         ? staged[nsteps - 2]
                                         : hip_launch_steps_tile;
        extras->summed = false;
        TRY(hip_check(launch(queue->stream, layout, args, nsteps, d_out, d_in, &boxes[b], extras),
                      "kernel of several steps"));
        if (!extras->summed) {
            rest.boxes[rest.count++] = boxes[b];
        }
        if (rest.count == (int)(sizeof rest.boxes / sizeof rest.boxes[0])) {
            TRY(sum_rest(queue, layout, args, nsteps, d_in, &rest));
        }
    }
    return rest.count > 0 ? sum_rest(queue, layout, args, nsteps, d_in, &rest) : STATUS_OK;
}

enum status hip_steps(struct queue *queue, const struct layout *layout,
                      const struct coefficients *args, int nsteps, void *d_out, const void *d_in,
                      const struct box *boxes, int nboxes)
{
    struct hip_pass_extras extras = {.d_scratch = queue->d_scratch};
    return queue_steps(queue, layout, args, nsteps, d_out, d_in, boxes, nboxes, &extras);
}

enum status hip_steps_summarised(struct queue *queue, const struct layout *layout,
                                 const struct coefficients *args, int nsteps, void *d_out,
                                 const void *d_in, struct hip_result *result, bool *summarised)
{
    const struct box owned = layout_owned(layout);
    struct hip_pass_extras extras = {.d_scratch = queue->d_scratch, .result = result};
    TRY(queue_steps(queue, layout, args, nsteps, d_out, d_in, &owned, 1, &extras));
    *summarised = extras.summarised;
    return STATUS_OK;
}
