/* The rows of step_nonlinear.c in one precision. Included once for each, and without include guard
 * for that reason, with
 *   REAL           the element type
 *   FMA            fma or fmaf
 *   NAMED(name)    name with the precision appended */

/* A row of a tile in scratch memory: cell i is element PAD + i. Lines may be longer than the row.
 */
enum {
    NAMED(PAD) = NAMED(LINE),
    NAMED(TILE_X) = TILE_X_BYTES / sizeof(REAL),
    NAMED(ROW) = NAMED(TILE_X) + 2 * NAMED(PAD)
};

/* The values of a class in the table. */
struct NAMED(numbers) {
    int of_class;  /* -1: none */
    bool touching; /* cells of it touch each other without resistance */
    REAL of[NONLINEAR_NUMBERS];
    REAL q;
};

struct NAMED(stencil) {
    const struct layout *layout;
    const struct step_args *args;
    const struct medium_args *medium;
    const REAL *table, *of_class, *segments; /* the table, and parts of it */
    struct tally *tally;                     /* of this thread, one per face */
    REAL *out;
    const REAL *in;
    bool mirrored[FACE_COUNT]; /* of axes that are not used: a cell is its own neighbour */
    struct NAMED(numbers) numbers;
    struct NAMED(lookup) lookup[LOOKUPS]; /* of class modulo LOOKUPS */
    /* of the tile, by k modulo 3 or 2 and by row, one more on each side: */
    REAL temperature[3][TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    REAL conductivity[2][TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* g of the lower faces of the row that comes next, which its upper ones replace */
    REAL gz[TILE_Y][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    REAL gy[NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* A row of the tile and those beside it. */
struct NAMED(row) {
    int64_t first[AXIS_COUNT]; /* its first cell */
    int64_t n;
    bool on[FACE_COUNT]; /* it lies on closed faces; in x, its first or last cell */
    bool on_any;         /* in y or z */
    const REAL *t, *other_t[FACE_COUNT];
    const REAL *k, *upper_k[AXIS_COUNT];
    REAL *gy, *gz;
    const uint8_t *classes, *upper_classes[AXIS_COUNT];
    const REAL *u;
    REAL *out;
    bool streamed; /* out is aligned to lines */
};

/* --- evaluation ------------------------------------------------------------------------------ */

static const REAL *NAMED(segments_of)(const struct NAMED(stencil) * s, int of_class)
{
    return s->segments + (int64_t)5 * s->medium->nsegments * of_class;
}

static void NAMED(evaluate_cell)(const struct NAMED(stencil) * s, int of_class, REAL u,
                                 REAL *temperature, REAL *conductivity)
{
    const struct NAMED(nonlinear) at =
        NAMED(nonlinear_at)(NAMED(segments_of)(s, of_class), s->medium->nsegments, u);
    *temperature = at.temperature;
    *conductivity = at.conductivity;
}

/* A row that is evaluated as far as the tile reads it. */
struct NAMED(ahead) {
    struct NAMED(evaluation) cells;
    int64_t n; /* 0: nothing to do */
    const uint8_t *classes;
    bool sides[SIDE_COUNT]; /* also the cells before and after it */
};

/* The next lines of one class, if those before are done. */
static void NAMED(aim)(struct NAMED(stencil) * s, struct NAMED(ahead) * ahead)
{
    struct NAMED(evaluation) *cells = &ahead->cells;
    const int mask = s->medium->mask;
    if (cells->done < cells->end || cells->done == ahead->n) {
        return;
    }
    cells->end = alike_until(ahead->classes, cells->done, ahead->n, NAMED(LINE), mask);
    if (cells->end > cells->done) {
        const int of_class = ahead->classes[cells->done] & mask;
        const REAL *segments = NAMED(segments_of)(s, of_class);
        cells->lookup = &s->lookup[of_class % LOOKUPS];
        if (cells->lookup->segments != segments) {
            NAMED(lookup_fill)(cells->lookup, segments, s->medium->nsegments);
        }
    }
}

/* Row (j, k); the edges of the tile's outline are not needed. */
static struct NAMED(ahead)
    NAMED(ahead_of)(struct NAMED(stencil) * s, const struct box *tile, int64_t j, int64_t k)
{
    const struct layout *l = s->layout;
    const int64_t *lo = tile->lo;
    const int64_t *hi = tile->hi;
    const bool *closed = s->args->closed;
    struct NAMED(ahead) ahead = {.cells = {.lookup = &s->lookup[0]}};
    if ((j < 0 && closed[FACE_Y_MIN]) || (j >= l->cells[AXIS_Y] && closed[FACE_Y_MAX]) ||
        (k < 0 && closed[FACE_Z_MIN]) || (k >= l->cells[AXIS_Z] && closed[FACE_Z_MAX])) {
        return ahead;
    }
    const bool inside = j >= lo[AXIS_Y] && j < hi[AXIS_Y] && k >= lo[AXIS_Z] && k < hi[AXIS_Z];
    ahead.n = box_extent(tile, AXIS_X);
    ahead.classes = s->medium->d_class + layout_index(&s->medium->layout, lo[AXIS_X], j, k);
    ahead.sides[SIDE_MIN] = inside && (lo[AXIS_X] > 0 || !closed[FACE_X_MIN]);
    ahead.sides[SIDE_MAX] = inside && (hi[AXIS_X] < l->cells[AXIS_X] || !closed[FACE_X_MAX]);
    ahead.cells.u = s->in + layout_index(l, lo[AXIS_X], j, k);
    ahead.cells.temperature = &s->temperature[(k + 3) % 3][j - lo[AXIS_Y] + 1][NAMED(PAD)];
    ahead.cells.conductivity = &s->conductivity[(k + 2) % 2][j - lo[AXIS_Y] + 1][NAMED(PAD)];
    const int64_t next = j + 1 < hi[AXIS_Y] ? 1 : 0; /* fetch the next row */
    ahead.cells.fetch = next * l->pitch_y;
    const uint8_t *classes = ahead.classes + next * s->medium->layout.pitch_y;
    for (int64_t i = 0; i < ahead.n + STREAM_LINE_BYTES; i += STREAM_LINE_BYTES) {
        stream_fetch(STREAM_SECOND_LEVEL, classes + i - 1);
    }
    NAMED(aim)(s, &ahead);
    return ahead;
}

/* Evaluate what is left of a row. */
static void NAMED(evaluate_rest)(struct NAMED(stencil) * s, struct NAMED(ahead) * ahead)
{
    struct NAMED(evaluation) *cells = &ahead->cells;
    const int mask = s->medium->mask;
    while (cells->done < ahead->n) {
        NAMED(aim)(s, ahead);
        if (cells->done < cells->end) {
            NAMED(lookup_lines)(cells);
            if (cells->done < cells->end) {
                NAMED(lookup_next)(cells);
            }
            continue;
        }
        for (int c = 0; c < NAMED(LINE) && cells->done < ahead->n; c++) {
            const int64_t i = cells->done++;
            NAMED(evaluate_cell)
            (s, ahead->classes[i] & mask, cells->u[i], &cells->temperature[i],
             &cells->conductivity[i]);
        }
    }
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int64_t i = side == SIDE_MIN ? -1 : ahead->n;
        if (ahead->sides[side]) {
            NAMED(evaluate_cell)
            (s, ahead->classes[i] & mask, cells->u[i], &cells->temperature[i],
             &cells->conductivity[i]);
        }
    }
}

static void NAMED(evaluate_row)(struct NAMED(stencil) * s, const struct box *tile, int64_t j,
                                int64_t k)
{
    struct NAMED(ahead) ahead = NAMED(ahead_of)(s, tile, j, k);
    NAMED(evaluate_rest)(s, &ahead);
}

/* --- the faces of cells ---------------------------------------------------------------------- */

KERNEL_INLINE REAL NAMED(couple)(const struct NAMED(stencil) * s, int axis, int own_class, REAL k,
                                 int other_class, REAL other_k)
{
    return NAMED(nonlinear_g)(
        k, s->of_class[NONLINEAR_NUMBERS * own_class + axis], other_k,
        s->of_class[NONLINEAR_NUMBERS * other_class + axis],
        s->table[medium_g_at(s->medium->nclasses, axis, own_class, other_class)]);
}

/* g between two rows of cells, the second above the first. */
static void NAMED(couple_rows)(const struct NAMED(stencil) * s, int axis, const uint8_t *classes,
                               const uint8_t *upper_classes, const REAL *k, const REAL *upper_k,
                               int64_t n, REAL *g)
{
    const int mask = s->medium->mask;
    const REAL w = s->of_class[axis];
    if (s->medium->plain) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            g[i] = NAMED(nonlinear_g)(k[i], w, upper_k[i], w, 0);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        g[i] = NAMED(couple)(s, axis, classes[i] & mask, k[i], upper_classes[i] & mask, upper_k[i]);
    }
}

/* The half cell at a closed face of cell i of a row: g, and the difference. */
static REAL NAMED(close)(const struct NAMED(stencil) * s, const struct NAMED(row) * row, int face,
                         int64_t i, REAL *difference)
{
    const struct medium_args *m = s->medium;
    const int64_t cell[AXIS_COUNT] = {row->first[0] + i, row->first[1], row->first[2]};
    const int of_class = row->classes[i] & m->mask;
    const int closure =
        medium_closure(m->d_patch[face], m->nclasses, face, s->layout->cells, cell, of_class);
    const REAL half = row->k[i] / s->of_class[NONLINEAR_NUMBERS * of_class + face / 2];
    *difference = NAMED(nonlinear_face)(
        s->table + medium_closure_at(m->nclasses, m->nclosures, face, closure), half, row->t[i]);
    if (s->tally[face].target != NULL) {
        tally_add_one(&s->tally[face], (double)half * (double)*difference);
    }
    return half;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* g of the left faces of a line, from those of the right ones and of those of the line before. */
KERNEL_INLINE void NAMED(to_left)(const REAL *before, const REAL *here, REAL *left)
{
#if STREAM_HAS_WIDE
    stream_line_minus(stream_line_load(before), stream_line_load(here), sizeof(REAL), left);
#else
    left[0] = before[NAMED(LINE) - 1];
    for (int i = 1; i < NAMED(LINE); i++) {
        left[i] = here[i - 1];
    }
#endif
}

KERNEL_INLINE void NAMED(copy_line)(const REAL *from, REAL *to)
{
#if STREAM_HAS_WIDE
    stream_line_store(stream_line_load(from), to);
#else
    memcpy(to, from, NAMED(LINE) * sizeof(REAL));
#endif
}

/* Lines [begin, end) of a row, of one class and without closed faces. gx: of the right faces of the
 * line before, and then of the last one. In between as many lines of `ahead` are evaluated, which
 * keeps the processor busy while it divides. Returns where it ended: before `end` if the window of
 * `ahead` has to be moved. */
static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(alike_lines)(
    const struct NAMED(numbers) * numbers, const struct NAMED(row) * row, int64_t begin,
    int64_t end, REAL *gx, struct NAMED(evaluation) * ahead)
{
    enum { LINE = NAMED(LINE) };
    const struct NAMED(numbers) of = *numbers;
    const REAL *const t = row->t;
    const REAL *const k = row->k;
    const REAL *const k_yp = row->upper_k[AXIS_Y];
    const REAL *const k_zp = row->upper_k[AXIS_Z];
    const REAL *const t_ym = row->other_t[FACE_Y_MIN];
    const REAL *const t_yp = row->other_t[FACE_Y_MAX];
    const REAL *const t_zm = row->other_t[FACE_Z_MIN];
    const REAL *const t_zp = row->other_t[FACE_Z_MAX];
    const REAL *const field = row->u;
    REAL *const gy = row->gy;
    REAL *const gz = row->gz;
    REAL *const out = row->out;
    const REAL wx = of.of[AXIS_X];
    const REAL wy = of.of[AXIS_Y];
    const REAL wz = of.of[AXIS_Z];
    const bool streamed = row->streamed;
    const struct NAMED(lookup) *const lookup = ahead->lookup;
    const struct NAMED(bounds) bounds = NAMED(bounds_of)(lookup);
    const struct NAMED(window) window = NAMED(window_from)(lookup);
    const int64_t fetch = ahead->fetch;
    const REAL *ahead_u = ahead->u + ahead->done;
    REAL *ahead_t = ahead->temperature + ahead->done;
    REAL *ahead_k = ahead->conductivity + ahead->done;
    int64_t left_ahead = STREAM_HAS_WIDE ? ahead->end - ahead->done : 0; /* few registers */
    int64_t i = begin;
    REAL before[LINE];
    NAMED(copy_line)(gx, before);
    for (; i < end; i += LINE) {
        REAL right[LINE];
        REAL left[LINE];
        REAL u[LINE];
        if (left_ahead > 0) {
            if (!NAMED(line_within)(ahead_u, bounds.from, bounds.to)) {
                break;
            }
            stream_fetch(STREAM_SECOND_LEVEL, ahead_u + fetch);
            NAMED(lookup_line)(&window, lookup, ahead_u, ahead_t, ahead_k);
            ahead_u += LINE;
            ahead_t += LINE;
            ahead_k += LINE;
            left_ahead -= LINE;
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            right[c] = NAMED(nonlinear_g)(k[i + c], wx, k[i + c + 1], wx, 0);
        }
        NAMED(to_left)(before, right, left);
        NAMED(copy_line)(right, before);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            const int64_t at = i + c;
            const REAL own = t[at];
            const REAL up_y = NAMED(nonlinear_g)(k[at], wy, k_yp[at], wy, 0);
            const REAL up_z = NAMED(nonlinear_g)(k[at], wz, k_zp[at], wz, 0);
            u[c] = field[at] + NAMED(nonlinear_sum)(
                                   left[c], right[c], gy[at], up_y, gz[at], up_z, t[at - 1] - own,
                                   t[at + 1] - own, t_ym[at] - own, t_yp[at] - own, t_zm[at] - own,
                                   t_zp[at] - own, NAMED(nonlinear_source)(of.of, of.q, own));
            gy[at] = up_y;
            gz[at] = up_z;
        }
        if (streamed) {
            stream_part(out + i, u);
            stream_part(out + i + LINE / 2, u + LINE / 2);
        } else {
            memcpy(out + i, u, sizeof u);
        }
    }
    NAMED(copy_line)(before, gx);
    ahead->done = ahead_u - ahead->u;
    return i;
}

/* g of the upper faces of a line whose cells and neighbours may be of any classes. */
static STREAM_WIDE void NAMED(couple_line)(const struct NAMED(stencil) * s,
                                           const struct NAMED(row) * row, int axis, int64_t i,
                                           int64_t n, REAL *restrict g)
{
    const struct medium_args *m = s->medium;
    const REAL *const k = row->k + i;
    const REAL *const upper_k = row->upper_k[axis] + i;
    REAL w[NAMED(LINE)];
    REAL upper_w[NAMED(LINE)];
    REAL contact[NAMED(LINE)];
    for (int c = 0; c < NAMED(LINE); c++) { /* beyond n as the last cell */
        const int64_t at = i + (c < n ? c : n - 1);
        const int own = row->classes[at] & m->mask;
        const int other = row->upper_classes[axis][at] & m->mask;
        w[c] = s->of_class[NONLINEAR_NUMBERS * own + axis];
        upper_w[c] = s->of_class[NONLINEAR_NUMBERS * other + axis];
        contact[c] = s->table[medium_g_at(m->nclasses, axis, own, other)];
    }
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        g[c] = NAMED(nonlinear_g)(k[c], w[c], upper_k[c], upper_w[c], contact[c]);
    }
}

/* The same where all are of one class, whose numbers are loaded. */
KERNEL_INLINE void NAMED(couple_alike)(const struct NAMED(stencil) * s,
                                       const struct NAMED(row) * row, int axis, int64_t i,
                                       REAL *restrict g)
{
    const REAL *const k = row->k + i;
    const REAL *const upper_k = row->upper_k[axis] + i;
    const REAL w = s->numbers.of[axis];
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        g[c] = NAMED(nonlinear_g)(k[c], w, upper_k[c], w, 0);
    }
}

/* What S begins with. */
KERNEL_INLINE void NAMED(begin_sums)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                     int64_t i, int64_t n, bool alike, REAL *restrict source)
{
    const REAL *const t = row->t + i;
    if (alike) {
#pragma omp simd
        for (int c = 0; c < NAMED(LINE); c++) {
            source[c] = NAMED(nonlinear_source)(s->numbers.of, s->numbers.q, t[c]);
        }
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        const int own = row->classes[i + c] & s->medium->mask;
        source[c] = NAMED(nonlinear_source)(s->of_class + (int64_t)NONLINEAR_NUMBERS * own,
                                            s->table[medium_cell_at(own) + 1], t[c]);
    }
}

