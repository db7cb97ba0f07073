#include "model/field/field.h"

#include <stdlib.h>
#include <string.h>

#include "model/field/derived.h"
#include "model/space/grid.h"
#include "model/space/shape.h"

/* Large enough for copies at full speed, small compared with large fields. */
enum { STAGE_BYTES = 32 << 20 };

enum status field_layout(const struct backend *backend, const struct decomp *decomp, int rank,
                         enum precision precision, struct layout *layout)
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
    return STATUS_OK;
}

static enum status plan_memory(const struct backend *backend, const struct decomp *decomp, int rank,
                               enum precision precision, struct layout *layout, size_t *stage_bytes)
{
    TRY(field_layout(backend, decomp, rank, precision, layout));
    const int64_t *cells = layout->cells;
    /* a row with its halo in float64 must fit: derived fields use the stage, too */
    const size_t row = (size_t)(cells[AXIS_X] + 2 * layout->halo[AXIS_X]) * sizeof(double);
    const size_t all = (size_t)(cells[AXIS_X] * cells[AXIS_Y] * cells[AXIS_Z]) * sizeof(double);
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
    TRY(CHECK_MEMORY(built != NULL, "no memory for a field's description"));
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

/* The next piece of `box` that fits the stage, in the precision of a layout (box_next). */
static bool next_piece(const struct field *field, const struct layout *layout,
                       const struct box *box, struct box *piece)
{
    return box_next(box, (int64_t)(field->stage_bytes / precision_bytes(layout->precision)), piece);
}

static size_t piece_bytes(const struct field *field, const struct box *piece)
{
    return (size_t)box_cells(piece) * precision_bytes(field->layout.precision);
}

/* Queued. Field to d_stage. */
static enum status pack(struct field *field, const void *d_from, const struct box *piece)
{
    return ENQUEUE(field->backend->operations, pack, field->queue, .layout = field->layout,
                   .d_field = d_from, .boxes = piece, .d_buffers = &field->d_stage, .nboxes = 1);
}

/* Field to h_stage. Blocks. */
static enum status stage_in(struct field *field, const void *d_from, const struct box *piece)
{
    const struct backend *backend = field->backend;
    TRY(pack(field, d_from, piece));
    TRY(backend->runtime->copy_to_host(field->queue, field->h_stage, field->d_stage,
                                       piece_bytes(field, piece)));
    return backend->runtime->queue_wait(field->queue);
}

/* h_stage to d_to. Blocks: h_stage may be overwritten at once. */
static enum status stage_out(struct field *field, const struct layout *layout,
                             const struct box *piece, void *d_to)
{
    const struct backend *backend = field->backend;
    TRY(backend->runtime->copy_to_device(field->queue, field->d_stage, field->h_stage,
                                         (size_t)box_cells(piece) *
                                             precision_bytes(layout->precision)));
    TRY(ENQUEUE(backend->operations, unpack, field->queue, .layout = *layout, .d_field = d_to,
                .boxes = piece, .d_buffers = &field->d_stage, .nboxes = 1));
    return backend->runtime->queue_wait(field->queue);
}

enum status field_extract(struct field *field, const struct extract_args *args, void *h_values)
{
    const struct backend *backend = field->backend;
    const size_t cell_bytes = precision_bytes(args->precision);
    const struct box all = box_of_cells(args->cells);
    struct box piece = box_before(&all);
    struct extract_args part = *args;
    char *to = h_values;
    if (backend_has(backend, BACKEND_HOST_POINTERS) && !box_is_empty(&all)) {
        /* one copy instead of three */
        part.d_values = h_values;
        TRY(backend->operations->extract(field->queue, &part));
        return backend->runtime->queue_wait(field->queue);
    }
    while (box_next(&all, (int64_t)(field->stage_bytes / cell_bytes), &piece)) {
        const size_t bytes = (size_t)box_cells(&piece) * cell_bytes;
        part.d_values = field->d_stage;
        for (int a = 0; a < AXIS_COUNT; a++) {
            part.first[a] = args->first[a] + piece.lo[a] * args->stride[a];
            part.cells[a] = box_extent(&piece, (enum axis)a);
        }
        TRY(backend->operations->extract(field->queue, &part));
        TRY(backend->runtime->copy_to_host(field->queue, field->h_stage, field->d_stage, bytes));
        TRY(backend->runtime->queue_wait(field->queue));
        memcpy(to, field->h_stage, bytes);
        to += bytes;
    }
    return STATUS_OK;
}

static enum status read_from(struct field *field, const struct layout *layout, const void *d_from,
                             const struct box *box, enum precision precision, void *h_values)
{
    struct extract_args args = {
        .layout = *layout, .stride = {1, 1, 1}, .precision = precision, .d_field = d_from};
    for (int a = 0; a < AXIS_COUNT; a++) {
        args.first[a] = box->lo[a];
        args.cells[a] = box_extent(box, (enum axis)a);
    }
    return field_extract(field, &args, h_values);
}

enum status field_read(struct field *field, const struct box *box, void *h_values)
{
    return read_from(field, &field->layout, field_temperature(field), box, field->layout.precision,
                     h_values);
}

enum status field_read_now(struct field *field, const struct box *box, void *h_values)
{
    char *to = h_values;
    struct box piece = box_before(box);
    while (next_piece(field, &field->layout, box, &piece)) {
        TRY(stage_in(field, field->d_now, &piece));
        memcpy(to, field->h_stage, piece_bytes(field, &piece));
        to += piece_bytes(field, &piece);
    }
    return STATUS_OK;
}

enum status field_read_derived(struct field *field, enum derived_kind kind, const struct box *box,
                               enum precision precision, void *h_values)
{
    return read_from(field, &field->derived->layout, field->derived->d_values[kind], box, precision,
                     h_values);
}

static enum status write_to(struct field *field, const struct layout *layout, const struct box *box,
                            const void *h_values, void *d_to)
{
    const char *from = h_values;
    struct box piece = box_before(box);
    while (next_piece(field, layout, box, &piece)) {
        const size_t bytes = (size_t)box_cells(&piece) * precision_bytes(layout->precision);
        memcpy(field->h_stage, from, bytes);
        TRY(stage_out(field, layout, &piece, d_to));
        from += bytes;
    }
    return STATUS_OK;
}

enum status field_write(struct field *field, const struct box *box, const void *h_values)
{
    return write_to(field, &field->layout, box, h_values, field->d_now);
}

enum status field_write_derived(struct field *field, enum derived_kind kind, const struct box *box,
                                const double *h_values)
{
    const struct derived *derived = field->derived;
    return write_to(field, &derived->layout, box, h_values, derived->d_values[kind]);
}

/* Queued. Sum the `n` elements of d_stage, as rows and what is left; the sums are valid after
 * queue_wait. */
static enum status sum_stage(struct field *field, int64_t n, struct field_summary sums[2])
{
    enum { ROW = 512 };
    const int64_t rest = n % ROW;
    const struct operations *operations = field->backend->operations;
    struct summarise_args args = {.layout = {.precision = field->layout.precision,
                                             .cells = {ROW, n / ROW, 1},
                                             .pitch_y = ROW,
                                             .pitch_z = n,
                                             .elements = n},
                                  .placement = field->placement,
                                  .d_field = field->d_stage,
                                  .h_summary = &sums[0]};
    memset(sums, 0, 2 * sizeof *sums);
    if (n >= ROW) {
        TRY(operations->summarise(field->queue, &args));
    }
    args.layout.cells[AXIS_X] = rest;
    args.layout.cells[AXIS_Y] = 1;
    args.layout.origin = n - rest;
    args.h_summary = &sums[1];
    return rest == 0 ? STATUS_OK : operations->summarise(field->queue, &args);
}

/* Queued. Sum a box of whole rows, which begin aligned, where they are. */
static enum status sum_rows(struct field *field, const struct box *box, struct field_sums *queued,
                            struct exact_sum *sum)
{
    struct layout rows = field->layout;
    if (box_is_empty(box)) {
        return STATUS_OK;
    }
    rows.origin = layout_index(&rows, box->lo[AXIS_X], box->lo[AXIS_Y], box->lo[AXIS_Z]);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        rows.cells[axis] = box_extent(box, (enum axis)axis);
    }
    if (queued->count == FACE_COUNT) {
        TRY(field_sums_end(field, queued));
    }
    queued->piece[queued->count].total = sum;
    struct field_summary *sums = queued->piece[queued->count++].sums;
    memset(sums, 0, sizeof queued->piece->sums);
    return ENQUEUE(field->backend->operations, summarise, field->queue, .layout = rows,
                   .placement = field->placement, .d_field = field_temperature(field),
                   .h_summary = sums);
}

