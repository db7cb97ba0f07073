/* The rows of the step kernel with a wider stencil. `radius` is a
 * constant in all callers. */

enum { LINE = STREAM_LINE_BYTES / sizeof(REAL), PART = STREAM_PART_BYTES / sizeof(REAL) };

struct stencil {
    const struct layout *layout;
    const struct coefficients *args;
    struct tally *tally; /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    const REAL *base; /* what the sums begin with: in, or out */
    bool stream;      /* non-temporal stores */
    REAL w[WIDE_RADIUS_MOST];
    REAL r[AXIS_COUNT];
    int64_t stride[AXIS_COUNT]; /* 0 on an unused axis: a cell is its own neighbour, and D = 0 */
    /* Of the END cells at the closed faces of x, the lowest first. */
    double end_weight[SIDE_COUNT][WIDE_CELLS_MOST][END];
    double end_given[SIDE_COUNT][END];
};

static struct stencil stencil_of(const struct step_call *c, struct tally *tally, void *scratch)
{
    struct stencil s = {.layout = c->layout,
                        .args = c->args,
                        .tally = tally,
                        .out = c->out,
                        .in = c->in,
                        .base = c->args->corrects ? c->out : c->in};
    const int64_t stride[AXIS_COUNT] = {1, c->layout->pitch_y, c->layout->pitch_z};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s.r[axis] = (REAL)c->args->r[axis];
        s.stride[axis] = c->args->high_order.used[axis] ? stride[axis] : 0;
    }
    for (int k = 0; k < c->args->high_order.radius; k++) {
        s.w[k] = (REAL)c->args->high_order.weight[k];
        for (int side = 0; side < SIDE_COUNT; side++) {
            const struct wide_closure *closure =
                &c->args->high_order.closure[face_of(AXIS_X, (enum side)side)];
            const int i = side == SIDE_MIN ? k : END - 1 - k;
            s.end_given[side][i] = closure->given[k];
            for (int cell = 0; cell < 2 * c->args->high_order.radius; cell++) {
                s.end_weight[side][cell][i] = closure->weight[k][cell];
            }
        }
    }
    return s;
}

KERNEL_INLINE REAL central(const REAL *c, int64_t stride, const REAL *w, int radius)
{
    REAL sum = 0;
#pragma GCC unroll 4
    for (int k = radius; k >= 1; k--) {
        sum = NAMED(wide_term)(w[k - 1], c[0], c[-k * stride], c[k * stride], sum);
    }
    return sum;
}

/* What an axis takes next to a closed face instead of central differences: the weights of the cells
 * from the face on. */
struct near {
    double weight[WIDE_CELLS_MOST];
    double given, slope, value;
    int64_t to_face, inward; /* elements from a cell to that at the face, and between them */
};

static inline struct near near_with(const struct wide_closure *closure,
                                    const double weight[WIDE_CELLS_MOST], double given, int row,
                                    int64_t inward)
{
    struct near near = {.given = given,
                        .slope = closure->slope,
                        .value = closure->value,
                        .to_face = -row * inward,
                        .inward = inward};
    memcpy(near.weight, weight, sizeof near.weight);
    return near;
}

/* Is a cell on an axis next to a closed face? */
static inline bool near_face(const struct stencil *s, enum axis axis, int64_t at, struct near *near)
{
    const struct coefficients *args = s->args;
    const int64_t from[SIDE_COUNT] = {at, s->layout->cells[axis] - 1 - at};
    for (int side = 0; side < SIDE_COUNT; side++) {
        const enum face face = face_of(axis, (enum side)side);
        if (args->high_order.used[axis] && args->closed[face] &&
            from[side] < args->high_order.radius) {
            const struct wide_closure *closure = &args->high_order.closure[face];
            const int row = (int)from[side];
            *near = near_with(closure, closure->weight[row], closure->given[row], row,
                              side == SIDE_MIN ? s->stride[axis] : -s->stride[axis]);
            return true;
        }
    }
    return false;
}

KERNEL_INLINE double near_sum(const struct near *near, const REAL *c, int radius)
{
    const REAL *face = c + near->to_face;
    double sum = wide_given(near->given, near->slope, near->value, (double)c[0]);
#pragma GCC unroll 8
    for (int cell = 0; cell < 2 * radius; cell++) {
        sum = wide_near(near->weight[cell], (double)face[cell * near->inward], (double)c[0], sum);
    }
    return sum;
}

/* A line of cells whose neighbours in x are cells of the row. near_y, near_z: NULL where the
 * neighbours on that axis are cells, too. */
