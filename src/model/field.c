#include "model/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "config/expression.h"
#include "config/settings.h"
#include "model/derived.h"
#include "model/grid.h"
#include "model/shape.h"

/* Large enough for copies at full speed, small compared with large fields. */
enum { STAGE_BYTES = 32 << 20 };

/* The minimum per thread: a thread costs a parser (30 us, or the formula of 700 cells) and a
 * wake-up. */
enum { CELLS_WORTH_A_PAINTER = 8192 };

static enum status plan_memory(const struct backend *backend, const struct decomp *decomp, int rank,
                               enum precision precision, struct layout *layout, size_t *stage_bytes)
{
    const struct box owned = decomp_owned(decomp, rank);
    int64_t cells[AXIS_COUNT];
    int halo[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        cells[axis] = box_extent(&owned, (enum axis)axis);
        halo[axis] = decomp_exchanges(decomp, (enum axis)axis) ? decomp->halo_width : 0;
    }
    TRY(layout_create(cells, halo, precision, layout));
    if (backend_has(backend, BACKEND_ALONG_ROWS)) {
        layout_close_rows(layout);
    }
    /* a row in float64 must fit: derived fields use the stage, too */
    const size_t row = (size_t)cells[AXIS_X] * sizeof(double);
    const size_t all = row * (size_t)cells[AXIS_Y] * (size_t)cells[AXIS_Z];
    const size_t most = row > STAGE_BYTES ? row : STAGE_BYTES;
    *stage_bytes = all > most ? most : all > row ? all : row;
    return STATUS_OK;
}

enum status field_bytes(const struct backend *backend, const struct decomp *decomp, int rank,
                        enum precision precision, uint64_t *bytes)
{
    struct layout layout;
    size_t stage_bytes = 0;
    TRY(plan_memory(backend, decomp, rank, precision, &layout, &stage_bytes));
    *bytes = 2 * (uint64_t)layout_bytes(&layout) + stage_bytes;
    return STATUS_OK;
}

enum status field_create(const struct backend *backend, struct device *device, struct queue *queue,
                         const struct decomp *decomp, int rank, enum precision precision,
                         struct field **field)
{
    *field = NULL;
    struct field *built = calloc(1, sizeof *built);
    if (built == NULL) {
        return fail(STATUS_MEMORY, "no memory for a field's description");
    }
    built->backend = backend;
    built->device = device;
    built->queue = queue;
    const struct box owned = decomp_owned(decomp, rank);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        built->placement.global_cells[axis] = decomp->global_cells[axis];
        built->placement.offset[axis] = owned.lo[axis];
    }
    enum status status = STATUS_OK;
    TRY_GOTO(plan_memory(backend, decomp, rank, precision, &built->layout, &built->stage_bytes));
    const size_t bytes = layout_bytes(&built->layout);
    TRY_GOTO(backend->runtime->memory_alloc(device, bytes, &built->d_now));
    TRY_GOTO(backend->runtime->memory_alloc(device, bytes, &built->d_next));
    TRY_GOTO(backend->runtime->memory_alloc(device, built->stage_bytes, &built->d_stage));
    TRY_GOTO(backend->runtime->pinned_alloc(device, built->stage_bytes, &built->h_stage));
    *field = built;
    return STATUS_OK;
done:
    field_destroy(built);
    return status;
}

void field_destroy(struct field *field)
{
    if (field == NULL) {
        return;
    }
    derived_destroy(field->derived);
    field->backend->runtime->pinned_free(field->device, field->h_stage);
    field->backend->runtime->memory_free(field->device, field->d_stage);
    field->backend->runtime->memory_free(field->device, field->d_next);
    field->backend->runtime->memory_free(field->device, field->d_now);
    free(field);
}

/* The next piece of `box` that fits the stage: whole planes, else whole rows of one plane. `piece`
 * starts as box_before(box); false after the last. Successive pieces are contiguous in [z][y][x]
 * order. */
static bool next_piece(const struct field *field, const struct box *box, struct box *piece)
{
    const int64_t capacity =
        (int64_t)(field->stage_bytes / precision_bytes(field->layout.precision));
    const int64_t row = box_extent(box, AXIS_X);
    const int64_t plane = row * box_extent(box, AXIS_Y);
    int64_t j = piece->hi[AXIS_Y];
    int64_t k = piece->lo[AXIS_Z];
    if (j >= box->hi[AXIS_Y]) {
        j = box->lo[AXIS_Y];
        k = piece->hi[AXIS_Z];
    }
    if (box_is_empty(box) || k >= box->hi[AXIS_Z]) {
        return false;
    }
    const int64_t planes = capacity / plane;
    const int64_t rows = capacity / row;
    *piece = *box;
    piece->lo[AXIS_Y] = j;
    piece->lo[AXIS_Z] = k;
    piece->hi[AXIS_Z] = k + (planes > 1 ? planes : 1);
    piece->hi[AXIS_Y] = planes > 0 ? box->hi[AXIS_Y] : j + rows;
    *piece = box_intersect(piece, box);
    return true;
}

