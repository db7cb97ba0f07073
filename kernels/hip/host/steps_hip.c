/* The backend `hip`: several steps in a pass. */
#include "kernels/hip/host/device_hip.h"

/* With an `a` per level kernels for gfx90a would spill scalar registers. */
bool hip_steps_share_a(enum kind kind)
{
    return kind == KIND_UNIFORM && !hip_step_staged_is_built();
}

/* Do rows begin at multiples of 16 bytes, as kernels with wide loads need? Those of a subdomain
 * that was widened into its halo may not. */
static bool is_aligned(const struct step_args *args)
{
    const struct layout *layout = &args->layout;
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const uint64_t addresses =
        (uint64_t)(uintptr_t)args->d_out | (uint64_t)(uintptr_t)args->d_in |
        (uint64_t)((layout->origin | layout->pitch_y | layout->pitch_z) * bytes);
    return addresses % 16 == 0;
}

/* Boxes that fill tiles well enough: the other kernel is several times slower for its tiles. Tiles
 * are copied from cells at multiples of 16 bytes, beyond an open face from up to 4 of them. */
static bool staged_takes(const struct step_args *args, const struct box *box)
{
    enum { LEAST_X = 24, LEAST_Y = 12, LEAST_Z = 12, TILE_Y = 48, BEFORE_X = 4 };
    const struct layout *layout = &args->layout;
    const bool *closed = args->levels->closed;
    const int64_t bytes = (int64_t)precision_bytes(layout->precision);
    const int64_t rows = layout->cells[AXIS_Y];
    const int64_t before_x = layout->origin - layout->halo[AXIS_Y] * layout->pitch_y -
                             layout->halo[AXIS_Z] * layout->pitch_z;
    const bool y_both = closed[FACE_Y_MIN] && closed[FACE_Y_MAX];
    return hip_step_staged_is_built() && is_aligned(args) && before_x >= BEFORE_X &&
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

static enum status sum_rest(struct hip_step *step, struct unsummed *rest)
{
    step->boxes = rest->boxes;
    step->nboxes = rest->count;
    rest->count = 0;
    return hip_check(hip_launch_steps_sums(step), "kernel of sums");
}

/* The same of the schedule for other chips. */
static bool rows_takes(const struct step_args *args, const struct box *box)
{
    enum { LEAST_X = 24, LEAST_Y = 12, LEAST_Z = 12 };
    const int64_t *cells = args->layout.cells;
    return !hip_step_staged_is_built() && is_aligned(args) && cells[AXIS_X] < INT32_MAX / 2 &&
           cells[AXIS_Y] < INT32_MAX / 2 && cells[AXIS_Z] < INT32_MAX / 2 &&
           box_extent(box, AXIS_X) >= LEAST_X && box_extent(box, AXIS_Y) >= LEAST_Y &&
           box_extent(box, AXIS_Z) >= LEAST_Z;
}

/* Let the cells of `box` outside the first n boxes of args->without be summed. */
static enum status add_rest(struct hip_step *step, struct unsummed *rest, const struct box *box,
                            int n)
{
    struct box pieces[FACE_COUNT];
    if (n == 0) {
        rest->boxes[rest->count++] = *box;
        return rest->count == (int)(sizeof rest->boxes / sizeof rest->boxes[0])
                   ? sum_rest(step, rest)
                   : STATUS_OK;
    }
    const struct box inner = box_intersect(box, &step->args->without[n - 1]);
    const int count = box_shell(box, &inner, pieces);
    for (int p = 0; p < count; p++) {
        TRY(add_rest(step, rest, &pieces[p], n - 1));
    }
    return STATUS_OK;
}

/* The part of a box that is at least `nsteps` cells from the closed faces of these bits. */
static struct box inside_faces(const struct step_args *args, const struct box *box, unsigned faces)
{
    const struct box owned = layout_owned(&args->layout);
    struct box allowed = box_around(box, &owned); /* a box may reach beyond open faces */
    for (int face = 0; face < FACE_COUNT; face++) {
        if (args->levels->closed[face] && (faces >> (unsigned)face & 1U) != 0) {
            allowed = box_shrink_face(&allowed, (enum face)face, args->nsteps);
        }
    }
    return box_intersect(box, &allowed);
}

/* For the cells of `box`, which becomes smaller where the others are those of
 * hip_launch_steps_shell: at faces that a kernel of large boxes cannot close. */
static hip_step_launcher *choose_launch(const struct step_args *args, struct box *box)
{
    static hip_step_launcher *const staged[2][3] = {
        {hip_launch_steps_staged_2, hip_launch_steps_staged_3, hip_launch_steps_staged_4},
        {hip_launch_steps_staged_pair_2, hip_launch_steps_staged_pair_3,
         hip_launch_steps_staged_pair_4}};
    const bool corrects = coefficients_corrections(args->levels, args->nsteps) != 0;
    const enum kind kind = args->levels->kind;
    const unsigned apart = kind == KIND_FACES     ? ALL_FACES
                           : kind == KIND_CLASSES ? hip_steps_classes_apart(args)
                                                  : 0;
    const struct box inner = inside_faces(args, box, apart);
    if (rows_takes(args, box)) {
        return hip_launch_steps_rows;
    }
    if (!staged_takes(args, &inner)) {
        return hip_launch_steps_tile;
    }
    if (kind == KIND_UNIFORM) {
        return staged[corrects][args->nsteps - 2];
    }
    if (hip_steps_faces_takes(args)) {
        *box = inner;
        return hip_launch_steps_faces_2;
    }
    if (!corrects && hip_steps_classes_takes(args)) {
        *box = inner;
        return args->nsteps == 2 ? hip_launch_steps_classes_2 : hip_launch_steps_classes_3;
    }
    return hip_launch_steps_tile;
}

/* The bits of all cells of a box were added; subtract those in args->without. */
static enum status without_bits(struct queue *queue, const struct step_args *args,
                                const struct box *box)
{
    for (int n = 0; n < (args->d_bits != NULL ? args->nwithout : 0); n++) {
        const struct box inner = box_intersect(box, &args->without[n]);
        TRY(hip_add_bits(queue, &(struct add_bits_args){.layout = args->layout,
                                                        .d_plus = args->d_in,
                                                        .d_minus = args->d_out,
                                                        .boxes = &inner,
                                                        .nboxes = 1,
                                                        .d_bits = args->d_bits}));
    }
    return STATUS_OK;
}

/* All cells of a box are advanced, so that its division into tiles stays the same. */
static enum status advance_boxes(struct queue *queue, struct hip_step *step,
                                 hip_step_launcher *launch, const struct box *boxes, int nboxes,
                                 struct unsummed *rest)
{
    const struct step_args *args = step->args;
    step->boxes = boxes;
    step->nboxes = nboxes;
    step->summed = false;
    step->has_bits = false;
    TRY(hip_check(launch(step), "kernel of several steps"));
    TRY(hip_rest_of_bits(queue, step, boxes, nboxes));
    for (int b = 0; b < nboxes; b++) {
        TRY(without_bits(queue, args, &boxes[b]));
        TRY(step->summed ? STATUS_OK : add_rest(step, rest, &boxes[b], args->nwithout));
    }
    return STATUS_OK;
}

/* The kernel of `inner`, of which a block fills a multiprocessor and waits for memory, and beside
 * it that of the boxes at faces, which waits for arithmetic. Only the second one has sums. */
static enum status advance_beside(struct queue *queue, struct hip_step *step,
                                  hip_step_launcher *launch, const struct box *inner,
                                  const struct box *pieces, int npieces, struct unsummed *rest)
{
    for (int p = 0; p < npieces; p++) {
        step->beside += box_cells(&pieces[p]);
    }
    TRY(advance_boxes(queue, step, launch, inner, 1, rest));
    step->beside = 0;
    step->early = true;
    TRY(advance_boxes(queue, step, hip_launch_steps_shell, pieces, npieces, rest));
    step->early = false;
    return STATUS_OK;
}

static enum status several_steps(struct queue *queue, struct hip_step *step)
{
    const struct step_args *args = step->args;
    struct unsummed rest = {.count = 0};
    for (int b = 0; b < args->nboxes; b++) {
        struct box pieces[FACE_COUNT], inner = args->boxes[b];
        if (box_is_empty(&inner)) {
            continue;
        }
        hip_step_launcher *const launch = choose_launch(args, &inner);
        const int npieces = box_shell(&args->boxes[b], &inner, pieces);
        const bool whole = args->nwithout == 0;
        if (npieces > 0 && launch == hip_launch_steps_faces_2) {
            TRY(advance_beside(queue, step, launch, &inner, pieces, npieces, &rest));
            continue;
        }
        const int at_once = whole ? npieces : 1;
        for (int p = 0; p < npieces; p += at_once) {
            TRY(advance_boxes(queue, step, whole ? hip_launch_steps_shell : hip_launch_steps_tile,
                              &pieces[p], at_once, &rest));
        }
        TRY(advance_boxes(queue, step, launch, &inner, 1, &rest));
    }
    return rest.count > 0 ? sum_rest(step, &rest) : STATUS_OK;
}

enum status hip_step(struct queue *queue, const struct step_args *args)
{
    struct hip_step step = hip_step_on(queue, args);
    if (args->h_summary != NULL) {
        TRY(hip_result_begin(queue, &step.result));
    }
    if (args->tiles != NULL) {
        step.boxes = args->boxes;
        step.nboxes = args->nboxes;
        TRY(hip_check(hip_launch_step_cell(&step), "step kernel of tiles"));
        TRY(hip_perfuse(queue, args, args->boxes, &step.perfused));
    } else if (args->nsteps > 1) {
        TRY(several_steps(queue, &step));
    } else {
        TRY(is_aligned(args) ? hip_step_production(queue, &step) : hip_step_cell(queue, args));
    }
    if (step.summarised) {
        hip_result_deliver(queue, args->h_summary, &step.result->summary,
                           sizeof step.result->summary);
    }
    return args->h_summary == NULL || step.summarised
               ? STATUS_OK
               : hip_summarise(queue,
                               &(struct summarise_args){.layout = args->layout,
                                                        .placement = args->placement,
                                                        .medium = coefficients_medium(args->levels),
                                                        .d_field = args->d_out,
                                                        .h_summary = args->h_summary});
}
