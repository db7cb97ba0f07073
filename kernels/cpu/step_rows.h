/* The step kernel in one precision. Included by step_cpu.c once for each, and without include
 * guard for that reason, with
 *   REAL          the element type
 *   NAMED(name)   name with the precision appended */

/* Cells to a cache line, and to a vector. */
enum {
    NAMED(LINE) = STREAM_LINE_BYTES / sizeof(REAL),
    NAMED(PART) = STREAM_PART_BYTES / sizeof(REAL)
};
/* Cells of a boundary row taken at a time: their outside values stay in the first-level cache. */
enum { NAMED(CHUNK) = 4096 / sizeof(REAL) };

/* What all rows need to know, with the coefficients in the field's precision. */
struct NAMED(stencil) {
    const struct layout *layout;
    const bool *closed;
    struct tally *tally; /* one a face, this thread's own */
    REAL *out;
    const REAL *in;
    REAL r[AXIS_COUNT];
    REAL a[FACE_COUNT];
    REAL b[FACE_COUNT];
    /* outside = inside (insulated, or an axis that is not in use): the row can be its own
     * neighbour. fma(1, -0, 0) is +0 and not -0, which makes no difference to the update. */
    bool mirrored[FACE_COUNT];
};

/* The first cell of a range, its neighbours, and two rows to fetch ahead of use. */
struct NAMED(row) {
    const REAL *centre, *xm, *xp, *ym, *yp, *zm, *zp;
    const REAL *ahead, *beside;
};

static inline __attribute__((always_inline)) struct NAMED(row)
    NAMED(row_from)(const struct NAMED(row) * row, int64_t i)
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

/* `n` cells with ordinary stores; where n is a constant the compiler makes one vector of it. */
static inline __attribute__((always_inline)) void NAMED(cells)(const struct NAMED(stencil) * s,
                                                               const struct NAMED(row) * row,
                                                               REAL *restrict out, int64_t n)
{
    const struct NAMED(row) at = *row;
    const REAL rx = s->r[AXIS_X];
    const REAL ry = s->r[AXIS_Y];
    const REAL rz = s->r[AXIS_Z];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = NAMED(heat_cell)(at.centre[i], at.xm[i], at.xp[i], at.ym[i], at.yp[i], at.zm[i],
                                  at.zp[i], rx, ry, rz);
    }
}

/* `n` cells with ordinary stores, whose first (last) neighbour in x is `first_xm` (`last_xp`). */
static inline void NAMED(stored_cells)(const struct NAMED(stencil) * s,
                                       const struct NAMED(row) * row, REAL *out, int64_t n,
                                       REAL first_xm, REAL last_xp)
{
    if (n == 0) {
        return;
    }
    struct NAMED(row) at = *row;
    at.xm = &first_xm;
    at.xp = n == 1 ? &last_xp : row->xp;
    NAMED(cells)(s, &at, out, 1);
    if (n == 1) {
        return;
    }
    at = NAMED(row_from)(row, 1);
    NAMED(cells)(s, &at, out + 1, n - 2);
    at = NAMED(row_from)(row, n - 1);
    at.xp = &last_xp;
    NAMED(cells)(s, &at, out + n - 1, 1);
}

/* One vector of cells, streamed; `before` and `after` are the vectors beside it. */
static inline __attribute__((always_inline)) void NAMED(streamed_part)(
    const struct NAMED(stencil) * s, const struct NAMED(row) * row, REAL *out, int64_t i,
    struct stream_vector before, struct stream_vector here, struct stream_vector after)
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
    NAMED(cells)(s, &at, result, PART);
    stream_part(out + i, result);
}

/* `n` cells that are whole aligned lines, streamed, with the neighbours in x from registers. A
 * line at a time, and the last one apart: fewer instructions a cell, which count here. */
