#include "io/raw/raw.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "kernels/cell/heat_cell.h"

enum {
    LINE_CELLS = 65536,
    BLOCK_BYTES = 1 << 20, /* about, in whole lines */
    MOST_BLOCKS = 4096,
    WRITE_BYTES = 8 << 20, /* size of one system call; a multiple of common stripes */
    PIECE_BYTES = 8 << 20, /* size of one read of a thread */
    READ_BYTES = 256 << 10 /* stays in the core's cache until it is summed */
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit;
}

void raw_layout(const int64_t cells[AXIS_COUNT], enum precision precision, struct raw_place *place)
{
    *place = (struct raw_place){.precision = precision,
                                .value_bytes = (int64_t)precision_bytes(precision)};
    for (int a = 0; a < AXIS_COUNT; a++) {
        place->cells[a] = cells[a];
    }
    place->line_cells = cells[AXIS_X] < LINE_CELLS ? cells[AXIS_X] : LINE_CELLS;
    const int64_t lines = round_up(raw_cells(place), place->line_cells);
    const int64_t line_bytes = place->line_cells * place->value_bytes;
    const int64_t usual = round_up(BLOCK_BYTES, line_bytes);
    const int64_t least = round_up(lines, MOST_BLOCKS);
    place->block_lines = usual > least ? usual : least;
    place->blocks = round_up(lines, place->block_lines);
}

/* Whole lines, at least one, in about `bytes` bytes. */
static int64_t piece_cells(const struct raw_place *place, int64_t bytes)
{
    const int64_t line_bytes = place->line_cells * place->value_bytes;
    return (bytes > line_bytes ? bytes / line_bytes : 1) * place->line_cells;
}

static uint64_t sum_lines(const struct raw_place *place, const struct raw_run *run,
                          const char *values)
{
    const size_t bytes = (size_t)place->value_bytes;
    uint64_t sum = 0;
    for (int64_t at = run->begin; at < run->end; at += place->line_cells) {
        const int64_t left = run->end - at;
        const int64_t cells = left < place->line_cells ? left : place->line_cells;
        sum += XXH3_64bits_withSeed(values, (size_t)cells * bytes,
                                    (XXH64_hash_t)(at / place->line_cells));
        values += (size_t)cells * bytes;
    }
    return sum;
}