KERNEL_INLINE void cells(const struct stencil *k, const struct near *near_y,
                         const struct near *near_z, const REAL *c, REAL *restrict out, int radius)
{
    const struct near y = near_y != NULL ? *near_y : (struct near){.slope = 0};
    const struct near z = near_z != NULL ? *near_z : (struct near){.slope = 0};
#pragma omp simd
    for (int i = 0; i < LINE; i++) {
        const REAL dx = central(c + i, 1, k->w, radius);
        const REAL dy = near_y != NULL ? (REAL)near_sum(&y, c + i, radius)
                                       : central(c + i, k->stride[AXIS_Y], k->w, radius);
        const REAL dz = near_z != NULL ? (REAL)near_sum(&z, c + i, radius)
                                       : central(c + i, k->stride[AXIS_Z], k->w, radius);
        out[i] = NAMED(wide_update)(c[i], dx, dy, dz, k->r[AXIS_X], k->r[AXIS_Y], k->r[AXIS_Z]);
    }
}

/* Rows of whole lines, from element `first` on, and what to prefetch with them: rows, and with the
 * lowest and the highest of them `below` and `above` more. */
struct block {
    int64_t first, n, rows, pitch;
    const REAL *ahead;
    int64_t below, above;
};

/* A block of rows of whole lines, streamed. */
KERNEL_INLINE void lines(const struct stencil *s, const struct near *y, const struct near *z,
                         struct block b, int radius)
{
    const struct stencil k = *s; /* stores may alias the originals */
    for (int64_t row = 0; row < b.rows; row++) {
        const REAL *c = k.in + b.first + row * b.pitch;
        REAL *out = k.out + b.first + row * b.pitch;
        const REAL *ahead = b.ahead + row * b.pitch;
        const REAL *beside = row < b.below             ? b.ahead + (row - b.below) * b.pitch
                             : row >= b.rows - b.above ? ahead + b.above * b.pitch
                                                       : ahead;
        for (int64_t i = 0; i < b.n; i += LINE) {
            REAL line[LINE]; /* the compiler keeps it in registers */
            stream_fetch(STREAM_SECOND_LEVEL, ahead + i);
            stream_fetch(STREAM_SECOND_LEVEL, beside + i);
            cells(&k, y, z, c + i, line, radius);
            stream_or_store_part(k.stream, out + i, line);
            stream_or_store_part(k.stream, out + i + PART, line + PART);
        }
    }
}

/* Not inlined: the pointers of a line need all registers. */
#define INNER_LINES(radius)                                                                        \
    static STREAM_WIDE __attribute__((noinline)) void inner_lines_##radius(                        \
        const struct stencil *s, struct block b)                                                   \
    {                                                                                              \
        lines(s, NULL, NULL, b, radius);                                                           \
    }
INNER_LINES(2)
INNER_LINES(3)
INNER_LINES(4)
#undef INNER_LINES

/* Rows next to closed faces of y, z or both. */
KERNEL_INLINE void near_lines(const struct stencil *s, const struct near *y, const struct near *z,
                              struct block b, int radius)
{
    if (y != NULL && z != NULL) {
        lines(s, y, z, b, radius);
    } else if (y != NULL) {
        lines(s, y, NULL, b, radius);
    } else {
        lines(s, NULL, z, b, radius);
    }
}

/* D along x of the END cells at a closed face, in vectors; `row`: its cell 0. Of cells that are not
 * next to the face `d` means nothing. */
KERNEL_INLINE void near_x(const struct stencil *s, enum side side, const REAL *row, REAL d[END],
                          int radius)
{
    const struct wide_closure *closure = &s->args->high_order.closure[face_of(AXIS_X, side)];
    const REAL *c = side == SIDE_MIN ? row : row + s->layout->cells[AXIS_X] - END;
    double sum[END];
    for (int i = 0; i < END; i++) {
        sum[i] = wide_given(s->end_given[side][i], closure->slope, closure->value, (double)c[i]);
    }
#pragma GCC unroll 8
    for (int cell = 0; cell < 2 * radius; cell++) {
        const double other = (double)c[side == SIDE_MIN ? cell : END - 1 - cell];
        for (int i = 0; i < END; i++) {
            sum[i] = wide_near(s->end_weight[side][cell][i], other, (double)c[i], sum[i]);
        }
    }
    for (int i = 0; i < END; i++) {
        d[i] = (REAL)sum[i];
    }
}

