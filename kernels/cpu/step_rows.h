/* The rows, planes and tiles of the step kernel in one precision. Included after step_lines.h, in
 * the same way. */

/* Store the cells before and after the complete lines of `n` cells, and return those lines, which
 * are streamed later. The first (last) cell lies on the closed face x_min (x_max) if at_min
 * (at_max). */
KERNEL_INLINE struct NAMED(middle)
    NAMED(store_ends)(const struct NAMED(stencil) * s, const struct NAMED(row) * row, REAL *out,
                      int64_t n, bool at_min, bool at_max, bool stream)
{
    const REAL *c = row->centre;
    const REAL first_xm =
        at_min ? NAMED(heat_outside)(c[0], s->a[FACE_X_MIN], s->b[FACE_X_MIN]) : c[-1];
    const REAL last_xp =
        at_max ? NAMED(heat_outside)(c[n - 1], s->a[FACE_X_MAX], s->b[FACE_X_MAX]) : c[n];
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = stream && to_line < n ? to_line : n;
    const int64_t tail = (n - head) % NAMED(LINE);
    if (head > 0) {
        NAMED(stored_cells)(s, row, out, head, first_xm, head == n ? last_xp : c[head]);
    }
    if (tail > 0) {
        const struct NAMED(row) at = NAMED(row_from)(row, n - tail);
        NAMED(stored_cells)(s, &at, out + n - tail, tail, tail == n ? first_xm : at.xm[0], last_xp);
    }
    return (struct NAMED(middle)){.begin = head,
                                  .n = n - head - tail,
                                  .first_xm = head == 0 ? first_xm : c[head - 1],
                                  .last_xp = tail == 0 ? last_xp : c[n - tail]};
}

