#include "io/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "io/hdf5/h5.h"
#include "io/raw/h5_raw.h"

/* Size of one piece in memory, and so of one read. */
enum { PIECE_CELLS = 1 << 20 };

/* ---- the difference of two numbers ----------------------------------------------------------- */

/* Integers in the order of the numbers, without gaps. */
static int64_t order64(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t order32(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

/* Units in the last place; 0 and -0 are equal, and infinity follows the largest number. */
static double ulp_distance(enum precision precision, double x, double y)
{
    const bool wide = precision == PRECISION_FLOAT64;
    const int64_t first = wide ? order64(x) : order32((float)x);
    const int64_t second = wide ? order64(y) : order32((float)y);
    /* unsigned: the distance can exceed an int64_t */
    const uint64_t distance =
        first > second ? (uint64_t)first - (uint64_t)second : (uint64_t)second - (uint64_t)first;
    return (double)distance;
}

static void keep_larger(struct extreme *largest, struct extreme one)
{
    if (one.value > largest->value || (one.value == largest->value && one.state == largest->state &&
                                       one.index < largest->index)) {
        *largest = one;
    }
}

static void compare_cell(struct difference *d, enum precision narrower, double rtol, double atol,
                         int64_t index, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        const bool both = isnan(a) && isnan(b);
        d->both_nan += both;
        d->one_nan += !both;
        d->unequal += !both;
        d->beyond += !both;
        if (!both && (d->first_one_nan < 0 || index < d->first_one_nan)) {
            d->first_one_nan = index;
        }
        return;
    }
    const double larger = fmax(fabs(a), fabs(b));
    const double apart = a == b ? 0.0 : fabs(a - b); /* equal infinities are 0 apart */
    const double relative = apart == 0 ? 0.0 : isinf(larger) ? INFINITY : apart / larger;
    const double values[EXTREMES] = {apart, relative, ulp_distance(narrower, a, b)};
    for (int e = 0; e < EXTREMES; e++) {
        keep_larger(&d->largest[e], (struct extreme){values[e], index, a, b, 0});
    }
    d->unequal += apart != 0 ? 1 : 0;
    /* a tolerance relative to infinity would accept anything */
    const bool within = apart == 0 || (!isinf(apart) && apart <= atol + rtol * larger);
    d->beyond += within ? 0 : 1;
}

void difference_merge(struct difference *all, const struct difference *one)
{
    for (int e = 0; e < EXTREMES; e++) {
        keep_larger(&all->largest[e], one->largest[e]);
    }
    all->unequal += one->unequal;
    all->beyond += one->beyond;
    all->one_nan += one->one_nan;
    all->both_nan += one->both_nan;
    if (one->first_one_nan >= 0 &&
        (all->first_one_nan < 0 ||
         (one->nan_state == all->nan_state && one->first_one_nan < all->first_one_nan))) {
        all->first_one_nan = one->first_one_nan;
        all->nan_state = one->nan_state;
    }
}

struct difference difference_none(void)
{
    static const struct extreme none = {.value = -1, .index = INT64_MAX};
    return (struct difference){.largest = {none, none, none}, .first_one_nan = -1};
}

/* ---- all cells ------------------------------------------------------------------------------- */

/* One of the two files, open, and a piece of it in memory. */
struct reader {
    const struct frames *frames; /* borrowed, as is the path */
    const char *path;
    hid_t file, dataset;
    double *values;
};

static enum status reader_open(const struct frames *frames, int64_t n, size_t cells,
                               struct reader *reader)
{
    struct h5_place place;
    const struct frame *frame = &frames->frame[n];
    reader->frames = frames;
    reader->path = frame->path;
    reader->values = malloc(cells * sizeof *reader->values);
    TRY(CHECK_MEMORY(reader->values != NULL, "no memory to read %s", frame->path));
    TRY(h5_place_set(frame->path, frame->dataset, &place));
    return h5_open_place(&place, &reader->file, &reader->dataset);
}

static void readers_close(struct reader (*reader)[2])
{
    for (int r = 0; r < 2; r++) {
        h5_close((*reader)[r].file);
        free((*reader)[r].values);
    }
}

static enum status read_cells(const struct reader *reader, const struct box *box, double *values)
{
    /* HDF5 converts float32 to float64, exactly */
    return fail_prefix(h5_read_box(reader->dataset, box, PRECISION_FLOAT64, false, values),
                       "%s: ", reader->path);
}

/* Add up cells[nz][ny * my][nx * mx] of one layer of means[ny][nx], and divide. */
static void average(const double *cells, const int64_t merged[AXIS_COUNT], int64_t nx, int64_t ny,
                    double *means)
{
    const double count = (double)(merged[AXIS_X] * merged[AXIS_Y] * merged[AXIS_Z]);
    memset(means, 0, (size_t)(nx * ny) * sizeof *means);
    for (int64_t k = 0; k < merged[AXIS_Z]; k++) {
        for (int64_t j = 0; j < ny * merged[AXIS_Y]; j++) {
            double *row = means + j / merged[AXIS_Y] * nx;
            for (int64_t i = 0; i < nx * merged[AXIS_X]; i++) {
                row[i / merged[AXIS_X]] += *cells++;
            }
        }
    }
    for (int64_t n = 0; n < nx * ny; n++) {
        means[n] /= count;
    }
}

/* The cells of `box`, layer by layer where they are means. */
static enum status reader_read(struct reader *reader, const struct box *box)
{
    const int64_t *merged = reader->frames->merged;
    const int64_t volume = merged[AXIS_X] * merged[AXIS_Y] * merged[AXIS_Z];
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    struct box fine;
    if (volume == 1) {
        return read_cells(reader, box, reader->values);
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        fine.lo[axis] = box->lo[axis] * merged[axis];
        fine.hi[axis] = box->hi[axis] * merged[axis];
    }
    SCOPED_FREE double *cells = malloc(((size_t)(nx * ny * volume) + 1) * sizeof *cells);
    TRY(CHECK_MEMORY(cells != NULL, "no memory to read %s", reader->path));
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        fine.lo[AXIS_Z] = k * merged[AXIS_Z];
        fine.hi[AXIS_Z] = fine.lo[AXIS_Z] + merged[AXIS_Z];
        TRY(read_cells(reader, &fine, cells));
        average(cells, merged, nx, ny, reader->values + (k - box->lo[AXIS_Z]) * nx * ny);
    }
    return STATUS_OK;
}