static inline __attribute__((always_inline)) void NAMED(streamed_cells)(
    const struct NAMED(stencil) * stencil, const struct NAMED(row) * row, REAL *out, int64_t n,
    REAL first_xm, REAL last_xp, enum stream_level level)
{
    enum { PART = NAMED(PART), LINE = NAMED(LINE) };
    _Static_assert(LINE == 2 * PART, "a line is two vectors");
    const struct NAMED(stencil) s = *stencil; /* copies: the stores might alias the originals, */
    const struct NAMED(row) first = *row;     /* which would then be loaded again and again */
    REAL edge[PART] = {[PART - 1] = first_xm};
    struct stream_vector before = stream_load(edge);
    struct stream_vector here = stream_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(level, first.ahead + i);
        stream_fetch(level, first.beside + i);
        const struct stream_vector second = stream_load(first.centre + i + PART);
        const struct stream_vector next = stream_load(first.centre + i + LINE);
        NAMED(streamed_part)(&s, &first, out, i, before, here, second);
        NAMED(streamed_part)(&s, &first, out, i + PART, here, second, next);
        before = second;
        here = next;
    }
    stream_fetch(level, first.ahead + i);
    stream_fetch(level, first.beside + i);
    edge[0] = last_xp;
    const struct stream_vector second = stream_load(first.centre + i + PART);
    NAMED(streamed_part)(&s, &first, out, i, before, here, second);
    NAMED(streamed_part)(&s, &first, out, i + PART, here, second, stream_load(edge));
}

/* Not inlined: the pointers of a row take all the registers that there are. */
static __attribute__((noinline)) void NAMED(lines)(const struct NAMED(stencil) * s,
                                                   const struct NAMED(row) * row, REAL *out,
                                                   int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(s, row, out, n, first_xm, last_xp, STREAM_NO_LEVEL);
}

static __attribute__((noinline)) void NAMED(lines_ahead)(const struct NAMED(stencil) * s,
                                                         const struct NAMED(row) * row, REAL *out,
                                                         int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(s, row, out, n, first_xm, last_xp, STREAM_FIRST_LEVEL);
}

static __attribute__((noinline)) void NAMED(lines_second)(const struct NAMED(stencil) * s,
                                                          const struct NAMED(row) * row, REAL *out,
                                                          int64_t n, REAL first_xm, REAL last_xp)
{
    NAMED(streamed_cells)(s, row, out, n, first_xm, last_xp, STREAM_SECOND_LEVEL);
}

#if STREAM_HAS_WIDE
/* A whole line of cells, streamed; `before` and `after` are the lines beside it. */
static inline __attribute__((always_inline)) void NAMED(streamed_line)(
    const struct NAMED(stencil) * s, const struct NAMED(row) * row, REAL *out, int64_t i,
    struct stream_line before, struct stream_line here, struct stream_line after)
{
    enum { LINE = NAMED(LINE), PART = NAMED(PART) };
    struct NAMED(row) at = NAMED(row_from)(row, i);
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
    NAMED(cells)(s, &at, result, LINE);
    stream_part(out + i, result);
    stream_part(out + i + PART, result + PART);
}

/* As lines_second, in vectors of a whole line. These come so fast that the plane above is fetched
 * on into the first level. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lines_wide)(const struct NAMED(stencil) *
                                                                        stencil,
                                                                    const struct NAMED(row) * row,
                                                                    REAL *out, int64_t n,
                                                                    REAL first_xm, REAL last_xp)
{
    enum { LINE = NAMED(LINE), NEAR = 1024 / sizeof(REAL) };
    const struct NAMED(stencil) s = *stencil;
    const struct NAMED(row) first = *row;
    struct stream_line before = NAMED(stream_line_of)(first_xm);
    struct stream_line here = stream_line_load(first.centre);
    int64_t i = 0;
    for (; i + LINE < n; i += LINE) {
        stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
        stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
        stream_fetch(STREAM_FIRST_LEVEL, first.zp + i + NEAR);
        const struct stream_line next = stream_line_load(first.centre + i + LINE);
        NAMED(streamed_line)(&s, &first, out, i, before, here, next);
        before = here;
        here = next;
    }
    stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
    stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
    NAMED(streamed_line)(&s, &first, out, i, before, here, NAMED(stream_line_of)(last_xp));
}
#endif

/* `n` cells, of which the first (last) lies on the closed face x_min (x_max) if at_min (at_max).
 * Streamed are the whole lines among them. */
