/* The self-check on the host: cells of one pass, computed again by the backend `cpu`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "model/operator/map/factor_map.h"
#include "solve/observe/self_check_faults.h"

/* Owned cells with all that the results of some of them depend on, dense, [z][y][x]. */
struct tile {
    struct box box; /* in indices of the layout: the cells whose result is right */
    int64_t first[AXIS_COUNT];
    bool closed[FACE_COUNT]; /* it lies at a closed face of the grid */
    struct layout layout;
    char *h_fields; /* three of the layout: for the steps, and the result of the device */
    uint8_t *h_classes;
    char *h_factors; /* d_g of each axis, and d_sigma with its lines; NULL: none */
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

enum { MARGIN = LAYOUT_ALIGN_BYTES }; /* kernels read whole vectors */

/* Cells with a layer around on x and on each axis in use, as in the layouts of classes. */
static struct layout layout_around(const struct tile *tile, const struct problem *problem)
{
    struct layout around = tile->layout;
    for (int a = 0; a < AXIS_COUNT; a++) {
        around.halo[a] = a == AXIS_X || problem->grid.used[a];
    }
    const int64_t row = around.cells[AXIS_X] + 2;
    const int64_t plane = row * (around.cells[AXIS_Y] + 2 * around.halo[AXIS_Y]);
    around.pitch_y = around.halo[AXIS_Y] * row;
    around.pitch_z = around.halo[AXIS_Z] * plane;
    around.origin = MARGIN + 1 + around.pitch_y + around.pitch_z;
    around.elements = 2 * MARGIN + plane * (around.cells[AXIS_Z] + 2 * around.halo[AXIS_Z]);
    return around;
}

/* The classes and the factors, from the map that those of the device are copies of. */
static enum status copy_medium(const struct stepper *stepper, struct tile *tile,
                               struct device_medium *medium)
{
    const struct problem *problem = stepper->problem;
    const struct class_map *map = &stepper->level->classes->map;
    const struct layout around = layout_around(tile, problem);
    const size_t bytes = (size_t)around.elements;
    const size_t value = precision_bytes(problem->precision);
    const int64_t *first = tile->first;
    struct box box = box_of_cells(around.cells);
    const bool graded = problem->medium.graded;
    const bool stored = problem->medium.per_cell && !graded;
    const size_t all = stored ? (AXIS_COUNT + 1) * bytes * value : 0;
    if (tile->h_classes == NULL) {
        SCOPED_BY(line_values_destroy) struct line_values lines = {.values = NULL};
        const int64_t *lo = map->owned.lo;
        const int64_t offset[] = {lo[0] + first[0], lo[1] + first[1], lo[2] + first[2]};
        TRY(problem->medium.lines ? line_values_create(problem, &around, offset, &lines)
                                  : STATUS_OK);
        tile->h_classes = calloc(1, bytes);
        const size_t length = all + lines.bytes;
        tile->h_factors = length > 0 ? malloc(length) : NULL;
        TRY(CHECK_MEMORY(tile->h_classes != NULL && (length > 0) == (tile->h_factors != NULL),
                         "no memory for a tile of the self-check"));
        for (int a = 0; a < AXIS_COUNT; a++) {
            box.lo[a] -= around.halo[a];
            box.hi[a] += around.halo[a];
        }
        for (int64_t n = 0; n < box_cells(&box); n++) {
            int64_t at[AXIS_COUNT];
            box_cell(&box, n, at);
            tile->h_classes[layout_index(&around, at[0], at[1], at[2])] = map->h_class[layout_index(
                &map->layout, first[0] + at[0], first[1] + at[1], first[2] + at[2])];
        }
        if (problem->medium.lines) { /* behind sigma, if there is one */
            memcpy(tile->h_factors + all, lines.values, lines.bytes);
        }
        for (int axis = 0; axis <= AXIS_COUNT && stored; axis++) {
            factor_map_fill(map, problem, axis, &around, first,
                            tile->h_factors + (size_t)axis * bytes * value);
        }
    }
    medium->layout = around;
    medium->numbered = false;
    memset(medium->d_patch, 0, sizeof medium->d_patch);
    medium->d_class = tile->h_classes;
    for (int axis = graded ? AXIS_COUNT : 0; axis <= AXIS_COUNT && tile->h_factors != NULL;
         axis++) {
        const char *values = tile->h_factors + (graded ? 0 : (size_t)axis * bytes * value);
        *(axis < AXIS_COUNT ? &medium->d_g[axis] : &medium->d_sigma) = values;
    }
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
        TRY_GOTO(coefficients_medium(&c) != NULL ? copy_medium(stepper, tile, &c.medium)
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
           !problem->medium.changes && stepper->nsources == 0 && problem->boundary.nsurfaces == 0;
}

enum status self_check_on_host(struct self_check *check, int64_t steps, bool *wrong)
{
    const struct team *team = check->stepper->team;
    struct tile tile = {.h_fields = NULL};
    *wrong = false;
    const enum status status = compute_tile(check, steps, &tile, wrong);
    free(tile.h_fields);
    free(tile.h_classes);
    free(tile.h_factors);
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
