#include "io/hdf5/h5_field.h"

#include <stdlib.h>

#include "base/comm.h"
#include "base/log.h"

/* The pieces of a box of which this rank may have fewer than others: all ranks make as many calls.
 */
struct pieces {
    const struct box *box;
    int64_t most_cells; /* of a piece */
    int64_t left;       /* on the rank with most of them */
    struct box piece;
};

static enum status pieces_begin(MPI_Comm comm, const struct box *box, size_t most_cells,
                                struct pieces *pieces)
{
    *pieces = (struct pieces){box, (int64_t)most_cells, 0, box_before(box)};
    for (struct box piece = pieces->piece; box_next(box, pieces->most_cells, &piece);) {
        pieces->left++;
    }
    return comm_check(MPI_Allreduce(MPI_IN_PLACE, &pieces->left, 1, MPI_INT64_T, MPI_MAX, comm),
                      "MPI_Allreduce");
}

/* Empty after the last one of this rank. */
static bool pieces_next(struct pieces *pieces)
{
    if (!box_next(pieces->box, pieces->most_cells, &pieces->piece)) {
        pieces->piece.lo[AXIS_Y] = pieces->piece.hi[AXIS_Y];
    }
    return pieces->left-- > 0;
}

/* The pieces are contiguous. Either `from` or `to` is NULL. */
static enum status move_part(MPI_Comm comm, hid_t dataset, const struct box *box, hid_t type,
                             const char *from, char *to, size_t piece_bytes)
{
    struct pieces pieces;
    TRY(pieces_begin(comm, box, piece_bytes / H5Tget_size(type), &pieces));
    while (pieces_next(&pieces)) {
        const size_t bytes = (size_t)box_cells(&pieces.piece) * H5Tget_size(type);
        TRY(status_agree(comm, h5_move_box(dataset, &pieces.piece, type, true, from, to)));
        from += from != NULL ? bytes : 0;
        to += to != NULL ? bytes : 0;
    }
    return STATUS_OK;
}

enum status h5_part_write(MPI_Comm comm, hid_t dataset, const struct box *box, hid_t type,
                          const void *values, size_t piece_bytes)
{
    return move_part(comm, dataset, box, type, values, NULL, piece_bytes);
}

enum status h5_part_read(MPI_Comm comm, hid_t dataset, const struct box *box,
                         enum precision precision, void *values, size_t piece_bytes)
{
    char nothing = 0; /* an empty box may have no memory */
    return move_part(comm, dataset, box, h5_type(precision), NULL,
                     values != NULL ? values : &nothing, piece_bytes);
}

enum status h5_field_read(MPI_Comm comm, hid_t dataset, struct field *field, size_t piece_bytes)
{
    const enum precision precision = field->layout.precision;
    const struct box owned = layout_owned(&field->layout);
    const size_t row = (size_t)box_extent(&owned, AXIS_X) * precision_bytes(precision);
    const size_t bytes = piece_bytes > row ? piece_bytes : row;
    SCOPED_FREE void *values = malloc(bytes > 0 ? bytes : 1);
    struct pieces pieces;
    TRY(status_agree(
        comm, CHECK_MEMORY(values != NULL, "no memory for a buffer of %s", SIZE_TEXT(bytes))));
    TRY(pieces_begin(comm, &owned, piece_bytes / precision_bytes(precision), &pieces));
    while (pieces_next(&pieces)) {
        const struct box global = box_shift(&pieces.piece, field->placement.offset);
        enum status status = h5_read_box(dataset, &global, precision, true, values);
        if (status == STATUS_OK && !box_is_empty(&global)) {
            status = field_write(field, &pieces.piece, values);
        }
        TRY(status_agree(comm, status));
    }
    return STATUS_OK;
}
