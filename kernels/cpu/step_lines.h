/* The cells of a row for the step kernels, in one precision. Included by step_cpu.c and
 * step_medium.c once for each, and without include guard for that reason, with
 *   REAL                         the element type
 *   NAMED(name)                  name with the precision appended
 *   STEP_COEFFICIENTS(REAL)      members of struct NAMED(coefficients), of all cells of a range
 *   STEP_MEMBERS(REAL, NAMED)    more members of struct NAMED(stencil)
 *   CELL(row, i, k)              the update of a cell with the coefficients *k
 *   STEP_HAS_PLANES              whether step_block is defined, for several planes at once */

/* Cells per cache line and per vector. */
enum {
    NAMED(LINE) = STREAM_LINE_BYTES / sizeof(REAL),
    NAMED(PART) = STREAM_PART_BYTES / sizeof(REAL)
};
/* Cells of a boundary row per pass: their outside values stay in the L1 cache. */
enum { NAMED(CHUNK) = 4096 / sizeof(REAL) };

struct NAMED(coefficients) {
    STEP_COEFFICIENTS(REAL)
};

/* The first cell of a range, its neighbours, and two rows to prefetch. */
struct NAMED(row) {
    const REAL *centre, *xm, *xp, *ym, *yp, *zm, *zp;
    const REAL *ahead, *beside;
};

/* The whole lines of a range of cells. */
struct NAMED(middle) {
    int64_t begin, n;       /* cells */
    REAL first_xm, last_xp; /* the neighbours in x of the ends */
};

KERNEL_INLINE struct NAMED(row) NAMED(row_from)(const struct NAMED(row) * row, int64_t i)
{
    return (struct NAMED(row)){
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

/* `n` cells with ordinary stores; a constant n becomes one vector. */
KERNEL_INLINE void NAMED(cells)(const struct NAMED(coefficients) * coefficients,
                                const struct NAMED(row) * row, REAL *restrict out, int64_t n)
{
    const struct NAMED(row) at = *row;
    const struct NAMED(coefficients) k = *coefficients;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = CELL(at, i, k);
    }
}

/* `n` cells with ordinary stores, whose first (last) neighbour in x is `first_xm` (`last_xp`). */
static inline void NAMED(stored_cells)(const struct NAMED(coefficients) * k,
                                       const struct NAMED(row) * row, REAL *out, int64_t n,
                                       REAL first_xm, REAL last_xp)
{
    if (n == 0) {
        return;
    }
    struct NAMED(row) at = *row;
    at.xm = &first_xm;
    at.xp = n == 1 ? &last_xp : row->xp;
    NAMED(cells)(k, &at, out, 1);
    if (n == 1) {
        return;
    }
    at = NAMED(row_from)(row, 1);
    NAMED(cells)(k, &at, out + 1, n - 2);
    at = NAMED(row_from)(row, n - 1);
    at.xp = &last_xp;
    NAMED(cells)(k, &at, out + n - 1, 1);
}

/* One vector of cells, streamed; `before` and `after` are its neighbours. */
KERNEL_INLINE void NAMED(streamed_part)(const struct NAMED(coefficients) * k,
                                        const struct NAMED(row) * row, REAL *out, int64_t i,
                                        struct stream_vector before, struct stream_vector here,
                                        struct stream_vector after)
{
    enum { PART = NAMED(PART) };
    struct NAMED(row) at = NAMED(row_from)(row, i);
    REAL centre[PART]; /* the compiler keeps these in registers */
    REAL minus[PART];
    REAL plus[PART];
    REAL result[PART];
    memcpy(centre, &here, sizeof here);
    stream_minus(before, here, sizeof(REAL), minus);
    stream_plus(here, after, sizeof(REAL), plus);
    at.centre = centre;
    at.xm = minus;
    at.xp = plus;
    NAMED(cells)(k, &at, result, PART);
    stream_part(out + i, result);
}

/* `n` cells in complete aligned lines, streamed, with the neighbours in x from registers. The last
 * line is separate, for fewer instructions per cell. */
KERNEL_INLINE void NAMED(streamed_cells)(const struct NAMED(coefficients) * coefficients,
                                         const struct NAMED(row) * row, REAL *out, int64_t n,
                                         REAL first_xm, REAL last_xp, enum stream_level level)
{
    enum { PART = NAMED(PART), LINE = NAMED(LINE) };
    _Static_assert(LINE == 2 * PART, "a line is two vectors");
    const struct NAMED(coefficients) k =
        *coefficients;                    /* copies: stores may alias the originals, */
    const struct NAMED(row) first = *row; /* which would be reloaded in every iteration */
    REAL edge[PART] = {[PART - 1] = first_xm};
    struct stream_vector before = stream_load(edge);
    struct stream_vector here = stream_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(level, first.ahead + i);
        stream_fetch(level, first.beside + i);
        const struct stream_vector second = stream_load(first.centre + i + PART);
        const struct stream_vector next = stream_load(first.centre + i + LINE);
        NAMED(streamed_part)(&k, &first, out, i, before, here, second);
        NAMED(streamed_part)(&k, &first, out, i + PART, here, second, next);
        before = second;
        here = next;
    }
    stream_fetch(level, first.ahead + i);
    stream_fetch(level, first.beside + i);
    edge[0] = last_xp;
    const struct stream_vector second = stream_load(first.centre + i + PART);
    NAMED(streamed_part)(&k, &first, out, i, before, here, second);
    NAMED(streamed_part)(&k, &first, out, i + PART, here, second, stream_load(edge));
}