/* D along x of cells [lo, hi) of a row, which are in the line that begins at cell `first`. */
KERNEL_INLINE void end_x(const struct stencil *s, const REAL *row, int64_t first, int64_t lo,
                         int64_t hi, REAL *dx, int radius)
{
    const bool used = s->args->high_order.used[AXIS_X];
    const int64_t nx = s->layout->cells[AXIS_X];
    const int64_t from = used && s->args->closed[FACE_X_MIN] && lo < radius ? radius : lo;
    const int64_t to = used && s->args->closed[FACE_X_MAX] && hi > nx - radius ? nx - radius : hi;
    REAL d[END];
    if (hi - lo == LINE) { /* in vectors; of the cells next to faces it means nothing */
        for (int i = 0; i < LINE; i++) {
            dx[i] = central(row + first + i, 1, s->w, radius);
        }
    } else {
        for (int64_t i = from; i < to; i++) {
            dx[i - first] = central(row + i, s->stride[AXIS_X], s->w, radius);
        }
    }
    if (from > lo) {
        near_x(s, SIDE_MIN, row, d, radius);
        for (int64_t i = lo; i < hi && i < from; i++) {
            dx[i - first] = d[i];
        }
    }
    if (to < hi) {
        near_x(s, SIDE_MAX, row, d, radius);
        for (int64_t i = to > lo ? to : lo; i < hi; i++) {
            dx[i - first] = d[i - (nx - END)];
        }
    }
}

/* Cells [lo, hi) of the line that begins at cell `first` of a row: an end of the row, or not all
 * cells of the line. y and z as in `cells`, but known at run time only. */
KERNEL_INLINE void end_line(const struct stencil *s, const struct near *y, const struct near *z,
                            int64_t row, int64_t first, int64_t lo, int64_t hi, int radius)
{
    const REAL *c = s->in + row + first;
    const REAL *base = s->base + row + first;
    REAL *out = s->out + row + first;
    REAL dx[LINE] = {0};
    REAL dy[LINE];
    REAL dz[LINE];
    REAL line[LINE];
    end_x(s, s->in + row, first, lo, hi, dx, radius);
    for (int i = 0; i < LINE; i++) {
        dy[i] = y != NULL ? (REAL)near_sum(y, c + i, radius)
                          : central(c + i, s->stride[AXIS_Y], s->w, radius);
    }
    for (int i = 0; i < LINE; i++) {
        dz[i] = z != NULL ? (REAL)near_sum(z, c + i, radius)
                          : central(c + i, s->stride[AXIS_Z], s->w, radius);
    }
    for (int i = 0; i < LINE; i++) {
        line[i] = NAMED(wide_update)(base[i], dx[i], dy[i], dz[i], s->r[AXIS_X], s->r[AXIS_Y],
                                     s->r[AXIS_Z]);
    }
    if (hi - lo == LINE) {
        stream_or_store_part(s->stream, out, line);
        stream_or_store_part(s->stream, out + PART, line + PART);
        return;
    }
    for (int64_t i = lo - first; i < hi - first; i++) {
        out[i] = line[i];
    }
}

/* Sum the inward flux of `n` cells at a face, for the heat ledger. */
KERNEL_INLINE void tally_cells(const struct stencil *s, enum face face, const REAL *c, int64_t n,
                               int radius)
{
    const struct wide_closure *closure = &s->args->high_order.closure[face];
    const int64_t stride = s->stride[face_axis(face)];
    const int64_t inward = face_side(face) == SIDE_MIN ? stride : -stride;
    if (s->tally[face].target == NULL) {
        return;
    }
    const struct near near = near_with(closure, closure->in, closure->in_given, 0, inward);
    if (n == 1) {
        tally_add_one(&s->tally[face], near_sum(&near, c, radius));
        return;
    }
    for (int64_t begin = 0, end; begin < n; begin = end) {
        double in[CHUNK];
        end = n - begin < CHUNK ? n : begin + CHUNK;
        for (int64_t i = 0; i < end - begin; i++) {
            in[i] = near_sum(&near, c + begin + i, radius);
        }
        tally_add_float64(&s->tally[face], in, end - begin);
    }
}

KERNEL_INLINE void tally_row(const struct stencil *s, int64_t lo, int64_t hi, int64_t j, int64_t k,
                             int radius)
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
        if (on && s->args->closed[f] && s->args->high_order.used[axis]) {
            const bool along = axis != AXIS_X;
            tally_cells(s, face, along || at_min ? c : c + hi - 1 - lo, along ? hi - lo : 1,
                        radius);
        }
    }
}