enum status frames_read_box(const struct frames *frames, int64_t n, const struct box *box,
                            double *values)
{
    struct reader reader = {.file = H5I_INVALID_HID};
    enum status status = reader_open(frames, n, 1, &reader);
    free(reader.values);
    reader.values = values;
    status = status == STATUS_OK ? reader_read(&reader, box) : status;
    h5_close(reader.file);
    return status;
}

static void compare_piece(const struct frames *frames, const struct box *box,
                          enum precision narrower, const struct reader reader[2], double rtol,
                          double atol, struct difference *d)
{
    int64_t n = 0;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            const int64_t row = (k * frames->cells[AXIS_Y] + j) * frames->cells[AXIS_X];
            for (int64_t i = box->lo[AXIS_X]; i < box->hi[AXIS_X]; i++, n++) {
                compare_cell(d, narrower, rtol, atol, row + i, reader[0].values[n],
                             reader[1].values[n]);
            }
        }
    }
}

/* This rank's share: every n-th of the pieces. */
static enum status compare_share(const struct frames *const frames[2], const int64_t n[2], int rank,
                                 int nranks, double rtol, double atol, struct difference *d)
{
    const bool narrow = frames[0]->frame[n[0]].precision == PRECISION_FLOAT32 ||
                        frames[1]->frame[n[1]].precision == PRECISION_FLOAT32;
    const enum precision narrower = narrow ? PRECISION_FLOAT32 : PRECISION_FLOAT64;
    SCOPED_BY(readers_close)
    struct reader reader[2] = {{.file = H5I_INVALID_HID}, {.file = H5I_INVALID_HID}};
    const struct box all = box_of_cells(frames[0]->cells);
    const int64_t fair = box_cells(&all) / nranks + 1;
    const int64_t most = fair < PIECE_CELLS ? fair : PIECE_CELLS;
    const int64_t row = all.hi[AXIS_X];
    for (int f = 0; f < 2; f++) {
        TRY(reader_open(frames[f], n[f], (size_t)(most > row ? most : row), &reader[f]));
    }
    struct box piece = box_before(&all);
    for (int64_t p = 0; box_next(&all, most, &piece); p++) {
        if (p % nranks == rank) {
            TRY(reader_read(&reader[0], &piece));
            TRY(reader_read(&reader[1], &piece));
            compare_piece(frames[0], &piece, narrower, reader, rtol, atol, d);
        }
    }
    return STATUS_OK;
}

enum status frames_compare(MPI_Comm comm, const struct frames *a, int64_t na,
                           const struct frames *b, int64_t nb, double rtol, double atol,
                           struct difference *difference)
{
    const int nranks = comm_size(comm);
    const struct frames *const frames[2] = {a, b};
    const int64_t n[2] = {na, nb};
    struct difference mine = difference_none();
    for (int f = 0; f < 2; f++) {
        const struct frame *frame = &frames[f]->frame[n[f]];
        TRY(h5_raw_check(comm, frame->path, frame->dataset, NULL)); /* the data are intact */
    }
    TRY(status_agree(comm, compare_share(frames, n, comm_rank(comm), nranks, rtol, atol, &mine)));
    SCOPED_FREE struct difference *all = malloc((size_t)nranks * sizeof *all);
    TRY(status_agree(comm, CHECK_MEMORY(all != NULL, "out of memory")));
    TRY_MPI(
        MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, comm));
    *difference = difference_none();
    for (int r = 0; r < nranks; r++) {
        difference_merge(difference, &all[r]);
    }
    return STATUS_OK;
}
