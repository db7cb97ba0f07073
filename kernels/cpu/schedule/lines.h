/* The cells of a row for the step kernels. The kind defines
 *   struct cell_numbers      the coefficients of all cells of a range
 *   STEP_MEMBERS             more members of struct stencil
 *   CELL(base, row, i, k)    the update of a cell with the numbers *k */

/* Cells per cache line and per vector. */
enum { LINE = STREAM_LINE_BYTES / sizeof(REAL), PART = STREAM_PART_BYTES / sizeof(REAL) };
/* Cells of a boundary row per pass: their outside values stay in the L1 cache. */
enum { CHUNK = 4096 / sizeof(REAL) };

/* The first cell of a range, its neighbours, and two rows to prefetch. */
struct row {
    const REAL *centre, *xm, *xp, *ym, *yp, *zm, *zp;
    const REAL *ahead, *beside;
};

KERNEL_INLINE struct row row_from(const struct row *row, int64_t i)
{
    return (struct row){
        .centre = row->centre + i,
        .xm = row->xm + i,
        .xp = row->xp + i,
        .ym = row->ym + i,
        .yp = row->yp + i,
        .zm = row->zm + i,
        .zp = row->zp + i,
        .ahead = row->ahead + i,
        .beside = row->beside + i,
    };
}

/* `n` cells with ordinary stores; a constant n becomes one vector. `corrects`: their sums begin
 * with what `out` holds. */
KERNEL_INLINE void cells(const struct cell_numbers *coefficients, const struct row *row,
                         REAL *restrict out, int64_t n, bool corrects)
{
    const struct row at = *row;
    const struct cell_numbers k = *coefficients;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = CELL(corrects ? out[i] : at.centre[i], at, i, k);
    }
}

/* One vector of cells; `before` and `after` are its neighbours. */
KERNEL_INLINE void step_vector(const struct cell_numbers *k, const struct row *row, REAL *out,
                               int64_t i, struct stream_vector before, struct stream_vector here,
                               struct stream_vector after, enum step_writing writing)
{
    struct row at = row_from(row, i);
    REAL centre[PART]; /* the compiler keeps these in registers */
    REAL minus[PART];
    REAL plus[PART];
    REAL result[PART];
    stream_store(here, centre);
    stream_minus(before, here, sizeof(REAL), minus);
    stream_plus(here, after, sizeof(REAL), plus);
    at.centre = centre;
    at.xm = minus;
    at.xp = plus;
    if (writing == STEP_CORRECTED) {
        memcpy(result, out + i, sizeof result);
    }
    cells(k, &at, result, PART, writing == STEP_CORRECTED);
    stream_or_store_part(writing == STEP_STREAMED, out + i, result);
}

#if STREAM_HAS_WIDE
/* The same of a complete line of cells. */
KERNEL_INLINE void step_line(const struct cell_numbers *k, struct row at, REAL *out,
                             struct stream_line before, struct stream_line here,
                             struct stream_line after, enum step_writing writing)
{
    REAL centre[LINE]; /* the compiler keeps these in registers */
    REAL minus[LINE];
    REAL plus[LINE];
    REAL result[LINE];
    stream_line_store(here, centre);
    stream_line_minus(before, here, sizeof(REAL), minus);
    stream_line_plus(here, after, sizeof(REAL), plus);
    at.centre = centre;
    at.xm = minus;
    at.xp = plus;
    if (writing == STEP_CORRECTED) {
        memcpy(result, out, sizeof result);
    }
    cells(k, &at, result, LINE, writing == STEP_CORRECTED);
    stream_or_store_part(writing == STEP_STREAMED, out, result);
    stream_or_store_part(writing == STEP_STREAMED, out + PART, result + PART);
}

#endif

/* Common to all rows. */
struct stencil {
    const struct layout *layout;
    const bool *closed;
    struct tally *tally; /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    /* outside = inside: the row is its own neighbour. fma(1, -0, 0) is +0 and not -0, which does
     * not change the update. */
    bool mirrored[FACE_COUNT];
    STEP_MEMBERS
};

/* The closed faces on which cells [lo, hi) of a row lie. */
struct where {
    bool on[FACE_COUNT];
    bool values_beyond; /* a face in y or z needs computed outside values */
};

KERNEL_INLINE struct where where_of(const struct stencil *s, int64_t lo, int64_t hi, int64_t j,
                                    int64_t k)
{
    const int64_t *cells = s->layout->cells;
    struct where where = {.on = {
                              s->closed[FACE_X_MIN] && lo == 0,
                              s->closed[FACE_X_MAX] && hi == cells[AXIS_X],
                              s->closed[FACE_Y_MIN] && j == 0,
                              s->closed[FACE_Y_MAX] && j == cells[AXIS_Y] - 1,
                              s->closed[FACE_Z_MIN] && k == 0,
                              s->closed[FACE_Z_MAX] && k == cells[AXIS_Z] - 1,
                          }};
    for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
        where.values_beyond = where.values_beyond || (where.on[face] && !s->mirrored[face]);
    }
    return where;
}

/* What to prefetch with a row: two rows, and the indices of the first. */
struct aim {
    const REAL *ahead, *beside;
    int64_t j, k;
};

/* The row at `element`. Beyond a closed face the neighbouring row may lie outside the allocation.
 */
KERNEL_INLINE struct row row_at(const struct stencil *s, const bool on[FACE_COUNT], int64_t element,
                                const struct aim *aim)
{
    const int64_t dy = s->layout->pitch_y;
    const int64_t dz = s->layout->pitch_z;
    const REAL *c = s->in + element;
    return (struct row){
        .centre = c,
        .xm = c - 1,
        .xp = c + 1,
        .ym = on[FACE_Y_MIN] ? c : c - dy,
        .yp = on[FACE_Y_MAX] ? c : c + dy,
        .zm = on[FACE_Z_MIN] ? c : c - dz,
        .zp = on[FACE_Z_MAX] ? c : c + dz,
        .ahead = aim->ahead,
        .beside = aim->beside,
    };
}