/* `run` begins with a line. Another thread may add to the blocks at its ends. */
static void add_sums(const struct raw_place *place, const struct raw_run *run, const char *values,
                     uint64_t *sums)
{
    const int64_t block_cells = place->block_lines * place->line_cells;
    for (struct raw_run part = {run->begin, 0}; part.begin < run->end; part.begin = part.end) {
        const int64_t block = part.begin / block_cells;
        part.end = (block + 1) * block_cells < run->end ? (block + 1) * block_cells : run->end;
        const uint64_t sum = sum_lines(place, &part, values);
#pragma omp atomic
        sums[block] += sum;
        values += (size_t)((part.end - part.begin) * place->value_bytes);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

static enum status write_run(struct file_output *file, const struct raw_place *place,
                             const struct raw_run *run, const void *values, uint64_t *sums)
{
    const size_t bytes = (size_t)place->value_bytes;
    add_sums(place, run, values, sums);
    return file_output_write(file, values, (size_t)(run->end - run->begin) * bytes,
                             place->offset + (uint64_t)run->begin * bytes);
}

/* The first address in `memory` with the offset in its page that the cell has in the file, as
 * direct writes need. Large datasets begin at a page of the file (H5_ALIGNMENT_BYTES). */
static void *in_page(void *memory, const struct raw_place *place, int64_t cell)
{
    const size_t before = (size_t)(cell * place->value_bytes) % FILE_PAGE_BYTES;
    return (char *)memory + (size_t)(-(uintptr_t)memory % FILE_PAGE_BYTES) + before;
}

size_t raw_room_bytes(size_t bytes)
{
    return bytes + 2 * (size_t)FILE_PAGE_BYTES;
}

void *raw_align(void *memory, const int64_t cells[AXIS_COUNT], enum precision precision,
                const struct box *box)
{
    struct raw_place place;
    raw_layout(cells, precision, &place);
    return in_page(memory, &place, raw_run_begin(&place, box));
}

/* A rank's share, whose pieces of `cells` cells are dealt to threads. */
struct divided {
    const struct raw_place *place;
    struct raw_run share;
    int64_t cells;
    struct file_output *file; /* to be written from `values`, with the checksums `sums` */
    const char *values;
    uint64_t *sums;
    int fd; /* to be read */
    const char *path;
    uint64_t *found; /* its checksums; NULL: it is not read back */
    uint64_t hash;
    bool is_hashed;
};

static enum status divide(struct divided *divided, int64_t bytes,
                          enum status (*work)(void *divided, int64_t piece))
{
    divided->cells = piece_cells(divided->place, bytes);
    return thread_divide(round_up(divided->share.end - divided->share.begin, divided->cells), work,
                         divided);
}

static uint64_t hash_run(const struct raw_place *place, const struct raw_run *run,
                         const char *values)
{
    uint64_t sum = 0;
    for (int64_t c = run->begin; c < run->end; c++) {
        sum +=
            heat_cell_hash((uint64_t)c, precision_bits(place->precision, values, c - run->begin));
    }
    return sum;
}

static enum status read_piece(void *divided, int64_t number)
{
    struct divided *d = divided;
    const struct raw_run run = raw_run_piece(&d->share, number, d->cells);
    const int64_t cells = piece_cells(d->place, READ_BYTES);
    const size_t bytes = (size_t)d->place->value_bytes;
    uint64_t hash = 0;
    SCOPED_FREE char *values = malloc((size_t)cells * bytes);
    TRY(CHECK_MEMORY(values != NULL, "no memory for %s to read with",
                     SIZE_TEXT((size_t)cells * bytes)));
    for (int64_t p = 0; p * cells < run.end - run.begin; p++) {
        const struct raw_run part = raw_run_piece(&run, p, cells);
        TRY(file_read_at(d->fd, d->path, values, (size_t)(part.end - part.begin) * bytes,
                         d->place->offset + (uint64_t)part.begin * bytes));
        add_sums(d->place, &part, values, d->found);
        hash += d->is_hashed ? hash_run(d->place, &part, values) : 0;
    }
#pragma omp atomic
    d->hash += hash;
    return STATUS_OK;
}

/* Read back at once: a file system that lets one thread at a time write to a file lets the others
 * read meanwhile. */
static enum status write_piece(void *divided, int64_t number)
{
    const struct divided *d = divided;
    const struct raw_run piece = raw_run_piece(&d->share, number, d->cells);
    const size_t bytes = (size_t)d->place->value_bytes;
    TRY(write_run(d->file, d->place, &piece,
                  d->values + (size_t)(piece.begin - d->share.begin) * bytes, d->sums));
    return d->found != NULL ? read_piece(divided, number) : STATUS_OK;
}

/* The rounds that the rank with the largest share needs. */
static int64_t count_rounds(const struct raw_shares *shares, int64_t cells)
{
    int64_t most = 0;
    for (int r = 0; r < shares->nranks; r++) {
        const int64_t rounds = round_up(shares->runs[r].end - shares->runs[r].begin, cells);
        most = rounds > most ? rounds : most;
    }
    return most;
}

/* Collective, the outcome not agreed. A rank that cannot write still takes part to the end. */
static enum status write_exchanged(MPI_Comm comm, const struct raw_shares *shares,
                                   const struct divided *d)
{
    const struct raw_place *place = d->place;
    const int64_t cells = piece_cells(place, WRITE_BYTES);
    const int64_t rounds = count_rounds(shares, cells);
    const size_t bytes = (size_t)(cells * place->value_bytes);
    SCOPED_FREE char *room = malloc(bytes);
    SCOPED_FREE char *memory = malloc(raw_room_bytes(bytes));
    enum status status =
        CHECK_MEMORY(room != NULL && memory != NULL,
                     "no memory for two buffers of %s to write with", SIZE_TEXT(bytes));
    enum status exchanged = status_agree(comm, status);
    for (int64_t n = 0; exchanged == STATUS_OK && n < rounds; n++) {
        const struct raw_run run = raw_run_piece(&d->share, n, cells);
        char *piece = in_page(memory, place, run.begin);
        exchanged = raw_exchange(comm, shares, place, n, cells, d->values, room, piece);
        if (status == STATUS_OK && exchanged == STATUS_OK && run.end > run.begin) {
            status = write_run(d->file, place, &run, piece, d->sums);
        }
    }
    return exchanged != STATUS_OK ? exchanged : status;
}

/* Collective, agreed: the sum of `mine` over the ranks. */
static enum status add_up(MPI_Comm comm, const struct raw_place *place, const uint64_t *mine,
                          uint64_t *sums)
{
    return comm_check(MPI_Allreduce(mine, sums, (int)place->blocks, MPI_UINT64_T, MPI_SUM, comm),
                      "MPI_Allreduce");
}

static enum status sums_create(MPI_Comm comm, const struct raw_place *place, uint64_t **sums)
{
    *sums = calloc((size_t)place->blocks, sizeof **sums);
    return status_agree(
        comm, CHECK_MEMORY(*sums != NULL, "no memory for %" PRId64 " checksums", place->blocks));
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Where the cells from `first` to before `end` lie: of a dataset of bytes, in its file. */
static void locate(const struct raw_place *place, int64_t first, int64_t end, char text[160])
{
    const struct box all = box_of_cells(place->cells);
    int64_t from[AXIS_COUNT];
    int64_t to[AXIS_COUNT];
    if (place->value_bytes == 1) {
        snprintf(text, 160, "bytes %" PRIu64 " to %" PRIu64, place->offset + (uint64_t)first,
                 place->offset + (uint64_t)end - 1);
        return;
    }
    box_cell(&all, first, from);
    box_cell(&all, end - 1, to);
    snprintf(text, 160,
             "from [z][y][x] = [%" PRId64 "][%" PRId64 "][%" PRId64 "] to [%" PRId64 "][%" PRId64
             "][%" PRId64 "]",
             from[AXIS_Z], from[AXIS_Y], from[AXIS_X], to[AXIS_Z], to[AXIS_Y], to[AXIS_X]);
}

static enum status compare_sums(const char *path, const char *name, const struct raw_place *place,
                                const uint64_t *expected, const uint64_t *found)
{
    for (int64_t b = 0; b < place->blocks; b++) {
        if (found[b] != expected[b]) {
            char where[160];
            const int64_t cells = place->block_lines * place->line_cells;
            const int64_t total = raw_cells(place);
            locate(place, b * cells, (b + 1) * cells < total ? (b + 1) * cells : total, where);
            (void)fail(STATUS_FILE,
                       " not match its checksums: block %" PRId64 " of %" PRId64 " is damaged, %s",
                       b + 1, place->blocks, where);
            return name != NULL ? fail_prefix(STATUS_FILE, "%s of %s does", name, path)
                                : fail_prefix(STATUS_FILE, "its bytes do");
        }
    }
    return STATUS_OK;
}

/* Collective, agreed. `hash` may be NULL. */
static enum status add_hash(MPI_Comm comm, uint64_t mine, uint64_t *hash)
{
    return hash == NULL ? STATUS_OK
                        : comm_check(MPI_Allreduce(&mine, hash, 1, MPI_UINT64_T, MPI_SUM, comm),
                                     "MPI_Allreduce");
}

/* ---- all datasets of a file ----------------------------------------------------------------- */

/* Collective, agreed: STATUS_FILE unless each rank reads back the data that it has written. */
static enum status write_part(MPI_Comm comm, struct file_output *file,
                              const struct raw_place *place, const struct raw_part *part,
                              const struct box *box, enum raw_after after)
{
    SCOPED_BY(raw_shares_free) struct raw_shares shares = {0};
    SCOPED_FREE uint64_t *mine = NULL;
    SCOPED_FREE uint64_t *sums = NULL;
    SCOPED_FREE uint64_t *found = NULL;
    TRY(sums_create(comm, place, &mine));
    TRY(sums_create(comm, place, &sums));
    if (after == RAW_READ_BACK) {
        TRY(sums_create(comm, place, &found));
    }
    TRY(raw_shares_create(comm, place, box, &shares));
    struct divided d = {.place = place,
                        .share = shares.runs[shares.rank],
                        .file = file,
                        .values = part->values,
                        .sums = mine,
                        .fd = file->fd,
                        .path = file->path,
                        .found = found,
                        .is_hashed = part->hash != NULL};
    TRY(status_agree(comm, shares.own ? divide(&d, WRITE_BYTES, write_piece)
                                      : write_exchanged(comm, &shares, &d)));
    TRY(add_up(comm, place, mine, sums));
    TRY(status_agree(comm, shares.rank == 0 ? file_write_at(file->fd, file->path, sums,
                                                            (size_t)place->blocks * sizeof *sums,
                                                            place->sums_offset)
                                            : STATUS_OK));
    if (found == NULL) {
        return STATUS_OK;
    }
    TRY(status_agree(comm, shares.own ? STATUS_OK : divide(&d, PIECE_BYTES, read_piece)));
    TRY(status_agree(
        comm, fail_prefix(compare_sums(file->path, part->name, place, mine, found),
                          "what was read back differs from what was written; is the disk full or "
                          "failing? ")));
    return add_hash(comm, d.hash, part->hash);
}

enum status raw_fill(MPI_Comm comm, const char *path, struct raw_place *places,
                     const struct raw_part *parts, int nparts, const struct box *box,
                     enum raw_after after)
{
    struct file_output file;
    TRY_MPI(MPI_Bcast(places, nparts * (int)sizeof *places, MPI_BYTE, 0, comm));
    const bool direct = after == RAW_FORGET; /* else reading back would access the disk */
    enum status status = STATUS_OK;
    TRY_GOTO(status_agree(comm, file_output_open(path, direct, &file)));
    for (int n = 0; n < nparts; n++) {
        TRY_GOTO(write_part(comm, &file, &places[n], &parts[n], box, after));
    }
    if (after == RAW_FORGET) {
        TRY_GOTO(status_agree(comm, file_sync(file.fd, path)));
        file_forget(file.fd);
    }
done:;
    const enum status closed = file_output_close(&file);
    return status_agree(comm, status == STATUS_OK ? closed : status);
}

enum status raw_sum(MPI_Comm comm, const char *path, const struct raw_place *place, uint64_t *sums,
                    uint64_t *hash)
{
    SCOPED_FREE uint64_t *found = NULL;
    SCOPED_FD int fd = -1;
    TRY(sums_create(comm, place, &found));
    TRY(status_agree(comm, file_open(path, O_RDONLY, &fd)));
    struct divided d = {.place = place,
                        .share = raw_share_even(place, comm_rank(comm), comm_size(comm)),
                        .fd = fd,
                        .path = path,
                        .found = found,
                        .is_hashed = hash != NULL};
    TRY(status_agree(comm, divide(&d, PIECE_BYTES, read_piece)));
    TRY(add_up(comm, place, found, sums));
    return add_hash(comm, d.hash, hash);
}

enum status raw_check(MPI_Comm comm, const char *path, const char *name,
                      const struct raw_place *place, const uint64_t *sums, uint64_t *hash)
{
    SCOPED_FREE uint64_t *all = NULL;
    TRY(sums_create(comm, place, &all));
    TRY(raw_sum(comm, path, place, all, hash));
    return status_agree(comm, compare_sums(path, name, place, sums, all));
}