/* `n` cells, see store_ends. */
KERNEL_INLINE void NAMED(range)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                REAL *out, int64_t n, bool at_min, bool at_max,
                                struct schedule schedule)
{
    const struct NAMED(middle) m =
        NAMED(store_ends)(s, row, out, n, at_min, at_max, schedule.stream);
    if (m.n == 0) {
        return;
    }
    const struct NAMED(row) at = NAMED(row_from)(row, m.begin);
    if (schedule.ahead_to == STREAM_FIRST_LEVEL) {
        NAMED(lines_ahead)(s, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
#if STREAM_HAS_WIDE
    } else if (schedule.wide) {
        NAMED(lines_wide)(s, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
#endif
    } else if (schedule.ahead_to == STREAM_SECOND_LEVEL) {
        NAMED(lines_second)(s, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
    } else {
        NAMED(lines)(s, &at, out + m.begin, m.n, m.first_xm, m.last_xp);
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
    /* chunks end at lines, so that all but the ends of the row are streamed */
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

/* Sum the inside cells of closed faces, for the heat ledger. */
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

/* The row at `element`. Beyond a closed face the neighbouring row may lie outside the allocation.
 */
KERNEL_INLINE struct NAMED(row)
    NAMED(row_at)(const struct NAMED(stencil) * s, const bool on[FACE_COUNT], int64_t element,
                  const REAL *ahead, const REAL *beside)
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
        .ahead = ahead,
        .beside = beside,
    };
}

/* Cells [lo, hi) of row (j, k). */
KERNEL_INLINE void NAMED(step_row)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                   int64_t j, int64_t k, const REAL *ahead, const REAL *beside,
                                   struct schedule schedule)
{
    const int64_t at = layout_index(s->layout, lo, j, k);
    const struct NAMED(where) where = NAMED(where_of)(s, lo, hi, j, k);
    const bool *on = where.on;
    const struct NAMED(row) row = NAMED(row_at)(s, on, at, ahead, beside);
    if (where.values_beyond) {
        NAMED(boundary_row)(s, &row, on, s->out + at, hi - lo, schedule);
    } else {
        NAMED(range)(s, &row, s->out + at, hi - lo, on[FACE_X_MIN], on[FACE_X_MAX], schedule);
    }
    NAMED(tally_row)(s, on, row.centre, hi - lo);
}

#if STREAM_HAS_WIDE
/* Cells [lo, hi) of row j of STEP_PLANES planes from k on, prefetching from `ahead` on. */
KERNEL_INLINE void NAMED(step_block)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                     int64_t j, int64_t k, const REAL *ahead,
                                     struct schedule schedule)
{
    const int64_t dz = s->layout->pitch_z;
    struct NAMED(where) where[STEP_PLANES];
    bool values_beyond = false;
    for (int p = 0; p < STEP_PLANES; p++) {
        where[p] = NAMED(where_of)(s, lo, hi, j, k + p);
        values_beyond = values_beyond || where[p].values_beyond;
    }
    if (values_beyond) {
        for (int p = 0; p < STEP_PLANES; p++) {
            NAMED(step_row)(s, lo, hi, j, k + p, ahead + p * dz, ahead + p * dz, schedule);
        }
        return;
    }
    struct NAMED(row) row[STEP_PLANES];
    REAL *out[STEP_PLANES];
    struct NAMED(middle) middle[STEP_PLANES];
    for (int p = 0; p < STEP_PLANES; p++) {
        const bool *on = where[p].on;
        const int64_t at = layout_index(s->layout, lo, j, k + p);
        row[p] = NAMED(row_at)(s, on, at, ahead + p * dz, ahead + p * dz);
        out[p] = s->out + at;
        middle[p] = NAMED(store_ends)(s, &row[p], out[p], hi - lo, on[FACE_X_MIN], on[FACE_X_MAX],
                                      schedule.stream);
        NAMED(tally_row)(s, on, row[p].centre, hi - lo);
        row[p] = NAMED(row_from)(&row[p], middle[p].begin);
        out[p] += middle[p].begin;
    }
    if (middle[0].n > 0) {
        NAMED(lines_of_planes)(s, row, out, middle);
    }
}
#endif

/* Element of cell (i, j, k) where that row is in memory, else `otherwise`. */
static inline int64_t NAMED(element_or)(const struct layout *l, int64_t i, int64_t j, int64_t k,
                                        int64_t otherwise)
{
    const bool there = j >= -l->halo[AXIS_Y] && j < l->cells[AXIS_Y] + l->halo[AXIS_Y] &&
                       k >= -l->halo[AXIS_Z] && k < l->cells[AXIS_Z] + l->halo[AXIS_Z];
    return there ? layout_index(l, i, j, k) : otherwise;
}

/* Prefetch one line of each page of the output row at `element`: streaming stores wait for the
 * page's address translation. */
static inline void NAMED(fetch_pages)(const struct NAMED(stencil) * s, int64_t element, int64_t n)
{
    enum { PAGE = 4096 / sizeof(REAL) };
    for (int64_t i = 0; i < n; i += PAGE) {
        stream_fetch(STREAM_FIRST_LEVEL, s->out + element + i);
    }
}

/* What to prefetch with row (j, k) of a tile: one row of the next plane, `distance` rows ahead, and
 * with the first and last row those next to the tile. A single plane is contiguous in memory. */
KERNEL_INLINE void NAMED(aim_ahead)(const struct NAMED(stencil) * s, const struct box *tile,
                                    int64_t j, int64_t k, int64_t distance,
                                    struct schedule schedule, const REAL **ahead,
                                    const REAL **beside)
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
        if (schedule.touch_pages) {
            NAMED(fetch_pages)(s, next, n);
        }
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
    /* the lines with the neighbours in x of the row's ends */
    if (lo > 0 || !s->closed[FACE_X_MIN]) {
        stream_fetch(schedule.ahead_to, *ahead - NAMED(LINE));
    }
    if (lo + n < l->cells[AXIS_X] || !s->closed[FACE_X_MAX]) {
        stream_fetch(schedule.ahead_to, *ahead + n);
    }
    if (schedule.touch_pages) {
        NAMED(fetch_pages)(s, NAMED(element_or)(l, lo, j_next, k_next, here), n);
    }
}

