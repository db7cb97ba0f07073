/* The rows of the step kernel with a wider stencil in one precision. Included by step_radius.c once
 * for each, with REAL and NAMED(name) as in step_lines.h. `radius` is a constant in all callers. */

enum {
    NAMED(LINE) = STREAM_LINE_BYTES / sizeof(REAL),
    NAMED(PART) = STREAM_PART_BYTES / sizeof(REAL)
};

struct NAMED(stencil) {
    const struct layout *layout;
    const struct wide_args *args;
    struct tally *tally; /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    REAL w[WIDE_RADIUS_MOST];
    REAL r[AXIS_COUNT];
    int64_t stride[AXIS_COUNT]; /* 0 on an unused axis: a cell is its own neighbour, and D = 0 */
};

static struct NAMED(stencil)
    NAMED(stencil_of)(const struct layout *layout, const struct wide_args *args, void *out,
                      const void *in, struct tally *tally)
{
    struct NAMED(stencil)
        s = {.layout = layout, .args = args, .tally = tally, .out = out, .in = in};
    const int64_t stride[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.r[axis] = (REAL)args->r[axis];
        s.stride[axis] = args->used[axis] ? stride[axis] : 0;
    }
    for (int k = 0; k < args->radius; k++) {
        s.w[k] = (REAL)args->weight[k];
    }
    return s;
}

KERNEL_INLINE REAL NAMED(central)(const REAL *c, int64_t stride, const REAL *w, int radius)
{
    REAL sum = 0;
#pragma GCC unroll 4
    for (int k = radius; k >= 1; k--) {
        sum = NAMED(wide_term)(w[k - 1], c[0], c[-k * stride], c[k * stride], sum);
    }
    return sum;
}

/* Where a cell is on an axis. */
struct NAMED(place) {
    const struct wide_closure *closure; /* NULL: not next to a closed face */
    int row;                            /* from that face */
    int64_t inward;
};

static inline struct NAMED(place)
    NAMED(place_of)(const struct NAMED(stencil) * s, enum axis axis, int64_t at)
{
    const struct wide_args *args = s->args;
    const int64_t from_max = s->layout->cells[axis] - 1 - at;
    const enum face min = face_of(axis, SIDE_MIN);
    const enum face max = face_of(axis, SIDE_MAX);
    if (args->used[axis] && args->closed[min] && at < args->radius) {
        return (struct NAMED(place)){&args->closure[min], (int)at, s->stride[axis]};
    }
    if (args->used[axis] && args->closed[max] && from_max < args->radius) {
        return (struct NAMED(place)){&args->closure[max], (int)from_max, -s->stride[axis]};
    }
    return (struct NAMED(place)){NULL, 0, 0};
}

/* `sum` of n cells that are next to a face: the given value, then the 2 radius cells from the face
 * on. `face`: the first cell at the face; `own`: the first cell itself. */
static void NAMED(near_cells)(const struct wide_closure *closure, const double *weight,
                              double given, int radius, const REAL *face, int64_t inward,
                              const REAL *own, int64_t n, double *restrict sum)
{
    const double slope = closure->slope;
    const double value = closure->value;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        sum[i] = wide_given(given, slope, value, (double)own[i]);
    }
    for (int cell = 0; cell < 2 * radius; cell++) {
        const REAL *other = face + cell * inward;
        const double w = weight[cell];
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sum[i] = wide_near(w, (double)other[i], (double)own[i], sum[i]);
        }
    }
}

/* D of n cells of a row, up to CHUNK, along one axis. */
static void NAMED(axis_cells)(const struct NAMED(stencil) * s, enum axis axis, int64_t at,
                              const REAL *c, int64_t n, REAL *restrict d)
{
    const int radius = s->args->radius;
    const struct NAMED(place) place = NAMED(place_of)(s, axis, at);
    const int64_t stride = s->stride[axis];
    if (place.closure == NULL) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            d[i] = 0;
        }
        for (int k = radius; k >= 1; k--) {
            const REAL w = s->w[k - 1];
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                d[i] = NAMED(wide_term)(w, c[i], c[i - k * stride], c[i + k * stride], d[i]);
            }
        }
        return;
    }
    double sum[CHUNK];
    NAMED(near_cells)
    (place.closure, place.closure->weight[place.row], place.closure->given[place.row], radius,
     c - place.row * place.inward, place.inward, c, n, sum);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        d[i] = (REAL)sum[i];
    }
}

/* The same sum for one cell. */
KERNEL_INLINE double NAMED(near_cell)(const struct wide_closure *closure, const double *weight,
                                      double given, const REAL *face, int64_t inward, REAL own,
                                      int radius)
{
    double sum = wide_given(given, closure->slope, closure->value, (double)own);
    for (int cell = 0; cell < 2 * radius; cell++) {
        sum = wide_near(weight[cell], (double)face[cell * inward], (double)own, sum);
    }
    return sum;
}

