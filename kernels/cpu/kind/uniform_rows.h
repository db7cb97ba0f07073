/* The rows of the uniform step kernel. */

#include "kernels/cpu/schedule/lines.h"

/* The whole lines of a range of cells. */
struct middle {
    int64_t begin, n;       /* cells */
    REAL first_xm, last_xp; /* the neighbours in x of the ends */
};

/* `n` cells with ordinary stores, whose first (last) neighbour in x is `first_xm` (`last_xp`).
 * corrects: as for `cells`. */
static inline void stored_cells(const struct cell_numbers *k, const struct row *row, REAL *out,
                                int64_t n, REAL first_xm, REAL last_xp, bool corrects)
{
    if (n == 0) {
        return;
    }
    struct row at = *row;
    at.xm = &first_xm;
    at.xp = n == 1 ? &last_xp : row->xp;
    cells(k, &at, out, 1, corrects);
    if (n == 1) {
        return;
    }
    at = row_from(row, 1);
    cells(k, &at, out + 1, n - 2, corrects);
    at = row_from(row, n - 1);
    at.xp = &last_xp;
    cells(k, &at, out + n - 1, 1, corrects);
}

/* `n` cells in complete aligned lines, streamed, with the neighbours in x from registers. The last
 * line is separate, for fewer instructions per cell. */
KERNEL_INLINE void streamed_cells(const struct cell_numbers *coefficients, const struct row *row,
                                  REAL *out, int64_t n, REAL first_xm, REAL last_xp,
                                  enum stream_level level)
{
    _Static_assert(LINE == 2 * PART, "a line is two vectors");
    const struct cell_numbers k = *coefficients; /* copies: stores may alias the originals, */
    const struct row first = *row;               /* which would be reloaded in every iteration */
    REAL edge[PART] = {[PART - 1] = first_xm};
    struct stream_vector before = stream_load(edge);
    struct stream_vector here = stream_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(level, first.ahead + i);
        stream_fetch(level, first.beside + i);
        const struct stream_vector second = stream_load(first.centre + i + PART);
        const struct stream_vector next = stream_load(first.centre + i + LINE);
        step_vector(&k, &first, out, i, before, here, second, STEP_STREAMED);
        step_vector(&k, &first, out, i + PART, here, second, next, STEP_STREAMED);
        before = second;
        here = next;
    }
    stream_fetch(level, first.ahead + i);
    stream_fetch(level, first.beside + i);
    edge[0] = last_xp;
    const struct stream_vector second = stream_load(first.centre + i + PART);
    step_vector(&k, &first, out, i, before, here, second, STEP_STREAMED);
    step_vector(&k, &first, out, i + PART, here, second, stream_load(edge), STEP_STREAMED);
}

/* Not inlined: the pointers of a row need all registers. */
static __attribute__((noinline)) void lines_ahead(const struct cell_numbers *k,
                                                  const struct row *row, REAL *out, int64_t n,
                                                  REAL first_xm, REAL last_xp)
{
    streamed_cells(k, row, out, n, first_xm, last_xp, STREAM_FIRST_LEVEL);
}

#if STREAM_HAS_WIDE
/* In vectors of a complete line, prefetching into the L2 cache, and the plane above into L1. */
static STREAM_WIDE __attribute__((noinline)) void lines_wide(
    const struct cell_numbers *coefficients, const struct row *row, REAL *out, int64_t n,
    REAL first_xm, REAL last_xp)
{
    enum { NEAR = 1024 / sizeof(REAL) };
    const struct cell_numbers k = *coefficients;
    const struct row first = *row;
    struct stream_line before = stream_line_of(first_xm);
    struct stream_line here = stream_line_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
        stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
        stream_fetch(STREAM_FIRST_LEVEL, first.zp + i + NEAR);
        const struct stream_line next = stream_line_load(first.centre + i + LINE);
        step_line(&k, row_from(&first, i), out + i, before, here, next, STEP_STREAMED);
        before = here;
        here = next;
    }
    stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
    stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
    step_line(&k, row_from(&first, i), out + i, before, here, stream_line_of(last_xp),
              STEP_STREAMED);
}

/* Line `i` of a row and of the same row in the next two planes: four of the six neighbours in z are
 * already in registers. Unrolled by hand: arrays indexed in a loop may leave the registers. */
KERNEL_INLINE void streamed_block(const struct cell_numbers *k, const struct row row[STEP_PLANES],
                                  REAL *const out[STEP_PLANES], int64_t i,
                                  const struct stream_line before[STEP_PLANES],
                                  const struct stream_line here[STEP_PLANES],
                                  const struct stream_line after[STEP_PLANES])
{
    _Static_assert(STEP_PLANES == 3, "written out for three");
    enum { NEAR = 512 / sizeof(REAL) };
    REAL cells[STEP_PLANES][LINE];
    struct row low = row_from(&row[0], i);
    struct row middle = row_from(&row[1], i);
    struct row high = row_from(&row[2], i);
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
    step_line(k, low, out[0] + i, before[0], here[0], after[0], STEP_STREAMED);
    step_line(k, middle, out[1] + i, before[1], here[1], after[1], STEP_STREAMED);
    step_line(k, high, out[2] + i, before[2], here[2], after[2], STEP_STREAMED);
}

