/* The planes and tiles of a step kernel. */

/* Element of cell (i, j, k) where that row is in memory, else `otherwise`. */
static inline int64_t element_or(const struct layout *l, int64_t i, int64_t j, int64_t k,
                                 int64_t otherwise)
{
    const bool there = j >= -l->halo[AXIS_Y] && j < l->cells[AXIS_Y] + l->halo[AXIS_Y] &&
                       k >= -l->halo[AXIS_Z] && k < l->cells[AXIS_Z] + l->halo[AXIS_Z];
    return there ? layout_index(l, i, j, k) : otherwise;
}

/* Prefetch one line of each page of the output row at `element`: streaming stores wait for the
 * page's address translation. */
static inline void fetch_pages(const struct stencil *s, int64_t element, int64_t n)
{
    enum { PAGE = 4096 / sizeof(REAL) };
    for (int64_t i = 0; i < n; i += PAGE) {
        stream_fetch(STREAM_FIRST_LEVEL, s->out + element + i);
    }
}

/* What to prefetch with row (j, k) of a tile: one row of the next plane, `distance` rows ahead, and
 * with the first and last row those next to the tile. A single plane is contiguous in memory. */
KERNEL_INLINE void aim_ahead(const struct stencil *s, const struct box *tile, int64_t j, int64_t k,
                             int64_t distance, struct schedule schedule, struct aim *aim)
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
        *aim = (struct aim){s->in + next, s->in + next, j + 1, k};
        if (schedule.touch_pages) {
            fetch_pages(s, next, n);
        }
        return;
    }
    const bool wrap = j + distance >= j1;
    const int64_t j_next = j + distance - (wrap ? j1 - j0 : 0);
    const int64_t k_next = k + (wrap ? 1 : 0);
    const int64_t next = element_or(l, lo, j_next, k_next + 1, here);
    *aim = (struct aim){s->in + next, s->in + next, j_next, k_next + 1};
    if (j == j0) {
        aim->beside = s->in + element_or(l, lo, j0 - 1, k + 1, next);
    } else if (j == j1 - 1) {
        aim->beside = s->in + element_or(l, lo, j1, k + 1, next);
    }
    /* the lines with the neighbours in x of the row's ends */
    if (lo > 0 || !s->closed[FACE_X_MIN]) {
        stream_fetch(schedule.ahead_to, aim->ahead - LINE);
    }
    if (lo + n < l->cells[AXIS_X] || !s->closed[FACE_X_MAX]) {
        stream_fetch(schedule.ahead_to, aim->ahead + n);
    }
    if (schedule.touch_pages) {
        fetch_pages(s, element_or(l, lo, j_next, k_next, here), n);
    }
}

#if STREAM_HAS_WIDE
/* As aim_ahead, for a block of planes. The rows next to the tile are left to the hardware. */
static inline const REAL *aim_block_ahead(const struct stencil *s, const struct box *tile,
                                          int64_t j, int64_t k, int64_t distance)
{
    const struct layout *l = s->layout;
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    const bool wrap = j + distance >= tile->hi[AXIS_Y];
    const int64_t j_next = j + distance - (wrap ? box_extent(tile, AXIS_Y) : 0);
    const int64_t k_next = k + (wrap ? STEP_PLANES : 0);
    const bool there = element_or(l, lo, j_next, k_next + STEP_PLANES, -1) >= 0;
    const REAL *ahead =
        s->in + (there ? layout_index(l, lo, j_next, k_next + 1) : layout_index(l, lo, j, k));
    for (int p = 0; p < STEP_PLANES; p++) { /* the neighbours in x of the rows' ends */
        if (lo > 0 || !s->closed[FACE_X_MIN]) {
            stream_fetch(STREAM_FIRST_LEVEL, ahead + p * l->pitch_z - LINE);
        }
        if (hi < l->cells[AXIS_X] || !s->closed[FACE_X_MAX]) {
            stream_fetch(STREAM_FIRST_LEVEL, ahead + p * l->pitch_z + hi - lo);
        }
    }
    return ahead;
}

/* STEP_PLANES planes of a tile. */
KERNEL_INLINE void step_planes(const struct stencil *s, const struct box *tile, int64_t k,
                               int64_t distance, struct schedule schedule)
{
    for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
        const REAL *ahead = aim_block_ahead(s, tile, j, k, distance);
        step_block(s, tile->lo[AXIS_X], tile->hi[AXIS_X], j, k, ahead, schedule);
    }
}
#endif

/* A plane of a tile. */
KERNEL_INLINE void step_plane(const struct stencil *s, const struct box *tile, int64_t k,
                              int64_t distance, struct schedule schedule)
{
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
        const REAL *here = s->in + layout_index(s->layout, lo, j, k);
        struct aim aim = {here, here, j, k};
        if (schedule.ahead_to != STREAM_NO_LEVEL) {
            aim_ahead(s, tile, j, k, distance, schedule, &aim);
        }
        step_row(s, lo, hi, j, k, &aim, schedule);
    }
}

/* March a tile through z. */
KERNEL_INLINE void step_tile(const struct stencil *s, const struct box *tile,
                             struct schedule schedule)
{
    const int64_t row = box_extent(tile, AXIS_X);
    const int64_t rows = box_extent(tile, AXIS_Y);
    const int64_t wish = (schedule.ahead_bytes / (int64_t)sizeof(REAL) + row / 2) / row;
    const int64_t distance = wish < 1 ? 1 : (wish > rows ? rows : wish);
    int64_t k = tile->lo[AXIS_Z];
#if STREAM_HAS_WIDE
    for (; schedule.planes && k + STEP_PLANES <= tile->hi[AXIS_Z]; k += STEP_PLANES) {
        step_planes(s, tile, k, distance, schedule);
    }
#endif
    for (; k < tile->hi[AXIS_Z]; k++) {
        step_plane(s, tile, k, distance, schedule);
    }
}