static struct box box_before(const struct box *box)
{
    struct box piece = *box;
    piece.hi[AXIS_Y] = box->lo[AXIS_Y];
    piece.hi[AXIS_Z] = box->lo[AXIS_Z];
    return piece;
}

static size_t piece_bytes(const struct field *field, const struct box *piece)
{
    return (size_t)box_cells(piece) * precision_bytes(field->layout.precision);
}

/* Field to h_stage. Blocks. */
static enum status stage_in(struct field *field, const struct box *piece)
{
    const struct backend *backend = field->backend;
    TRY(backend->operations->pack(field->queue, &field->layout, field->d_now, piece,
                                  field->d_stage));
    TRY(backend->runtime->copy_to_host(field->queue, field->h_stage, field->d_stage,
                                       piece_bytes(field, piece)));
    return backend->runtime->queue_wait(field->queue);
}

/* h_stage to field. Blocks: h_stage may be overwritten at once. */
static enum status stage_out(struct field *field, const struct box *piece)
{
    const struct backend *backend = field->backend;
    TRY(backend->runtime->copy_to_device(field->queue, field->d_stage, field->h_stage,
                                         piece_bytes(field, piece)));
    TRY(backend->operations->unpack(field->queue, &field->layout, field->d_stage, piece,
                                    field->d_now));
    return backend->runtime->queue_wait(field->queue);
}

enum status field_read(struct field *field, const struct box *box, void *h_values)
{
    char *to = h_values;
    struct box piece = box_before(box);
    if (backend_has(field->backend, BACKEND_HOST_POINTERS) && !box_is_empty(box)) {
        /* one copy instead of three */
        TRY(field->backend->operations->pack(field->queue, &field->layout, field->d_now, box,
                                             h_values));
        return field->backend->runtime->queue_wait(field->queue);
    }
    while (next_piece(field, box, &piece)) {
        TRY(stage_in(field, &piece));
        memcpy(to, field->h_stage, piece_bytes(field, &piece));
        to += piece_bytes(field, &piece);
    }
    return STATUS_OK;
}

enum status field_write(struct field *field, const struct box *box, const void *h_values)
{
    const char *from = h_values;
    struct box piece = box_before(box);
    while (next_piece(field, box, &piece)) {
        memcpy(field->h_stage, from, piece_bytes(field, &piece));
        TRY(stage_out(field, &piece));
        from += piece_bytes(field, &piece);
    }
    return STATUS_OK;
}

/* Queued. Sum the first `n` elements of d_stage, as rows and what is left; the sums are valid after
 * queue_wait. */
static enum status sum_stage(struct field *field, int64_t n, struct field_summary sums[2])
{
    enum { ROW = 512 };
    const int64_t rest = n % ROW;
    const struct operations *operations = field->backend->operations;
    struct layout rows = {.precision = field->layout.precision,
                          .cells = {ROW, n / ROW, 1},
                          .pitch_y = ROW,
                          .pitch_z = n,
                          .elements = n};
    memset(sums, 0, 2 * sizeof *sums);
    if (n >= ROW) {
        TRY(operations->summarise(field->queue, &rows, &field->placement, field->d_stage,
                                  &sums[0]));
    }
    rows.cells[AXIS_X] = rest;
    rows.cells[AXIS_Y] = 1;
    rows.origin = n - rest;
    return rest == 0 ? STATUS_OK
                     : operations->summarise(field->queue, &rows, &field->placement, field->d_stage,
                                             &sums[1]);
}

enum status field_sum(struct field *field, const struct box *box, struct exact_sum *sum)
{
    struct box piece = box_before(box);
    *sum = (struct exact_sum){{0}};
    while (next_piece(field, box, &piece)) {
        struct field_summary sums[2];
        TRY(field->backend->operations->pack(field->queue, &field->layout, field->d_now, &piece,
                                             field->d_stage));
        TRY(sum_stage(field, box_cells(&piece), sums));
        TRY(field->backend->runtime->queue_wait(field->queue));
        exact_sum_add(sum, &sums[0].sum);
        exact_sum_add(sum, &sums[1].sum);
    }
    return STATUS_OK;
}

/* A thread paints a part of each piece, with its own formula: a parser is not thread-safe. */
struct painter {
    struct expression *expression; /* NULL: the shape has none */
    enum status status;
    struct failure failure; /* if status is not STATUS_OK */
};

struct brush {
    const struct field *field;
    const struct grid *grid;
    const struct initial_setting *shape;
    struct painter *painters;
    int npainters;
};

/* The centre of a cell, from its global index alone: the same bits in every decomposition. */
static double center(const struct brush *brush, int axis, int64_t index)
{
    return grid_center(brush->grid, (enum axis)axis, index + brush->field->placement.offset[axis]);
}

static bool index_inside(const struct brush *brush, int axis, int64_t index)
{
    return shape_reaches(brush->grid, brush->shape, (enum axis)axis, center(brush, axis, index));
}

/* The bounding box of the shape in the cells of this rank. */
static struct box bounds(const struct brush *brush)
{
    struct box box = layout_owned(&brush->field->layout);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        while (box.lo[axis] < box.hi[axis] && !index_inside(brush, axis, box.lo[axis])) {
            box.lo[axis]++;
        }
        while (box.hi[axis] > box.lo[axis] && !index_inside(brush, axis, box.hi[axis] - 1)) {
            box.hi[axis]--;
        }
    }
    return box;
}