/* As lines_wide, of three planes at once. */
static STREAM_WIDE __attribute__((noinline)) void lines_of_planes(
    const struct cell_numbers *coefficients, const struct row row[STEP_PLANES],
    REAL *const out[STEP_PLANES], const struct middle ends[STEP_PLANES])
{
    const struct cell_numbers k = *coefficients;
    const struct row first[STEP_PLANES] = {row[0], row[1], row[2]};
    REAL *const to[STEP_PLANES] = {out[0], out[1], out[2]};
    const int64_t n = ends[0].n;
    struct stream_line before[STEP_PLANES] = {stream_line_of(ends[0].first_xm),
                                              stream_line_of(ends[1].first_xm),
                                              stream_line_of(ends[2].first_xm)};
    struct stream_line here[STEP_PLANES] = {stream_line_load(first[0].centre),
                                            stream_line_load(first[1].centre),
                                            stream_line_load(first[2].centre)};
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        const struct stream_line next[STEP_PLANES] = {stream_line_load(first[0].centre + i + LINE),
                                                      stream_line_load(first[1].centre + i + LINE),
                                                      stream_line_load(first[2].centre + i + LINE)};
        streamed_block(&k, first, to, i, before, here, next);
        before[0] = here[0];
        before[1] = here[1];
        before[2] = here[2];
        here[0] = next[0];
        here[1] = next[1];
        here[2] = next[2];
    }
    const struct stream_line last[STEP_PLANES] = {stream_line_of(ends[0].last_xp),
                                                  stream_line_of(ends[1].last_xp),
                                                  stream_line_of(ends[2].last_xp)};
    streamed_block(&k, first, to, i, before, here, last);
}
#else
static __attribute__((noinline)) void lines_wide(const struct cell_numbers *k,
                                                 const struct row *row, REAL *out, int64_t n,
                                                 REAL first_xm, REAL last_xp)
{
    streamed_cells(k, row, out, n, first_xm, last_xp, STREAM_SECOND_LEVEL);
}
#endif

/* Store the cells before and after the complete lines of `n` cells, and return those lines, which
 * are streamed later. The first (last) cell lies on the closed face x_min (x_max) if at_min
 * (at_max). */
KERNEL_INLINE struct middle store_ends(const struct stencil *s, const struct row *row, REAL *out,
                                       int64_t n, bool at_min, bool at_max,
                                       struct schedule schedule)
{
    const REAL *c = row->centre;
    const REAL first_xm =
        at_min ? NAMED(heat_outside)(c[0], s->a[FACE_X_MIN], s->b[FACE_X_MIN]) : c[-1];
    const REAL last_xp =
        at_max ? NAMED(heat_outside)(c[n - 1], s->a[FACE_X_MAX], s->b[FACE_X_MAX]) : c[n];
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = schedule.stream && to_line < n ? to_line : n;
    const int64_t tail = (n - head) % LINE;
    if (head > 0) {
        stored_cells(&s->k, row, out, head, first_xm, head == n ? last_xp : c[head],
                     schedule.corrects);
    }
    if (tail > 0) {
        const struct row at = row_from(row, n - tail);
        stored_cells(&s->k, &at, out + n - tail, tail, tail == n ? first_xm : at.xm[0], last_xp,
                     schedule.corrects);
    }
    return (struct middle){.begin = head,
                           .n = n - head - tail,
                           .first_xm = head == 0 ? first_xm : c[head - 1],
                           .last_xp = tail == 0 ? last_xp : c[n - tail]};
}

/* `n` cells, see store_ends. */
KERNEL_INLINE void range(const struct stencil *s, const struct row *row, REAL *out, int64_t n,
                         bool at_min, bool at_max, struct schedule schedule)
{
    const struct middle m = store_ends(s, row, out, n, at_min, at_max, schedule);
    if (m.n == 0) {
        return;
    }
    const struct row at = row_from(row, m.begin);
    if (schedule.ahead_to == STREAM_FIRST_LEVEL) {
        lines_ahead(&s->k, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
    } else {
        lines_wide(&s->k, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
    }
}

/* Point `neighbour` at the values beyond a closed face, computed into `beyond`. */
static inline void close_face(const struct stencil *s, enum face face, const REAL *centre,
                              int64_t n, REAL *restrict beyond, const REAL **neighbour)
{
    const REAL a = s->a[face];
    const REAL b = s->b[face];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        beyond[i] = NAMED(heat_outside)(centre[i], a, b);
    }
    *neighbour = beyond;
}

/* A row that lies on closed y or z faces (`on`). */
static __attribute__((noinline)) void boundary_row(const struct stencil *s, const struct row *row,
                                                   const bool on[FACE_COUNT], REAL *out, int64_t n,
                                                   struct schedule schedule)
{
    REAL beyond[FACE_COUNT][CHUNK] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* chunks end at lines, so that all but the ends of the row are streamed */
    const int64_t head = stream_cells_to_line(out, sizeof(REAL));
    int64_t end = head > 0 && head < n ? head : 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        if (begin > 0 || end == 0) {
            end = n - begin < CHUNK ? n : begin + CHUNK;
        }
        struct row at = row_from(row, begin);
        const REAL **const neighbour[FACE_COUNT] = {[FACE_Y_MIN] = &at.ym,
                                                    [FACE_Y_MAX] = &at.yp,
                                                    [FACE_Z_MIN] = &at.zm,
                                                    [FACE_Z_MAX] = &at.zp};
        for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
            if (on[face] && !s->mirrored[face]) {
                close_face(s, face, at.centre, end - begin, beyond[face], neighbour[face]);
            }
        }
        const bool at_min = on[FACE_X_MIN] && begin == 0;
        const bool at_max = on[FACE_X_MAX] && end == n;
        range(s, &at, out + begin, end - begin, at_min, at_max, schedule);
    }
}