/* Not inlined: the pointers of a row need all registers. */
static __attribute__((noinline)) void NAMED(lines)(const struct NAMED(coefficients) * k,
                                                   const struct NAMED(row) * row, REAL *out,
                                                   int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(k, row, out, n, first_xm, last_xp, STREAM_NO_LEVEL);
}

static __attribute__((noinline)) void NAMED(lines_ahead)(const struct NAMED(coefficients) * k,
                                                         const struct NAMED(row) * row, REAL *out,
                                                         int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(k, row, out, n, first_xm, last_xp, STREAM_FIRST_LEVEL);
}

static __attribute__((noinline)) void NAMED(lines_second)(const struct NAMED(coefficients) * k,
                                                          const struct NAMED(row) * row, REAL *out,
                                                          int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(k, row, out, n, first_xm, last_xp, STREAM_SECOND_LEVEL);
}

#if STREAM_HAS_WIDE
/* A complete line of cells, streamed; `before` and `after` are its neighbours. */
KERNEL_INLINE void NAMED(streamed_line)(const struct NAMED(coefficients) * k, struct NAMED(row) at,
                                        REAL *out, struct stream_line before,
                                        struct stream_line here, struct stream_line after)
{
    enum { LINE = NAMED(LINE), PART = NAMED(PART) };
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
    NAMED(cells)(k, &at, result, LINE);
    stream_part(out, result);
    stream_part(out + PART, result + PART);
}

/* As lines_second, in vectors of a complete line, and prefetching the plane above into L1. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lines_wide)(
    const struct NAMED(coefficients) * coefficients, const struct NAMED(row) * row, REAL *out,
    int64_t n, REAL first_xm, REAL last_xp)
{
    enum { LINE = NAMED(LINE), NEAR = 1024 / sizeof(REAL) };
    const struct NAMED(coefficients) k = *coefficients;
    const struct NAMED(row) first = *row;
    struct stream_line before = NAMED(stream_line_of)(first_xm);
    struct stream_line here = stream_line_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
        stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
        stream_fetch(STREAM_FIRST_LEVEL, first.zp + i + NEAR);
        const struct stream_line next = stream_line_load(first.centre + i + LINE);
        NAMED(streamed_line)(&k, NAMED(row_from)(&first, i), out + i, before, here, next);
        before = here;
        here = next;
    }
    stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
    stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
    NAMED(streamed_line)
    (&k, NAMED(row_from)(&first, i), out + i, before, here, NAMED(stream_line_of)(last_xp));
}

#endif

#if STEP_HAS_PLANES
/* Line `i` of a row and of the same row in the next two planes: four of the six neighbours in z are
 * already in registers. Unrolled by hand: arrays indexed in a loop may leave the registers. */
KERNEL_INLINE void NAMED(streamed_block)(const struct NAMED(coefficients) * k,
                                         const struct NAMED(row) row[STEP_PLANES],
                                         REAL *const out[STEP_PLANES], int64_t i,
                                         const struct stream_line before[STEP_PLANES],
                                         const struct stream_line here[STEP_PLANES],
                                         const struct stream_line after[STEP_PLANES])
{
    _Static_assert(STEP_PLANES == 3, "written out for three");
    enum { NEAR = 512 / sizeof(REAL) };
    REAL cells[STEP_PLANES][NAMED(LINE)];
    struct NAMED(row) low = NAMED(row_from)(&row[0], i);
    struct NAMED(row) middle = NAMED(row_from)(&row[1], i);
    struct NAMED(row) high = NAMED(row_from)(&row[2], i);
    stream_line_store(here[0], cells[0]);
    stream_line_store(here[1], cells[1]);
    stream_line_store(here[2], cells[2]);
    low.zp = cells[1];
    middle.zm = cells[0];
    middle.zp = cells[2];
    high.zm = cells[1];
    stream_fetch(STREAM_FIRST_LEVEL, low.ahead);
    stream_fetch(STREAM_FIRST_LEVEL, middle.ahead);
    stream_fetch(STREAM_FIRST_LEVEL, high.ahead);
    stream_fetch(STREAM_FIRST_LEVEL, high.zp + NEAR); /* it may have been evicted */
    NAMED(streamed_line)(k, low, out[0] + i, before[0], here[0], after[0]);
    NAMED(streamed_line)(k, middle, out[1] + i, before[1], here[1], after[1]);
    NAMED(streamed_line)(k, high, out[2] + i, before[2], here[2], after[2]);
}

