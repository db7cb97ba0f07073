/* The self-check on the host: cells of one pass, computed again by the backend `cpu`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "kernels/backend.h"
#include "solve/observe/self_check_faults.h"

/* Owned cells with all that the results of some of them depend on, dense, [z][y][x]. */
struct tile {
    struct box box; /* in indices of the layout: the cells whose result is right */
    int64_t first[AXIS_COUNT];
    bool closed[FACE_COUNT]; /* it lies at a closed face of the grid */
    struct layout layout;
    char *h_fields; /* three of the layout: for the steps, and the result of the device */
    uint8_t *h_classes;
};

/* At a random place. false: the rank has too few cells. `c`: of the first step; there are no
 * patches in the tile. */
static bool choose_tile(const struct stepper *stepper, int64_t steps, const struct coefficients *c,
                        struct tile *tile)
{
    enum { EDGE = 16 };
    const struct layout *layout = &stepper->level->field->layout;
    int64_t *cells = tile->layout.cells;
    uint64_t random = (uint64_t)stepper->state->step + (uint64_t)stepper->team->rank;
    for (int a = 0; a < AXIS_COUNT; a++) {
        bool *closed = &tile->closed[2 * a];
        for (int side = 0; side < 2; side++) {
            const int face = 2 * a + side;
            closed[side] = !stepper->problem->grid.used[a] ||
                           (c->closed[face] && c->medium.d_patch[face] == NULL);
        }
        const int64_t low = closed[0] ? 0 : steps;
        const int64_t room = layout->cells[a] - low - (closed[1] ? 0 : steps);
        const int64_t edge = room < EDGE ? room : EDGE;
        if (room < 1) {
            return false;
        }
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t at = low + (int64_t)((random >> 33) % (uint64_t)(room - edge + 1));
        const int64_t end = at + edge + steps;
        tile->first[a] = at > steps ? at - steps : 0;
        closed[0] = closed[0] && tile->first[a] == 0;
        closed[1] = closed[1] && end >= layout->cells[a];
        cells[a] = (end < layout->cells[a] ? end : layout->cells[a]) - tile->first[a];
    }
    tile->layout.precision = layout->precision;
    tile->layout.pitch_y = cells[AXIS_X];
    tile->layout.pitch_z = cells[AXIS_X] * cells[AXIS_Y];
    tile->layout.elements = tile->layout.pitch_z * cells[AXIS_Z];
    return true;
}

/* The classes with one layer around, as in the layout of the device. */
static enum status copy_classes(const struct stepper *stepper, struct tile *tile,
                                struct device_medium *medium)
{
    enum { MARGIN = LAYOUT_ALIGN_BYTES }; /* kernels read whole vectors */
    struct engine *engine = stepper->level->engine;
    const bool *used = stepper->problem->grid.used;
    const int64_t *at = tile->first;
    const int64_t *cells = tile->layout.cells;
    const struct layout *all = &stepper->level->classes->args.layout;
    const int64_t first = layout_index(all, at[0], at[1] - used[1], at[2] - used[2]);
    const int64_t end =
        layout_index(all, at[0] + cells[0] + 1, at[1] + cells[1], at[2] + cells[2]) - first;
    medium->layout.origin = MARGIN + layout_index(all, at[0], at[1], at[2]) - first;
    memcpy(medium->layout.cells, cells, sizeof medium->layout.cells);
    medium->numbered = false;
    memset(medium->d_patch, 0, sizeof medium->d_patch);
    if (tile->h_classes == NULL) {
        tile->h_classes = calloc(1, (size_t)end + 2 * (size_t)MARGIN);
        TRY(CHECK_MEMORY(tile->h_classes != NULL, "no memory for a tile of the self-check"));
        TRY(engine->runtime->copy_to_host(engine->bulk_queue, tile->h_classes + MARGIN - 16,
                                          (const uint8_t *)medium->d_class + first - 16,
                                          (size_t)end + 16));
        TRY(engine->runtime->queue_wait(engine->bulk_queue));
    }
    medium->d_class = tile->h_classes;
    return STATUS_OK;
}

/* The coefficients of step number `step`; the table of the host has the same bytes. */
static enum status find_coefficients(const struct stepper *stepper, int64_t step,
                                     struct coefficients *c)
{
    const struct classes *classes = stepper->level->classes;
    struct heat_operator op;
    TRY(operator_of_step(stepper->problem, step, &op));
    TRY(stepper_coefficients(stepper, &op, stepper->level->d_sums, c));
    c->medium.d_table = classes->h_table[classes->slot];
    memset(c->d_face_sum, 0, sizeof c->d_face_sum);
    return STATUS_OK;
}

