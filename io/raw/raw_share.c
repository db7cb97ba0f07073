#include "io/raw/raw.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

/* The minimum of exchanged cells that a rank writes: few long writes. */
enum { LEAST_BYTES = 1 << 20 };

static int64_t clamp(int64_t value, int64_t high)
{
    return value < 0 ? 0 : value > high ? high : value;
}

struct raw_run raw_share_even(const struct raw_place *place, int64_t n, int64_t count)
{
    const int64_t total = raw_cells(place);
    const int64_t lines = (total + place->line_cells - 1) / place->line_cells;
    const struct raw_run run = {lines * n / count * place->line_cells,
                                lines * (n + 1) / count * place->line_cells};
    return (struct raw_run){clamp(run.begin, total), clamp(run.end, total)};
}

/* Writers are spread over the ranks, and so over the nodes. */
static void deal_evenly(const struct raw_place *place, struct raw_shares *shares)
{
    const int64_t bytes = raw_cells(place) * place->value_bytes;
    const int64_t most = (bytes + LEAST_BYTES - 1) / LEAST_BYTES;
    const int64_t nwriters = most < 1 ? 1 : most < shares->nranks ? most : shares->nranks;
    for (int64_t w = 0; w < nwriters; w++) {
        shares->runs[w * shares->nranks / nwriters] = raw_share_even(place, w, nwriters);
    }
}

int64_t raw_run_begin(const struct raw_place *place, const struct box *box)
{
    const int64_t row = box->lo[AXIS_Z] * place->cells[AXIS_Y] + box->lo[AXIS_Y];
    return row * place->cells[AXIS_X] + box->lo[AXIS_X];
}

/* True where the box is one run of whole lines. */
static bool is_run(const struct raw_place *place, const struct box *box, struct raw_run *run)
{
    const int64_t nx = place->cells[AXIS_X];
    const int64_t ny = place->cells[AXIS_Y];
    const int64_t planes = box_extent(box, AXIS_Z);
    const int64_t rows = box_extent(box, AXIS_Y);
    *run = (struct raw_run){0, 0};
    if (box_is_empty(box)) {
        return true;
    }
    const bool whole_rows = box_extent(box, AXIS_X) == nx || (rows == 1 && planes == 1);
    const bool whole_planes = rows == ny || planes == 1;
    run->begin = raw_run_begin(place, box);
    run->end = run->begin + box_cells(box);
    return whole_rows && whole_planes && run->begin % place->line_cells == 0 &&
           (run->end % place->line_cells == 0 || run->end == raw_cells(place));
}

static void choose(const struct raw_place *place, struct raw_shares *shares)
{
    shares->own = true;
    for (int r = 0; r < shares->nranks; r++) {
        shares->own = is_run(place, &shares->boxes[r], &shares->runs[r]) && shares->own;
    }
    if (!shares->own) {
        memset(shares->runs, 0, (size_t)shares->nranks * sizeof *shares->runs);
        deal_evenly(place, shares);
    }
}

enum status raw_shares_create(MPI_Comm comm, const struct raw_place *place, const struct box *box,
                              struct raw_shares *shares)
{
    const int nranks = comm_size(comm);
    *shares = (struct raw_shares){
        .nranks = nranks,
        .rank = comm_rank(comm),
        .boxes = calloc((size_t)nranks, sizeof *shares->boxes),
        .runs = calloc((size_t)nranks, sizeof *shares->runs),
    };
    TRY(status_agree(comm, CHECK_MEMORY(shares->boxes != NULL && shares->runs != NULL,
                                        "no memory for the shares of %d ranks in a file", nranks)));
    const int numbers = (int)(sizeof *box / sizeof(int64_t));
    TRY_MPI(MPI_Allgather(box, numbers, MPI_INT64_T, shares->boxes, numbers, MPI_INT64_T, comm));
    choose(place, shares);
    return STATUS_OK;
}

void raw_shares_free(struct raw_shares *shares)
{
    free(shares->runs);
    free(shares->boxes);
    *shares = (struct raw_shares){0};
}

struct raw_run raw_run_piece(const struct raw_run *run, int64_t number, int64_t cells)
{
    const int64_t length = run->end - run->begin;
    return (struct raw_run){run->begin + clamp(number * cells, length),
                            run->begin + clamp((number + 1) * cells, length)};
}

/* The number of cells of the box before a flat index. The box's memory has the same order, so the
 * cells of a run are contiguous there. */
static int64_t cells_before(const struct raw_place *place, const struct box *box, int64_t index)
{
    const int64_t nx = place->cells[AXIS_X];
    const int64_t ny = place->cells[AXIS_Y];
    const int64_t at[AXIS_COUNT] = {index % nx, index / nx % ny, index / nx / ny};
    int64_t count = 0;
    int64_t below = box_cells(box); /* in one layer of the axis */
    for (int a = AXIS_Z; a >= 0; a--) {
        const int64_t extent = box_extent(box, (enum axis)a);
        below /= extent > 0 ? extent : 1;
        count += clamp(at[a] - box->lo[a], extent) * below;
        if (at[a] < box->lo[a] || at[a] >= box->hi[a]) {
            break;
        }
    }
    return count;
}