static inline __attribute__((always_inline)) void NAMED(range)(const struct NAMED(stencil) * s,
                                                               const struct NAMED(row) * row,
                                                               REAL *out, int64_t n, bool at_min,
                                                               bool at_max,
                                                               struct schedule schedule)
{
    const REAL *c = row->centre;
    const REAL first_xm =
        at_min ? NAMED(heat_outside)(c[0], s->a[FACE_X_MIN], s->b[FACE_X_MIN]) : c[-1];
    const REAL last_xp =
        at_max ? NAMED(heat_outside)(c[n - 1], s->a[FACE_X_MAX], s->b[FACE_X_MAX]) : c[n];
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = schedule.stream && to_line < n ? to_line : n;
    const int64_t tail = (n - head) % NAMED(LINE);
    const int64_t lines = n - head - tail;
    if (head > 0) {
        NAMED(stored_cells)(s, row, out, head, first_xm, head == n ? last_xp : c[head]);
    }
    if (lines > 0) {
        const struct NAMED(row) at = NAMED(row_from)(row, head);
        const REAL xm = head == 0 ? first_xm : c[head - 1];
        const REAL xp = tail == 0 ? last_xp : c[n - tail];
        if (schedule.ahead_to == STREAM_FIRST_LEVEL) {
            NAMED(lines_ahead)(s, &at, out + head, lines, xm, xp);
#if STREAM_HAS_WIDE
        } else if (schedule.wide) {
            NAMED(lines_wide)(s, &at, out + head, lines, xm, xp);
#endif
        } else if (schedule.ahead_to == STREAM_SECOND_LEVEL) {
            NAMED(lines_second)(s, &at, out + head, lines, xm, xp);
        } else {
            NAMED(lines)(s, &at, out + head, lines, xm, xp);
        }
    }
    if (tail > 0) {
        const struct NAMED(row) at = NAMED(row_from)(row, n - tail);
        NAMED(stored_cells)(s, &at, out + n - tail, tail, tail == n ? first_xm : at.xm[0], last_xp);
    }
}

/* Point `neighbour` at the values beyond a closed face, computed into `beyond`. */
static inline void NAMED(close_face)(const struct NAMED(stencil) * s, enum face face,
                                     const REAL *centre, int64_t n, REAL *restrict beyond,
                                     const REAL **neighbour)
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
static __attribute__((noinline)) void NAMED(boundary_row)(const struct NAMED(stencil) * s,
                                                          const struct NAMED(row) * row,
                                                          const bool on[FACE_COUNT], REAL *out,
                                                          int64_t n, struct schedule schedule)
{
    REAL beyond[FACE_COUNT][NAMED(CHUNK)] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* chunks end where lines do, so that all but the ends of the row are streamed */
    const int64_t head = stream_cells_to_line(out, sizeof(REAL));
    int64_t end = head > 0 && head < n ? head : 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        if (begin > 0 || end == 0) {
            end = n - begin < NAMED(CHUNK) ? n : begin + NAMED(CHUNK);
        }
        struct NAMED(row) at = NAMED(row_from)(row, begin);
        const REAL **const neighbour[FACE_COUNT] = {[FACE_Y_MIN] = &at.ym,
                                                    [FACE_Y_MAX] = &at.yp,
                                                    [FACE_Z_MIN] = &at.zm,
                                                    [FACE_Z_MAX] = &at.zp};
        for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
            if (on[face] && !s->mirrored[face]) {
                NAMED(close_face)(s, face, at.centre, end - begin, beyond[face], neighbour[face]);
            }
        }
        const bool at_min = on[FACE_X_MIN] && begin == 0;
        const bool at_max = on[FACE_X_MAX] && end == n;
        NAMED(range)(s, &at, out + begin, end - begin, at_min, at_max, schedule);
    }
}