KERNEL_INLINE void NAMED(subtract_lines)(const REAL *a, const REAL *b, REAL *restrict difference)
{
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        difference[c] = a[c] - b[c];
    }
}

/* Line i, of n cells, which may lie on closed faces. */
KERNEL_INLINE void NAMED(any_line)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                   int64_t i, int64_t n, bool alike, REAL *gx)
{
    enum { LINE = NAMED(LINE) };
    REAL g[FACE_COUNT][LINE];
    REAL d[FACE_COUNT][LINE];
    REAL source[LINE] = {0};
    REAL u[LINE] = {0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (alike) {
            NAMED(couple_alike)(s, row, axis, i, g[2 * axis + 1]);
        } else {
            NAMED(couple_line)(s, row, axis, i, n, g[2 * axis + 1]);
        }
    }
    NAMED(to_left)(gx, g[FACE_X_MAX], g[FACE_X_MIN]);
    NAMED(copy_line)(g[FACE_X_MAX], gx);
    NAMED(copy_line)(row->gy + i, g[FACE_Y_MIN]);
    NAMED(copy_line)(g[FACE_Y_MAX], row->gy + i);
    NAMED(copy_line)(row->gz + i, g[FACE_Z_MIN]);
    NAMED(copy_line)(g[FACE_Z_MAX], row->gz + i);
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool across = face / 2 == AXIS_X;
        const int64_t begin = across && face % 2 == 1 ? row->n - 1 - i : 0;
        const int64_t end = across && face % 2 == 0 ? (i == 0) : n;
        NAMED(subtract_lines)(row->other_t[face] + i, row->t + i, d[face]);
        for (int64_t c = begin; row->on[face] && c < end; c++) {
            g[face][c] = NAMED(close)(s, row, face, i + c, &d[face][c]);
        }
    }
    NAMED(begin_sums)(s, row, i, n, alike, source);
    memcpy(u, row->u + i, (size_t)n * sizeof(REAL));
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        u[c] = u[c] + NAMED(nonlinear_sum)(g[0][c], g[1][c], g[2][c], g[3][c], g[4][c], g[5][c],
                                           d[0][c], d[1][c], d[2][c], d[3][c], d[4][c], d[5][c],
                                           source[c]);
    }
    if (row->streamed && n == LINE) {
        stream_part(row->out + i, u);
        stream_part(row->out + i + LINE / 2, u + LINE / 2);
    } else {
        memcpy(row->out + i, u, (size_t)n * sizeof(REAL));
    }
}