/* The part of a box's memory that belongs to a run. */
static struct raw_run part_of(const struct raw_place *place, const struct box *box,
                              const struct raw_run *run)
{
    if (box_is_empty(box) || run->begin == run->end) {
        return (struct raw_run){0, 0};
    }
    return (struct raw_run){cells_before(place, box, run->begin),
                            cells_before(place, box, run->end)};
}

/* Copy a part of a box's cells to their places in the run's memory, row by row. */
static void scatter(const struct raw_place *place, const struct box *box,
                    const struct raw_run *part, const char *from, const struct raw_run *run,
                    char *to)
{
    const size_t bytes = (size_t)place->value_bytes;
    const int64_t width = box_extent(box, AXIS_X);
    const int64_t height = box_extent(box, AXIS_Y);
    for (int64_t c = part->begin; c < part->end;) {
        const int64_t i = c % width;
        const int64_t j = c / width % height;
        const int64_t k = c / width / height;
        const int64_t left = part->end - c;
        const int64_t cells = width - i < left ? width - i : left;
        const int64_t row = (box->lo[AXIS_Z] + k) * place->cells[AXIS_Y] + box->lo[AXIS_Y] + j;
        const int64_t index = row * place->cells[AXIS_X] + box->lo[AXIS_X] + i;
        memcpy(to + (size_t)(index - run->begin) * bytes, from, (size_t)cells * bytes);
        from += (size_t)cells * bytes;
        c += cells;
    }
}

/* Post the receives, one after the other in `room`, and the sends. */
static enum status post(MPI_Comm comm, const struct raw_shares *shares,
                        const struct raw_place *place, int64_t number, int64_t cells,
                        const char *values, char *room, MPI_Request *requests, int *nrequests)
{
    enum { TAG = 7 };
    const size_t bytes = (size_t)place->value_bytes;
    const struct raw_run mine = raw_run_piece(&shares->runs[shares->rank], number, cells);
    for (int r = 0; r < shares->nranks; r++) {
        const struct raw_run part = part_of(place, &shares->boxes[r], &mine);
        const size_t part_bytes = (size_t)(part.end - part.begin) * bytes;
        if (part_bytes > 0 && r != shares->rank) {
            TRY_MPI(MPI_Irecv(room, (int)part_bytes, MPI_BYTE, r, TAG, comm,
                              &requests[(*nrequests)++]));
        }
        room += part_bytes;
    }
    for (int r = 0; r < shares->nranks; r++) {
        const struct raw_run theirs = raw_run_piece(&shares->runs[r], number, cells);
        const struct raw_run part = part_of(place, &shares->boxes[shares->rank], &theirs);
        const size_t part_bytes = (size_t)(part.end - part.begin) * bytes;
        if (part_bytes > 0 && r != shares->rank) {
            TRY_MPI(MPI_Isend(values + (size_t)part.begin * bytes, (int)part_bytes, MPI_BYTE, r,
                              TAG, comm, &requests[(*nrequests)++]));
        }
    }
    return STATUS_OK;
}

static void unpack(const struct raw_shares *shares, const struct raw_place *place, int64_t number,
                   int64_t cells, const char *values, const char *room, char *piece)
{
    const size_t bytes = (size_t)place->value_bytes;
    const struct raw_run mine = raw_run_piece(&shares->runs[shares->rank], number, cells);
    for (int r = 0; r < shares->nranks; r++) {
        const struct raw_run part = part_of(place, &shares->boxes[r], &mine);
        const char *from = r == shares->rank ? values + (size_t)part.begin * bytes : room;
        scatter(place, &shares->boxes[r], &part, from, &mine, piece);
        room += (size_t)(part.end - part.begin) * bytes;
    }
}

enum status raw_exchange(MPI_Comm comm, const struct raw_shares *shares,
                         const struct raw_place *place, int64_t number, int64_t cells,
                         const void *values, void *room, void *piece)
{
    SCOPED_FREE MPI_Request *requests = malloc(2 * (size_t)shares->nranks * sizeof(MPI_Request));
    int nrequests = 0;
    TRY(status_agree(comm, CHECK_MEMORY(requests != NULL, "no memory for the messages of %d ranks",
                                        shares->nranks)));
    TRY(post(comm, shares, place, number, cells, values, room, requests, &nrequests));
    TRY(comm_check(MPI_Waitall(nrequests, requests, MPI_STATUSES_IGNORE), "MPI_Waitall"));
    unpack(shares, place, number, cells, values, room, piece);
    return STATUS_OK;
}