/* Paint the cells `from` to before `to` of the piece, in [z][y][x] order, which lie in one row of
 * h_stage. */
static enum status paint_row(const struct brush *brush, struct expression *expression,
                             const struct box *piece, int64_t from, int64_t to)
{
    const int64_t nx = box_extent(piece, AXIS_X);
    const int64_t ny = box_extent(piece, AXIS_Y);
    const int64_t row = from / nx;
    const int64_t before = piece->lo[AXIS_X] - row * nx; /* x index = before + element */
    double at[AXIS_COUNT] = {0, center(brush, AXIS_Y, piece->lo[AXIS_Y] + row % ny),
                             center(brush, AXIS_Z, piece->lo[AXIS_Z] + row / ny)};
    double value = brush->shape->value;
    for (int64_t element = from; element < to; element++) {
        at[AXIS_X] = center(brush, AXIS_X, before + element);
        if (brush->shape->kind == INITIAL_SPHERE && !shape_holds(brush->grid, brush->shape, at)) {
            continue;
        }
        if (expression != NULL) {
            TRY(shape_evaluate(brush->shape, expression, at, &value));
        }
        if (brush->field->layout.precision == PRECISION_FLOAT64) {
            ((double *)brush->field->h_stage)[element] = value;
        } else {
            ((float *)brush->field->h_stage)[element] = (float)value;
        }
    }
    return STATUS_OK;
}

/* Paint the contiguous share of one painter, up to its first failure. */
static enum status paint_share(const struct brush *brush, int part, const struct box *piece)
{
    const int64_t nx = box_extent(piece, AXIS_X);
    const int64_t ncells = box_cells(piece);
    const int64_t last = ncells * (part + 1) / brush->npainters;
    for (int64_t from = ncells * part / brush->npainters, to; from < last; from = to) {
        to = (from / nx + 1) * nx;
        to = to < last ? to : last;
        TRY(paint_row(brush, brush->painters[part].expression, piece, from, to));
    }
    return STATUS_OK;
}

/* Paint h_stage with all painters. Shares are in the order of the cells, so the first failed share
 * has the first failed cell. */
static enum status paint_stage(const struct brush *brush, const struct box *piece)
{
#pragma omp parallel for schedule(static, 1) num_threads(brush->npainters)
    for (int part = 0; part < brush->npainters; part++) {
        struct painter *painter = &brush->painters[part];
        painter->status = paint_share(brush, part, piece);
        if (painter->status != STATUS_OK) {
            fail_keep(&painter->failure);
        }
    }
    for (int part = 0; part < brush->npainters; part++) {
        if (brush->painters[part].status != STATUS_OK) {
            fail_restore(&brush->painters[part].failure);
            return brush->painters[part].status;
        }
    }
    return STATUS_OK;
}

static enum status paint_pieces(struct field *field, const struct brush *brush,
                                const struct box *box)
{
    struct box piece = box_before(box);
    while (next_piece(field, box, &piece)) {
        /* only a sphere leaves some cells of its bounding box unchanged */
        if (brush->shape->kind == INITIAL_SPHERE) {
            TRY(stage_in(field, &piece));
        }
        TRY(paint_stage(brush, &piece));
        TRY(stage_out(field, &piece));
    }
    return STATUS_OK;
}

static void painters_destroy(struct brush *brush)
{
    for (int part = 0; part < brush->npainters; part++) {
        expression_destroy(brush->painters[part].expression);
    }
    free(brush->painters);
}

/* One painter per thread, fewer when there is little work. */
static enum status painters_create(struct brush *brush, int64_t ncells)
{
    const int64_t worth = ncells / CELLS_WORTH_A_PAINTER;
    const int threads = omp_get_max_threads();
    const int most = worth < threads ? (int)worth : threads;
    const int npainters = most > 1 ? most : 1;
    brush->painters = calloc((size_t)npainters, sizeof *brush->painters);
    if (brush->painters == NULL) {
        return fail(STATUS_MEMORY, "no memory to paint with %d threads", npainters);
    }
    brush->npainters = npainters;
    if (brush->shape->kind == INITIAL_EXPRESSION) {
        /* serial: expression_create is not thread-safe */
        for (int part = 0; part < npainters; part++) {
            TRY(shape_formula(brush->shape, &brush->painters[part].expression));
        }
    }
    return STATUS_OK;
}

enum status field_paint(struct field *field, const struct grid *grid,
                        const struct initial_setting *shape)
{
    struct brush brush = {.field = field, .grid = grid, .shape = shape};
    if (shape->kind == INITIAL_FILE) {
        return fail(STATUS_INPUT, "an initial file is read, not painted");
    }
    const struct box box = bounds(&brush);
    enum status status;
    TRY_GOTO(painters_create(&brush, box_cells(&box)));
    TRY_GOTO(paint_pieces(field, &brush, &box));
done:
    painters_destroy(&brush);
    return status;
}
