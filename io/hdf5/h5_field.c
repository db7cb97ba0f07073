#include "io/hdf5/h5_field.h"

#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum status pieces_create(MPI_Comm comm, const int64_t cells[AXIS_COUNT], int64_t cells_limit,
                          struct pieces *pieces)
{
    struct pieces cut = {.count = 1, .piece_cells = 1};
    int64_t most[AXIS_COUNT];
    TRY_MPI(MPI_Allreduce(cells, most, AXIS_COUNT, MPI_INT64_T, MPI_MAX, comm));
    int64_t room = cells_limit;
    for (int a = 0; a < AXIS_COUNT; a++) {
        cut.cells[a] = cells[a];
        cut.extent[a] = clamp(room, 1, most[a]);
        cut.groups[a] = (most[a] + cut.extent[a] - 1) / cut.extent[a];
        cut.count *= cut.groups[a];
        cut.piece_cells *= cut.extent[a] < cells[a] ? cut.extent[a] : cells[a];
        room /= cut.extent[a];
    }
    *pieces = cut;
    return STATUS_OK;
}

struct box pieces_box(const struct pieces *pieces, int64_t index)
{
    struct box box;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t group = index % pieces->groups[a];
        index /= pieces->groups[a];
        box.lo[a] = clamp(group * pieces->extent[a], 0, pieces->cells[a]);
        box.hi[a] = clamp(box.lo[a] + pieces->extent[a], 0, pieces->cells[a]);
    }
    return box;
}

/* Collective. Cut the part `box` of a dataset. */
static enum status cut_part(MPI_Comm comm, const struct box *box, enum precision precision,
                            size_t piece_bytes, struct pieces *pieces)
{
    int64_t cells[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        cells[a] = box_is_empty(box) ? 0 : box_extent(box, (enum axis)a);
    }
    return pieces_create(comm, cells, (int64_t)(piece_bytes / precision_bytes(precision)), pieces);
}

enum status h5_part_write(MPI_Comm comm, hid_t dataset, const struct box *box,
                          enum precision precision, const void *values, size_t piece_bytes)
{
    struct pieces pieces;
    const char *next = values; /* the pieces are contiguous */
    TRY(cut_part(comm, box, precision, piece_bytes, &pieces));
    for (int64_t p = 0; p < pieces.count; p++) {
        const struct box local = pieces_box(&pieces, p);
        const struct box piece = box_shift(&local, box->lo);
        TRY(status_agree(comm, h5_write_box(dataset, &piece, precision, next)));
        next += (size_t)box_cells(&local) * precision_bytes(precision);
    }
    return STATUS_OK;
}

enum status h5_part_read(MPI_Comm comm, hid_t dataset, const struct box *box,
                         enum precision precision, void *values, size_t piece_bytes)
{
    struct pieces pieces;
    char *next = values;
    TRY(cut_part(comm, box, precision, piece_bytes, &pieces));
    for (int64_t p = 0; p < pieces.count; p++) {
        const struct box local = pieces_box(&pieces, p);
        const struct box piece = box_shift(&local, box->lo);
        TRY(status_agree(comm, h5_read_box(dataset, &piece, precision, true, next)));
        next += (size_t)box_cells(&local) * precision_bytes(precision);
    }
    return STATUS_OK;
}

static enum status read_pieces(MPI_Comm comm, hid_t dataset, struct field *field,
                               const struct pieces *pieces, void *values)
{
    for (int64_t p = 0; p < pieces->count; p++) {
        const struct box local = pieces_box(pieces, p);
        const struct box global = box_shift(&local, field->placement.offset);
        enum status status = h5_read_box(dataset, &global, field->layout.precision, true, values);
        if (status == STATUS_OK && !box_is_empty(&local)) {
            status = field_write(field, &local, values);
        }
        TRY(status_agree(comm, status));
    }
    return STATUS_OK;
}

enum status h5_field_read(MPI_Comm comm, hid_t dataset, struct field *field, size_t piece_bytes)
{
    const size_t cell_bytes = precision_bytes(field->layout.precision);
    struct pieces pieces;
    TRY(pieces_create(comm, field->layout.cells, (int64_t)(piece_bytes / cell_bytes), &pieces));
    const size_t bytes = (size_t)pieces.piece_cells * cell_bytes;
    SCOPED_FREE void *values = malloc(bytes);
    TRY(status_agree(
        comm, CHECK_MEMORY(values != NULL, "no memory for a buffer of %s", SIZE_TEXT(bytes))));
    return read_pieces(comm, dataset, field, &pieces, values);
}