static enum status read_tile(const struct stepper *stepper, void *d_before, struct tile *tile)
{
    struct field *field = stepper->level->field;
    const size_t bytes = layout_bytes(&tile->layout);
    void *d_now = field->d_now;
    tile->box = layout_owned(&tile->layout);
    const struct box from = box_shift(&tile->box, tile->first);
    tile->h_fields = calloc(3, bytes);
    TRY(CHECK_MEMORY(tile->h_fields != NULL, "no memory for a tile of the self-check"));
    TRY(field_read_now(field, &from, tile->h_fields + 2 * bytes));
    field->d_now = d_before;
    const enum status status = field_read_now(field, &from, tile->h_fields);
    field->d_now = d_now;
    return status;
}

/* *h_result: the field after the steps from number `first` on, right in tile->box. */
static enum status advance_tile(const struct stepper *stepper, int64_t first, int64_t steps,
                                struct tile *tile, char **h_result)
{
    const size_t bytes = layout_bytes(&tile->layout);
    struct queue *queue = NULL;
    enum status status = backend_cpu.runtime->queue_create(NULL, QUEUE_NORMAL, &queue);
    for (int64_t s = 0; s < steps && status == STATUS_OK; s++) {
        struct coefficients c;
        TRY_GOTO(find_coefficients(stepper, first + s, &c));
        TRY_GOTO(coefficients_medium(&c) != NULL ? copy_classes(stepper, tile, &c.medium)
                                                 : STATUS_OK);
        memcpy(c.closed, tile->closed, sizeof c.closed);
        for (int f = 0; f < FACE_COUNT; f++) {
            tile->box = box_shrink_face(&tile->box, (enum face)f, !c.closed[f]);
        }
        *h_result = tile->h_fields + (size_t)((s + 1) % 2) * bytes;
        status = ENQUEUE(backend_cpu.operations, step, queue, .layout = tile->layout, .levels = &c,
                         .nsteps = 1, .d_out = *h_result,
                         .d_in = tile->h_fields + (size_t)(s % 2) * bytes, .boxes = &tile->box,
                         .nboxes = 1);
    }
done:
    backend_cpu.runtime->queue_destroy(queue);
    return status;
}

static enum status compute_tile(struct self_check *check, int64_t steps, struct tile *tile,
                                bool *wrong)
{
    struct stepper *stepper = check->stepper;
    struct coefficients c;
    char *h_result = NULL;
    TRY(engine_wait(stepper->level->engine));
    TRY(find_coefficients(stepper, check->start.step, &c));
    if (!choose_tile(stepper, steps, &c, tile)) {
        return STATUS_OK;
    }
    TRY(read_tile(stepper, check->d_start, tile));
    TRY(advance_tile(stepper, check->start.step, steps, tile, &h_result));
    const size_t bytes = layout_bytes(&tile->layout);
    const size_t width = precision_bytes(tile->layout.precision);
    flips_host(&check->flips, stepper, h_result, bytes);
    for (int64_t n = 0; n < box_cells(&tile->box); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&tile->box, n, cell);
        const size_t at = (size_t)layout_index(&tile->layout, cell[0], cell[1], cell[2]) * width;
        *wrong = *wrong || memcmp(h_result + at, tile->h_fields + 2 * bytes + at, width) != 0;
    }
    stepper->checked.on_host++;
    return STATUS_OK;
}

bool self_check_host_takes(const struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    return problem->time.scheme == SCHEME_EULER && problem->radius == 1 &&
           !problem->medium.changes && stepper->nsources == 0;
}

enum status self_check_on_host(struct self_check *check, int64_t steps, bool *wrong)
{
    const struct team *team = check->stepper->team;
    struct tile tile = {.h_fields = NULL};
    *wrong = false;
    const enum status status = compute_tile(check, steps, &tile, wrong);
    free(tile.h_fields);
    free(tile.h_classes);
    TRY(status_agree(team->comm, status));
    int rank = *wrong ? team->rank : -1;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, team->comm));
    *wrong = rank >= 0;
    if (*wrong) {
        char device[DEVICE_TEXT];
        self_check_name_device(check->stepper, rank, device);
        log_warn("self check: steps %" PRId64 " to %" PRId64
                 " gave other bits on the host than on %s",
                 check->start.step, check->stepper->state->step, device);
    }
    return STATUS_OK;
}