#if STREAM_HAS_WIDE
/* As aim_ahead, for a block of planes. The rows next to the tile are left to the hardware. */
static inline const REAL *NAMED(aim_block_ahead)(const struct NAMED(stencil) * s,
                                                 const struct box *tile, int64_t j, int64_t k,
                                                 int64_t distance)
{
    const struct layout *l = s->layout;
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    const bool wrap = j + distance >= tile->hi[AXIS_Y];
    const int64_t j_next = j + distance - (wrap ? box_extent(tile, AXIS_Y) : 0);
    const int64_t k_next = k + (wrap ? STEP_PLANES : 0);
    const bool there = NAMED(element_or)(l, lo, j_next, k_next + STEP_PLANES, -1) >= 0;
    const REAL *ahead =
        s->in + (there ? layout_index(l, lo, j_next, k_next + 1) : layout_index(l, lo, j, k));
    for (int p = 0; p < STEP_PLANES; p++) { /* the neighbours in x of the rows' ends */
        if (lo > 0 || !s->closed[FACE_X_MIN]) {
            stream_fetch(STREAM_FIRST_LEVEL, ahead + p * l->pitch_z - NAMED(LINE));
        }
        if (hi < l->cells[AXIS_X] || !s->closed[FACE_X_MAX]) {
            stream_fetch(STREAM_FIRST_LEVEL, ahead + p * l->pitch_z + hi - lo);
        }
    }
    return ahead;
}

/* STEP_PLANES planes of a tile. */
KERNEL_INLINE void NAMED(step_planes)(const struct NAMED(stencil) * s, const struct box *tile,
                                      int64_t k, int64_t distance, struct schedule schedule)
{
    for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
        const REAL *ahead = NAMED(aim_block_ahead)(s, tile, j, k, distance);
        NAMED(step_block)(s, tile->lo[AXIS_X], tile->hi[AXIS_X], j, k, ahead, schedule);
    }
}
#endif

/* A plane of a tile. */
KERNEL_INLINE void NAMED(step_plane)(const struct NAMED(stencil) * s, const struct box *tile,
                                     int64_t k, int64_t distance, struct schedule schedule)
{
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
        const REAL *ahead = s->in + layout_index(s->layout, lo, j, k);
        const REAL *beside = ahead;
        if (schedule.ahead_to != STREAM_NO_LEVEL) {
            NAMED(aim_ahead)(s, tile, j, k, distance, schedule, &ahead, &beside);
        }
        NAMED(step_row)(s, lo, hi, j, k, ahead, beside, schedule);
    }
}

/* March a tile through z. */
KERNEL_INLINE void NAMED(step_tile)(const struct NAMED(stencil) * s, const struct box *tile,
                                    struct schedule schedule)
{
    const int64_t row = box_extent(tile, AXIS_X);
    const int64_t rows = box_extent(tile, AXIS_Y);
    const int64_t wish = (schedule.ahead_bytes / (int64_t)sizeof(REAL) + row / 2) / row;
    const int64_t distance = wish < 1 ? 1 : (wish > rows ? rows : wish);
    int64_t k = tile->lo[AXIS_Z];
#if STREAM_HAS_WIDE
    for (; schedule.planes && k + STEP_PLANES <= tile->hi[AXIS_Z]; k += STEP_PLANES) {
        NAMED(step_planes)(s, tile, k, distance, schedule);
    }
#endif
    for (; k < tile->hi[AXIS_Z]; k++) {
        NAMED(step_plane)(s, tile, k, distance, schedule);
    }
}

/* A thread's piece of a box, tile by tile. */
KERNEL_INLINE void NAMED(step_piece)(const struct NAMED(stencil) * s, const struct box *piece,
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