KERNEL_INLINE REAL NAMED(axis_cell)(const struct NAMED(stencil) * s, enum axis axis, int64_t at,
                                    const REAL *c, int radius)
{
    const struct NAMED(place) place = NAMED(place_of)(s, axis, at);
    if (place.closure == NULL) {
        return NAMED(central)(c, s->stride[axis], s->w, radius);
    }
    return (REAL)NAMED(near_cell)(place.closure, place.closure->weight[place.row],
                                  place.closure->given[place.row], c - place.row * place.inward,
                                  place.inward, c[0], radius);
}

/* One cell, anywhere. */
KERNEL_INLINE void NAMED(one_cell)(const struct NAMED(stencil) * s, int64_t i, int64_t j, int64_t k,
                                   int radius)
{
    const int64_t element = layout_index(s->layout, i, j, k);
    const REAL *c = s->in + element;
    const REAL x = NAMED(axis_cell)(s, AXIS_X, i, c, radius);
    const REAL y = NAMED(axis_cell)(s, AXIS_Y, j, c, radius);
    const REAL z = NAMED(axis_cell)(s, AXIS_Z, k, c, radius);
    s->out[element] = NAMED(wide_update)(c[0], x, y, z, s->r[AXIS_X], s->r[AXIS_Y], s->r[AXIS_Z]);
}

/* `n` cells whose neighbours in x are cells of the row. dy and dz: D of these axes, or NULL for
 * both: the rows beside are cells, too. */
KERNEL_INLINE void NAMED(cells)(const struct NAMED(stencil) * s, const REAL *c, const REAL *dy,
                                const REAL *dz, REAL *restrict out, int64_t n, int radius)
{
    const struct NAMED(stencil) k = *s; /* stores may alias the original */
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const REAL x = NAMED(central)(c + i, 1, k.w, radius);
        const REAL y = dy != NULL ? dy[i] : NAMED(central)(c + i, k.stride[AXIS_Y], k.w, radius);
        const REAL z = dz != NULL ? dz[i] : NAMED(central)(c + i, k.stride[AXIS_Z], k.w, radius);
        out[i] = NAMED(wide_update)(c[i], x, y, z, k.r[AXIS_X], k.r[AXIS_Y], k.r[AXIS_Z]);
    }
}

/* The same, with whole lines streamed; `ahead`: cells to prefetch, NULL: none. */
KERNEL_INLINE void NAMED(range)(const struct NAMED(stencil) * s, const REAL *c, const REAL *dy,
                                const REAL *dz, REAL *out, int64_t n, const REAL *ahead, int radius)
{
    enum { LINE = NAMED(LINE), PART = NAMED(PART) };
    const bool apart = dy != NULL;
    const struct NAMED(stencil) k = *s;
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = to_line < n ? to_line : n;
    NAMED(cells)(&k, c, dy, dz, out, head, radius);
    int64_t i = head;
    for (; i + LINE <= n; i += LINE) {
        REAL line[LINE]; /* the compiler keeps it in registers */
        if (ahead != NULL) {
            stream_fetch(STREAM_FIRST_LEVEL, ahead + i);
        }
        NAMED(cells)
        (&k, c + i, apart ? dy + i : NULL, apart ? dz + i : NULL, line, LINE, radius);
        stream_part(out + i, line);
        stream_part(out + i + PART, line + PART);
    }
    NAMED(cells)
    (&k, c + i, apart ? dy + i : NULL, apart ? dz + i : NULL, out + i, n - i, radius);
}

/* Cells [lo, hi) of a row next to closed faces of y or z. */
static void NAMED(boundary_range)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                  int64_t j, int64_t k)
{
    REAL dy[CHUNK];
    REAL dz[CHUNK];
    for (int64_t begin = lo, end; begin < hi; begin = end) {
        end = hi - begin < CHUNK ? hi : begin + CHUNK;
        const int64_t element = layout_index(s->layout, begin, j, k);
        const REAL *c = s->in + element;
        NAMED(axis_cells)(s, AXIS_Y, j, c, end - begin, dy);
        NAMED(axis_cells)(s, AXIS_Z, k, c, end - begin, dz);
        switch (s->args->radius) {
        case 2:
            NAMED(range)(s, c, dy, dz, s->out + element, end - begin, NULL, 2);
            break;
        case 3:
            NAMED(range)(s, c, dy, dz, s->out + element, end - begin, NULL, 3);
            break;
        default:
            NAMED(range)(s, c, dy, dz, s->out + element, end - begin, NULL, 4);
            break;
        }
    }
}

/* Sum the inward flux of `n` cells at a face, for the heat ledger. */
static void NAMED(tally_cells)(const struct NAMED(stencil) * s, enum face face, const REAL *c,
                               int64_t n)
{
    const struct wide_closure *closure = &s->args->closure[face];
    const int64_t stride = s->stride[face_axis(face)];
    const int64_t inward = face_side(face) == SIDE_MIN ? stride : -stride;
    if (s->tally[face].target == NULL) {
        return;
    }
    if (n == 1) {
        const double in = NAMED(near_cell)(closure, closure->in, closure->in_given, c, inward, c[0],
                                           s->args->radius);
        tally_add_one(&s->tally[face], in);
        return;
    }
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double sum[CHUNK];
        end = n - begin < CHUNK ? n : begin + CHUNK;
        NAMED(near_cells)
        (closure, closure->in, closure->in_given, s->args->radius, c + begin, inward, c + begin,
         end - begin, sum);
        tally_add_float64(&s->tally[face], sum, end - begin);
    }
}