static STREAM_WIDE __attribute__((noinline)) void NAMED(alike_line)(const struct NAMED(stencil) * s,
                                                                    const struct NAMED(row) * row,
                                                                    int64_t i, int64_t n, REAL *gx)
{
    NAMED(any_line)(s, row, i, n, true, gx);
}

static STREAM_WIDE __attribute__((noinline)) void NAMED(mixed_line)(const struct NAMED(stencil) * s,
                                                                    const struct NAMED(row) * row,
                                                                    int64_t i, int64_t n, REAL *gx)
{
    NAMED(any_line)(s, row, i, n, false, gx);
}

static void NAMED(load_numbers)(struct NAMED(stencil) * s, int of_class)
{
    s->numbers.of_class = of_class;
    s->numbers.touching = true;
    memcpy(s->numbers.of, s->of_class + (int64_t)NONLINEAR_NUMBERS * of_class,
           sizeof s->numbers.of);
    s->numbers.q = s->table[medium_cell_at(of_class) + 1];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s->numbers.touching =
            s->numbers.touching &&
            s->table[medium_g_at(s->medium->nclasses, axis, of_class, of_class)] == 0;
    }
}

/* The end of the lines from i on of cells of one class, whose numbers are then loaded, that touch
 * cells of their class only; i: there are none. */
static int64_t NAMED(alike_end)(struct NAMED(stencil) * s, const struct NAMED(row) * row, int64_t i)
{
    const int mask = s->medium->mask;
    const int own = row->classes[i] & mask;
    int64_t end = alike_until(row->classes, i, row->n, NAMED(LINE), mask);
    for (int axis = 0; axis < AXIS_COUNT && !s->medium->plain; axis++) {
        const uint8_t *others = row->upper_classes[axis];
        end = (others[i] & mask) == own ? alike_until(others, i, end, NAMED(LINE), mask) : i;
    }
    if (end > i && own != s->numbers.of_class) {
        NAMED(load_numbers)(s, own);
    }
    return s->medium->plain || s->numbers.touching ? end : i;
}