/* Sum the inside cells of closed faces, for the heat ledger. */
static inline void tally_row(const struct stencil *s, const bool on[FACE_COUNT], const REAL *c,
                             int64_t n)
{
    if (on[FACE_X_MIN] && s->tally[FACE_X_MIN].target != NULL) {
        tally_add_one(&s->tally[FACE_X_MIN], (double)c[0]);
    }
    if (on[FACE_X_MAX] && s->tally[FACE_X_MAX].target != NULL) {
        tally_add_one(&s->tally[FACE_X_MAX], (double)c[n - 1]);
    }
    for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
        if (on[face] && s->tally[face].target != NULL) {
            NAMED(tally_add)(&s->tally[face], c, n);
        }
    }
}

/* Cells [lo, hi) of row (j, k). */
KERNEL_INLINE void step_row(const struct stencil *s, int64_t lo, int64_t hi, int64_t j, int64_t k,
                            const struct aim *aim, struct schedule schedule)
{
    const int64_t at = layout_index(s->layout, lo, j, k);
    const struct where where = where_of(s, lo, hi, j, k);
    const bool *on = where.on;
    const struct row row = row_at(s, on, at, aim);
    if (where.values_beyond) {
        boundary_row(s, &row, on, s->out + at, hi - lo, schedule);
    } else {
        range(s, &row, s->out + at, hi - lo, on[FACE_X_MIN], on[FACE_X_MAX], schedule);
    }
    tally_row(s, on, row.centre, hi - lo);
}

#if STREAM_HAS_WIDE
/* Cells [lo, hi) of row j of STEP_PLANES planes from k on, prefetching from `ahead` on. */
KERNEL_INLINE void step_block(const struct stencil *s, int64_t lo, int64_t hi, int64_t j, int64_t k,
                              const REAL *ahead, struct schedule schedule)
{
    const int64_t dz = s->layout->pitch_z;
    struct where where[STEP_PLANES];
    bool values_beyond = false;
    for (int p = 0; p < STEP_PLANES; p++) {
        where[p] = where_of(s, lo, hi, j, k + p);
        values_beyond = values_beyond || where[p].values_beyond;
    }
    if (values_beyond) {
        for (int p = 0; p < STEP_PLANES; p++) {
            const struct aim aim = {ahead + p * dz, ahead + p * dz, j, k + p};
            step_row(s, lo, hi, j, k + p, &aim, schedule);
        }
        return;
    }
    struct row row[STEP_PLANES];
    REAL *out[STEP_PLANES];
    struct middle middle[STEP_PLANES];
    for (int p = 0; p < STEP_PLANES; p++) {
        const bool *on = where[p].on;
        const int64_t at = layout_index(s->layout, lo, j, k + p);
        const struct aim aim = {ahead + p * dz, ahead + p * dz, j, k + p};
        row[p] = row_at(s, on, at, &aim);
        out[p] = s->out + at;
        middle[p] =
            store_ends(s, &row[p], out[p], hi - lo, on[FACE_X_MIN], on[FACE_X_MAX], schedule);
        tally_row(s, on, row[p].centre, hi - lo);
        row[p] = row_from(&row[p], middle[p].begin);
        out[p] += middle[p].begin;
    }
    if (middle[0].n > 0) {
        lines_of_planes(&s->k, row, out, middle);
    }
}
#endif

static struct stencil stencil_of(const struct step_call *c, struct tally *tally, void *scratch)
{
    struct stencil s = {
        .layout = c->layout, .closed = c->args->closed, .tally = tally, .out = c->out, .in = c->in};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.k.r[axis] = (REAL)c->args->r[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        s.a[face] = (REAL)c->args->a[face];
        s.b[face] = (REAL)c->args->b[face];
        s.mirrored[face] = s.a[face] == 1 && s.b[face] == 0;
    }
    return s;
}

#include "kernels/cpu/schedule/tiles.h"
