/* The step kernel in one precision. Included by step_cpu.c once for each, and without include
 * guard for that reason, with
 *   REAL          the element type
 *   NAMED(name)   name with the precision appended */

/* Cells to a cache line. */
enum { NAMED(LANES) = STREAM_LINE_BYTES / sizeof(REAL) };
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
};

/* The first cell of a range and its neighbours in y and z; in x they are centre[-1], centre[1]. */
struct NAMED(row) {
    const REAL *centre, *ym, *yp, *zm, *zp;
};

static inline __attribute__((always_inline)) struct NAMED(row)
    NAMED(row_from)(const struct NAMED(row) * row, int64_t i)
{
    return (struct NAMED(row)){row->centre + i, row->ym + i, row->yp + i, row->zm + i, row->zp + i};
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
        out[i] = NAMED(heat_cell)(at.centre[i], at.centre[i - 1], at.centre[i + 1], at.ym[i],
                                  at.yp[i], at.zm[i], at.zp[i], rx, ry, rz);
    }
}

/* One whole aligned line, streamed. */
static inline __attribute__((always_inline)) void NAMED(line)(const struct NAMED(stencil) * s,
                                                              const struct NAMED(row) * row,
                                                              REAL *out)
{
    REAL line[NAMED(LANES)]; /* stays in a register */
    NAMED(cells)(s, row, line, NAMED(LANES));
    stream_line(out, line);
}

/* `n` cells away from closed x faces. */
static inline __attribute__((always_inline)) void NAMED(open_cells)(const struct NAMED(stencil) * s,
                                                                    const struct NAMED(row) * row,
                                                                    REAL *out, int64_t n,
                                                                    bool stream)
{
    int64_t i = 0;
    struct NAMED(row) at = *row;
    if (stream) {
        const int64_t head = stream_cells_to_line(out, sizeof(REAL));
        i = head < n ? head : n;
        NAMED(cells)(s, &at, out, i);
        for (; i + NAMED(LANES) <= n; i += NAMED(LANES)) {
            at = NAMED(row_from)(row, i);
            NAMED(line)(s, &at, out + i);
        }
        at = NAMED(row_from)(row, i);
    }
    NAMED(cells)(s, &at, out + i, n - i);
}

/* At most one line of cells at a closed x face: the neighbours in x come from a copy with the
 * value beyond the face filled in. */
static inline void NAMED(edge_cells)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                     REAL *out, int64_t n, bool at_min, bool at_max, bool stream)
{
    REAL padded[NAMED(LANES) + 2];
    memcpy(padded + 1, row->centre, (size_t)n * sizeof(REAL));
    padded[0] = at_min ? NAMED(heat_outside)(padded[1], s->a[FACE_X_MIN], s->b[FACE_X_MIN])
                       : row->centre[-1];
    padded[n + 1] = at_max ? NAMED(heat_outside)(padded[n], s->a[FACE_X_MAX], s->b[FACE_X_MAX])
                           : row->centre[n];
    struct NAMED(row) at = *row;
    at.centre = padded + 1;
    if (stream && n == NAMED(LANES) && stream_cells_to_line(out, sizeof(REAL)) == 0) {
        NAMED(line)(s, &at, out);
    } else {
        NAMED(cells)(s, &at, out, n);
    }
}

/* `n` cells, of which the first (last) lies on the closed face x_min (x_max) if at_min (at_max). */
static inline __attribute__((always_inline)) void NAMED(range)(const struct NAMED(stencil) * s,
                                                               const struct NAMED(row) * row,
                                                               REAL *out, int64_t n, bool at_min,
                                                               bool at_max, bool stream)
{
    int64_t begin = 0;
    int64_t end = n;
    if (at_min) {
        begin = n < NAMED(LANES) ? n : NAMED(LANES);
        NAMED(edge_cells)(s, row, out, begin, true, at_max && begin == n, stream);
    }
    if (at_max && begin < n) {
        const int64_t after = stream_cells_to_line(out + n, sizeof(REAL));
        end = n - (NAMED(LANES) - after);
        end = end > begin ? end : begin;
        const struct NAMED(row) last = NAMED(row_from)(row, end);
        NAMED(edge_cells)(s, &last, out + end, n - end, false, true, stream);
    }
    const struct NAMED(row) open = NAMED(row_from)(row, begin);
    NAMED(open_cells)(s, &open, out + begin, end - begin, stream);
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
                                                          int64_t n, bool stream)
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
            if (on[face]) {
                NAMED(close_face)(s, face, at.centre, end - begin, beyond[face], neighbour[face]);
            }
        }
        NAMED(range)
        (s, &at, out + begin, end - begin, on[FACE_X_MIN] && begin == 0, on[FACE_X_MAX] && end == n,
         stream);
    }
}

/* Cells [lo, hi) of row (j, k). */
static inline __attribute__((always_inline)) void NAMED(step_row)(const struct NAMED(stencil) * s,
                                                                  int64_t lo, int64_t hi, int64_t j,
                                                                  int64_t k, bool stream)
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
    /* on a closed face the neighbouring row may lie outside the allocation */
    const struct NAMED(row) row = {
        .centre = c,
        .ym = on[FACE_Y_MIN] ? c : c - dy,
        .yp = on[FACE_Y_MAX] ? c : c + dy,
        .zm = on[FACE_Z_MIN] ? c : c - dz,
        .zp = on[FACE_Z_MAX] ? c : c + dz,
    };
    if (on[FACE_Y_MIN] || on[FACE_Y_MAX] || on[FACE_Z_MIN] || on[FACE_Z_MAX]) {
        NAMED(boundary_row)(s, &row, on, s->out + at, hi - lo, stream);
    } else {
        NAMED(range)(s, &row, s->out + at, hi - lo, on[FACE_X_MIN], on[FACE_X_MAX], stream);
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        if (on[face] && s->tally[face].target != NULL) {
            const int64_t n = face_axis(face) == AXIS_X ? 1 : hi - lo;
            NAMED(tally_add)(&s->tally[face], face == FACE_X_MAX ? c + (hi - lo) - 1 : c, n);
        }
    }
}

/* A thread's piece of a box: blocks of y_block rows, each marched through z, so that the three
 * planes of a block stay in the cache of the core. */
static inline __attribute__((always_inline)) void NAMED(step_piece)(const struct NAMED(stencil) * s,
                                                                    const struct box *piece,
                                                                    int64_t y_block, bool stream)
{
    for (int64_t j0 = piece->lo[AXIS_Y]; j0 < piece->hi[AXIS_Y]; j0 += y_block) {
        const int64_t j1 = j0 + y_block < piece->hi[AXIS_Y] ? j0 + y_block : piece->hi[AXIS_Y];
        for (int64_t k = piece->lo[AXIS_Z]; k < piece->hi[AXIS_Z]; k++) {
            for (int64_t j = j0; j < j1; j++) {
                NAMED(step_row)(s, piece->lo[AXIS_X], piece->hi[AXIS_X], j, k, stream);
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
    }
    return s;
}