/* Rows [begin, end) of a plane of a tile, which take the same neighbours in y and in z. */
KERNEL_INLINE void step_rows(const struct stencil *s, const struct box *tile, int64_t begin,
                             int64_t end, int64_t k, int radius)
{
    const struct layout *l = s->layout;
    const int64_t nx = l->cells[AXIS_X];
    const int64_t lo = tile->lo[AXIS_X];
    const int64_t hi = tile->hi[AXIS_X];
    const bool *closed = s->args->closed;
    const int64_t from = closed[FACE_X_MIN] && lo < radius ? radius : lo;
    const int64_t to = closed[FACE_X_MAX] && hi > nx - radius ? nx - radius : hi;
    const int64_t inner = (from + LINE - 1) & -(int64_t)LINE;
    const int64_t end_of_lines = to & -(int64_t)LINE;
    const bool blocks = end_of_lines > inner && !s->args->corrects;
    const int64_t outer = blocks ? end_of_lines : inner;
    struct near near[AXIS_COUNT];
    const struct near *y = near_face(s, AXIS_Y, begin, &near[AXIS_Y]) ? &near[AXIS_Y] : NULL;
    const struct near *z = near_face(s, AXIS_Z, k, &near[AXIS_Z]) ? &near[AXIS_Z] : NULL;
    const int64_t top = l->cells[AXIS_Z] + l->halo[AXIS_Z] - 1;
    const int64_t plane = k + radius + 1 < top ? k + radius + 1 : top;
    if (outer > inner) {
        const int64_t under = begin == tile->lo[AXIS_Y] ? begin + l->halo[AXIS_Y] : 0;
        const int64_t over = end == tile->hi[AXIS_Y] ? l->cells[AXIS_Y] + l->halo[AXIS_Y] - end : 0;
        const struct block block = {
            .first = layout_index(l, inner, begin, k),
            .n = outer - inner,
            .rows = end - begin,
            .pitch = l->pitch_y,
            .ahead = s->in + layout_index(l, inner, begin, plane),
            .below = under < radius ? under : radius,
            .above = over < radius ? over : radius,
        };
        if (y != NULL || z != NULL) {
            near_lines(s, y, z, block, radius);
        } else if (radius == 2) {
            inner_lines_2(s, block);
        } else if (radius == 3) {
            inner_lines_3(s, block);
        } else {
            inner_lines_4(s, block);
        }
    }
    for (int64_t j = begin; j < end; j++) {
        const int64_t row = layout_index(l, 0, j, k);
        for (int64_t first = lo & -(int64_t)LINE; first < hi; first += LINE) {
            if (first == inner && outer > inner) {
                first = outer - LINE; /* the block */
                continue;
            }
            const int64_t next = first + LINE;
            stream_fetch(STREAM_SECOND_LEVEL, s->in + layout_index(l, first, j, plane));
            end_line(s, y, z, row, first, first > lo ? first : lo, next < hi ? next : hi, radius);
        }
        tally_row(s, lo, hi, j, k, radius);
    }
}

/* March a tile through z. */
KERNEL_INLINE void march_tile(const struct stencil *s, const struct box *tile, int radius)
{
    struct near near;
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        for (int64_t j = tile->lo[AXIS_Y], end; j < tile->hi[AXIS_Y]; j = end) {
            end = j + 1;
            if (!near_face(s, AXIS_Y, j, &near)) {
                while (end < tile->hi[AXIS_Y] && !near_face(s, AXIS_Y, end, &near)) {
                    end++;
                }
            }
            step_rows(s, tile, j, end, k, radius);
        }
    }
}

#define TILE_OF(radius)                                                                            \
    static __attribute__((noinline)) void tile_of_##radius(const struct stencil *s,                \
                                                           const struct box *tile)                 \
    {                                                                                              \
        march_tile(s, tile, radius);                                                               \
    }
TILE_OF(2)
TILE_OF(3)
TILE_OF(4)
#undef TILE_OF

static void step_tile(const struct stencil *given, const struct box *tile, struct schedule schedule)
{
    typedef void tile_function(const struct stencil *s, const struct box *tile);
    static tile_function *const tile_of[WIDE_RADIUS_MOST + 1] = {
        [2] = tile_of_2, [3] = tile_of_3, [4] = tile_of_4};
    struct stencil s = *given;
    s.stream = schedule.stream;
    tile_of[s.args->high_order.radius](&s, tile);
}