enum status field_sums_end(struct field *field, struct field_sums *queued)
{
    const int count = queued->count;
    queued->count = 0; /* also after a failure: no later call waits again */
    TRY(field->backend->runtime->queue_wait(field->queue));
    for (int p = 0; p < count; p++) {
        exact_sum_add(queued->piece[p].total, &queued->piece[p].sums[0].sum);
        exact_sum_add(queued->piece[p].total, &queued->piece[p].sums[1].sum);
    }
    return STATUS_OK;
}

enum status field_sums_begin(struct field *field, const struct box *boxes, int nboxes,
                             struct field_sums *queued, struct exact_sum *sums)
{
    const struct box owned = layout_owned(&field->layout);
    queued->count = 0;
    for (int b = 0; b < nboxes; b++) {
        struct box piece = box_before(&boxes[b]);
        sums[b] = (struct exact_sum){{0}};
        if (box_extent(&boxes[b], AXIS_X) == box_extent(&owned, AXIS_X)) {
            TRY(sum_rows(field, &boxes[b], queued, &sums[b]));
            continue;
        }
        while (next_piece(field, &field->layout, &boxes[b], &piece)) {
            if (queued->count == FACE_COUNT) {
                TRY(field_sums_end(field, queued));
            }
            /* in the order of the queue, so that all use the same stage */
            TRY(pack(field, field_temperature(field), &piece));
            queued->piece[queued->count].total = &sums[b];
            TRY(sum_stage(field, box_cells(&piece), queued->piece[queued->count++].sums));
        }
    }
    return STATUS_OK;
}

enum status field_paint(struct field *field, const struct grid *grid,
                        const struct shape_setting *shape, int points)
{
    const int64_t *offset = field->placement.offset;
    const struct box owned = layout_owned(&field->layout);
    const struct box global = box_shift(&owned, offset);
    SCOPED_BY(brush_end) struct brush brush;
    TRY(brush_begin(&brush, grid, shape, box_cells(&owned), points));
    const struct box bounds = brush_bounds(&brush, &global);
    const struct box local =
        box_shift(&bounds, (const int64_t[]){-offset[AXIS_X], -offset[AXIS_Y], -offset[AXIS_Z]});
    struct box piece = box_before(&local);
    while (next_piece(field, &field->layout, &local, &piece)) {
        const struct box cells = box_shift(&piece, offset);
        if (shape_is_partial(shape)) {
            TRY(stage_in(field, field->d_now, &piece));
        }
        TRY(brush_paint(&brush, &cells, field->layout.precision, field->h_stage));
        TRY(stage_out(field, &field->layout, &piece, field->d_now));
    }
    return STATUS_OK;
}