/* The inside cells of closed faces in row (j, k), for the heat ledger. */
static inline void NAMED(tally_row)(const struct NAMED(stencil) * s, const bool on[FACE_COUNT],
                                    const REAL *c, int64_t n)
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
static inline __attribute__((always_inline)) void NAMED(step_row)(const struct NAMED(stencil) * s,
                                                                  int64_t lo, int64_t hi, int64_t j,
                                                                  int64_t k, const REAL *ahead,
                                                                  const REAL *beside,
                                                                  struct schedule schedule)
{
    const struct layout *layout = s->layout;
    const int64_t *cells = layout->cells;
    const int64_t at = layout_index(layout, lo, j, k);
    const int64_t dy = layout->pitch_y;
    const int64_t dz = layout->pitch_z;
    const bool on[FACE_COUNT] = {
        s->closed[FACE_X_MIN] && lo == 0, s->closed[FACE_X_MAX] && hi == cells[AXIS_X],
        s->closed[FACE_Y_MIN] && j == 0,  s->closed[FACE_Y_MAX] && j == cells[AXIS_Y] - 1,
        s->closed[FACE_Z_MIN] && k == 0,  s->closed[FACE_Z_MAX] && k == cells[AXIS_Z] - 1,
    };
    const REAL *c = s->in + at;
    /* on a closed face the neighbouring row may lie outside the allocation: never point there */
    const struct NAMED(row) row = {
        .centre = c,
        .xm = c - 1,
        .xp = c + 1,
        .ym = on[FACE_Y_MIN] ? c : c - dy,
        .yp = on[FACE_Y_MAX] ? c : c + dy,
        .zm = on[FACE_Z_MIN] ? c : c - dz,
        .zp = on[FACE_Z_MAX] ? c : c + dz,
        .ahead = ahead,
        .beside = beside,
    };
    bool values_beyond = false;
    for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
        values_beyond = values_beyond || (on[face] && !s->mirrored[face]);
    }
    if (values_beyond) {
        NAMED(boundary_row)(s, &row, on, s->out + at, hi - lo, schedule);
    } else {
        NAMED(range)(s, &row, s->out + at, hi - lo, on[FACE_X_MIN], on[FACE_X_MAX], schedule);
    }
    NAMED(tally_row)(s, on, c, hi - lo);
}

/* Element of cell (i, j, k) where that row is in memory, else `otherwise`. */
static inline int64_t NAMED(element_or)(const struct layout *l, int64_t i, int64_t j, int64_t k,
                                        int64_t otherwise)
{
    const bool there = j >= -l->halo[AXIS_Y] && j < l->cells[AXIS_Y] + l->halo[AXIS_Y] &&
                       k >= -l->halo[AXIS_Z] && k < l->cells[AXIS_Z] + l->halo[AXIS_Z];
    return there ? layout_index(l, i, j, k) : otherwise;
}

/* One line of each page of the output row at `element`: streaming stores do not wait for memory,
 * but they do wait for the page's address. */
static inline void NAMED(fetch_pages)(const struct NAMED(stencil) * s, int64_t element, int64_t n)
{
    enum { PAGE = 4096 / sizeof(REAL) };
    for (int64_t i = 0; i < n; i += PAGE) {
        stream_fetch(STREAM_FIRST_LEVEL, s->out + element + i);
    }
}

/* What to fetch while row (j, k) of a tile is computed: of the rows that come in with the next
 * plane one a row, `distance` rows ahead, and the two beside the tile during its first and last
 * row. In a single plane the rows follow each other in memory. */