/* As lines_wide, of three planes at once. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lines_of_planes)(
    const struct NAMED(coefficients) * coefficients, const struct NAMED(row) row[STEP_PLANES],
    REAL *const out[STEP_PLANES], const struct NAMED(middle) ends[STEP_PLANES])
{
    enum { LINE = NAMED(LINE) };
    const struct NAMED(coefficients) k = *coefficients;
    const struct NAMED(row) first[STEP_PLANES] = {row[0], row[1], row[2]};
    REAL *const to[STEP_PLANES] = {out[0], out[1], out[2]};
    const int64_t n = ends[0].n;
    struct stream_line before[STEP_PLANES] = {NAMED(stream_line_of)(ends[0].first_xm),
                                              NAMED(stream_line_of)(ends[1].first_xm),
                                              NAMED(stream_line_of)(ends[2].first_xm)};
    struct stream_line here[STEP_PLANES] = {stream_line_load(first[0].centre),
                                            stream_line_load(first[1].centre),
                                            stream_line_load(first[2].centre)};
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        const struct stream_line next[STEP_PLANES] = {stream_line_load(first[0].centre + i + LINE),
                                                      stream_line_load(first[1].centre + i + LINE),
                                                      stream_line_load(first[2].centre + i + LINE)};
        NAMED(streamed_block)(&k, first, to, i, before, here, next);
        before[0] = here[0];
        before[1] = here[1];
        before[2] = here[2];
        here[0] = next[0];
        here[1] = next[1];
        here[2] = next[2];
    }
    const struct stream_line last[STEP_PLANES] = {NAMED(stream_line_of)(ends[0].last_xp),
                                                  NAMED(stream_line_of)(ends[1].last_xp),
                                                  NAMED(stream_line_of)(ends[2].last_xp)};
    NAMED(streamed_block)(&k, first, to, i, before, here, last);
}
#endif

/* `n` cells in complete aligned lines, as the schedule says. */
KERNEL_INLINE void NAMED(scheduled_lines)(const struct NAMED(coefficients) * k,
                                          const struct NAMED(row) * row, REAL *out, int64_t n,
                                          REAL first_xm, REAL last_xp, struct schedule schedule)
{
    if (schedule.ahead_to == STREAM_FIRST_LEVEL) {
        NAMED(lines_ahead)(k, row, out, n, first_xm, last_xp);
#if STREAM_HAS_WIDE
    } else if (schedule.wide) {
        NAMED(lines_wide)(k, row, out, n, first_xm, last_xp);
#endif
    } else if (schedule.ahead_to == STREAM_SECOND_LEVEL) {
        NAMED(lines_second)(k, row, out, n, first_xm, last_xp);
    } else {
        NAMED(lines)(k, row, out, n, first_xm, last_xp);
    }
}

/* Common to all rows. */
struct NAMED(stencil) {
    const struct layout *layout;
    const bool *closed;
    struct tally *tally; /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    /* outside = inside: the row is its own neighbour. fma(1, -0, 0) is +0 and not -0, which does
     * not change the update. */
    bool mirrored[FACE_COUNT];
    STEP_MEMBERS(REAL, NAMED)
};

/* The closed faces on which cells [lo, hi) of a row lie. */
struct NAMED(where) {
    bool on[FACE_COUNT];
    bool values_beyond; /* a face in y or z needs computed outside values */
};

KERNEL_INLINE struct NAMED(where)
    NAMED(where_of)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi, int64_t j, int64_t k)
{
    const int64_t *cells = s->layout->cells;
    struct NAMED(where) where = {.on = {
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
struct NAMED(aim) {
    const REAL *ahead, *beside;
    int64_t j, k;
};

/* The row at `element`. Beyond a closed face the neighbouring row may lie outside the allocation.
 */
KERNEL_INLINE struct NAMED(row)
    NAMED(row_at)(const struct NAMED(stencil) * s, const bool on[FACE_COUNT], int64_t element,
                  const struct NAMED(aim) * aim)
{
    const int64_t dy = s->layout->pitch_y;
    const int64_t dz = s->layout->pitch_z;
    const REAL *c = s->in + element;
    return (struct NAMED(row)){
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