static void NAMED(tally_row)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi, int64_t j,
                             int64_t k)
{
    const int64_t *cells = s->layout->cells;
    const REAL *c = s->in + layout_index(s->layout, lo, j, k);
    const int64_t first[AXIS_COUNT] = {lo, j, k};
    const int64_t last[AXIS_COUNT] = {hi - 1, j, k};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool at_min = face_side(face) == SIDE_MIN;
        const bool on = at_min ? first[axis] == 0 : last[axis] == cells[axis] - 1;
        if (on && s->args->closed[f] && s->args->used[axis]) {
            const bool along = axis != AXIS_X;
            NAMED(tally_cells)(s, face, along || at_min ? c : c + hi - 1 - lo, along ? hi - lo : 1);
        }
    }
}

/* Cells [lo, hi) of row (j, k). */
KERNEL_INLINE void NAMED(step_row)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                   int64_t j, int64_t k, const REAL *ahead, int radius)
{
    const struct wide_args *args = s->args;
    const int64_t from_min = args->closed[FACE_X_MIN] && lo < radius ? radius : lo;
    const int64_t to_max = s->layout->cells[AXIS_X] - (args->closed[FACE_X_MAX] ? radius : 0);
    const int64_t begin = from_min < hi && args->used[AXIS_X] ? from_min : hi;
    const int64_t end = to_max > begin ? (to_max < hi ? to_max : hi) : begin;
    for (int64_t i = lo; i < begin; i++) {
        NAMED(one_cell)(s, i, j, k, radius);
    }
    if (NAMED(place_of)(s, AXIS_Y, j).closure != NULL ||
        NAMED(place_of)(s, AXIS_Z, k).closure != NULL) {
        NAMED(boundary_range)(s, begin, end, j, k);
    } else if (begin < end) {
        const int64_t element = layout_index(s->layout, begin, j, k);
        NAMED(range)
        (s, s->in + element, NULL, NULL, s->out + element, end - begin,
         ahead != NULL ? ahead + (begin - lo) : NULL, radius);
    }
    for (int64_t i = end; i < hi; i++) {
        NAMED(one_cell)(s, i, j, k, radius);
    }
    NAMED(tally_row)(s, lo, hi, j, k);
}

/* March a tile through z. The plane that a row is the first to read is prefetched some rows ahead.
 */
KERNEL_INLINE void NAMED(step_tile)(const struct NAMED(stencil) * s, const struct box *tile,
                                    int radius)
{
    const struct layout *l = s->layout;
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    const int64_t rows = AHEAD_BYTES / (int64_t)sizeof(REAL) / (hi - lo) + 1;
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        const bool there = k + radius < l->cells[AXIS_Z] + l->halo[AXIS_Z];
        for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
            const int64_t next = j + rows < l->cells[AXIS_Y] ? j + rows : j;
            NAMED(step_row)
            (s, lo, hi, j, k, there ? s->in + layout_index(l, lo, next, k + radius) : NULL, radius);
        }
    }
}

static __attribute__((noinline)) void NAMED(step_tile_2)(const struct NAMED(stencil) * s,
                                                         const struct box *tile)
{
    NAMED(step_tile)(s, tile, 2);
}

static __attribute__((noinline)) void NAMED(step_tile_3)(const struct NAMED(stencil) * s,
                                                         const struct box *tile)
{
    NAMED(step_tile)(s, tile, 3);
}

static __attribute__((noinline)) void NAMED(step_tile_4)(const struct NAMED(stencil) * s,
                                                         const struct box *tile)
{
    NAMED(step_tile)(s, tile, 4);
}

/* A thread's piece of a box, tile by tile. */
static void NAMED(step_piece)(const struct NAMED(stencil) * s, const struct box *piece)
{
    typedef void tile_function(const struct NAMED(stencil) * s, const struct box *tile);
    static tile_function *const step[WIDE_RADIUS_MOST + 1] = {
        [2] = NAMED(step_tile_2), [3] = NAMED(step_tile_3), [4] = NAMED(step_tile_4)};
    const int64_t tile_bytes = CACHE_BYTES / (2 * s->args->radius + 1);
    const struct schedule schedule = {TILED};
    const struct tiling tiling = tiling_of(piece, sizeof(REAL), schedule);
    for (int64_t z = 0; z < tiling.nz; z++) {
        for (int64_t y = 0; y < tiling.ny; y++) {
            for (int64_t x = 0; x < tiling.nx; x++) {
                const struct box tile = tile_at(piece, &tiling, x, y, z);
                step[s->args->radius](s, &tile);
            }
        }
    }
}