static inline __attribute__((always_inline)) void NAMED(aim_ahead)(
    const struct NAMED(stencil) * s, const struct box *tile, int64_t j, int64_t k, int64_t distance,
    struct schedule schedule, const REAL **ahead, const REAL **beside)
{
    const struct layout *l = s->layout;
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t j0 = tile->lo[AXIS_Y];
    const int64_t j1 = tile->hi[AXIS_Y];
    const int64_t n = tile->hi[AXIS_X] - lo;
    const int64_t here = layout_index(l, lo, j, k);
    if (box_extent(tile, AXIS_Z) == 1) {
        const int64_t step = l->pitch_y + schedule.ahead_bytes / (int64_t)sizeof(REAL);
        const int64_t next = here + step + n <= l->elements ? here + step : here;
        *ahead = s->in + next;
        *beside = *ahead;
        NAMED(fetch_pages)(s, next, n);
        return;
    }
    const bool wrap = j + distance >= j1;
    const int64_t j_next = j + distance - (wrap ? j1 - j0 : 0);
    const int64_t k_next = k + (wrap ? 1 : 0);
    const int64_t next = NAMED(element_or)(l, lo, j_next, k_next + 1, here);
    *ahead = s->in + next;
    *beside = *ahead;
    if (j == j0) {
        *beside = s->in + NAMED(element_or)(l, lo, j0 - 1, k + 1, next);
    } else if (j == j1 - 1) {
        *beside = s->in + NAMED(element_or)(l, lo, j1, k + 1, next);
    }
    /* the lines that hold the neighbours in x of the row's ends */
    if (lo > 0 || !s->closed[FACE_X_MIN]) {
        stream_fetch(schedule.ahead_to, *ahead - NAMED(LINE));
    }
    if (lo + n < l->cells[AXIS_X] || !s->closed[FACE_X_MAX]) {
        stream_fetch(schedule.ahead_to, *ahead + n);
    }
    NAMED(fetch_pages)(s, NAMED(element_or)(l, lo, j_next, k_next, here), n);
}

/* March a tile through z. */
static inline __attribute__((always_inline)) void NAMED(step_tile)(const struct NAMED(stencil) * s,
                                                                   const struct box *tile,
                                                                   struct schedule schedule)
{
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    const int64_t rows = box_extent(tile, AXIS_Y);
    const int64_t wish = (schedule.ahead_bytes / (int64_t)sizeof(REAL) + (hi - lo) / 2) / (hi - lo);
    const int64_t distance = wish < 1 ? 1 : (wish > rows ? rows : wish);
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
            const REAL *ahead = s->in + layout_index(s->layout, lo, j, k);
            const REAL *beside = ahead;
            if (schedule.ahead_to != STREAM_NO_LEVEL) {
                NAMED(aim_ahead)(s, tile, j, k, distance, schedule, &ahead, &beside);
            }
            NAMED(step_row)(s, lo, hi, j, k, ahead, beside, schedule);
        }
    }
}

/* A thread's piece of a box, tile by tile. */
static inline __attribute__((always_inline)) void NAMED(step_piece)(const struct NAMED(stencil) * s,
                                                                    const struct box *piece,
                                                                    struct schedule schedule)
{
    const struct tiling tiling = tiling_of(piece, sizeof(REAL), schedule);
    for (int64_t z = 0; z < tiling.nz; z++) {
        for (int64_t y = 0; y < tiling.ny; y++) {
            for (int64_t x = 0; x < tiling.nx; x++) {
                const struct box tile = tile_at(piece, &tiling, x, y, z);
                NAMED(step_tile)(s, &tile, schedule);
            }
        }
    }
}

static struct NAMED(stencil)
    NAMED(stencil_of)(const struct layout *layout, const struct step_args *args, void *out,
                      const void *in, struct tally *tally)
{
    struct NAMED(stencil)
        s = {.layout = layout, .closed = args->closed, .tally = tally, .out = out, .in = in};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.r[axis] = (REAL)args->r[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        s.a[face] = (REAL)args->a[face];
        s.b[face] = (REAL)args->b[face];
        s.mirrored[face] = s.a[face] == 1 && s.b[face] == 0;
    }
    return s;
}
