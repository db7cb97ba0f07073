/* Open lines of step_nonlinear.c in one precision. Included after step_nonlinear_lines.h, in the
 * same way. */

/* --- open lines of one class ----------------------------------------------------------------- */

/* Whether a cell lies on that closed end of its row. */
KERNEL_INLINE bool NAMED(is_at_end)(const struct NAMED(row) * row, int side, int64_t i)
{
    return row->on[FACE_X_MIN + side] && i == (side == SIDE_MIN ? 0 : row->n - 1);
}

/* The faces in x of the first and the last cell of a line that are closed or coupled. */
struct NAMED(ends) {
    bool is[SIDE_COUNT];
    REAL g[SIDE_COUNT], d[SIDE_COUNT];
};

/* g and d of the faces in x of a line. */
KERNEL_INLINE void NAMED(cross_ends)(const struct NAMED(ends) * ends, const REAL *theta, REAL r,
                                     REAL g[][NAMED(LINE)], REAL d[][NAMED(LINE)])
{
    enum { LINE = NAMED(LINE) };
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int end = !ends->is[side] ? LINE : side == SIDE_MIN ? 0 : LINE - 1;
        const REAL *other = theta + (side == SIDE_MIN ? -1 : 1);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            g[side][c] = r;
            d[side][c] = other[c] - theta[c];
        }
        NAMED(line_set)(g[side], end, ends->g[side]);
        NAMED(line_set)(d[side], end, ends->d[side]);
    }
}

/* Lines [i, end) of a row, up to the first whose line above is not in the window. That is evaluated
 * here: theta of a cell is stored once, and read as that of the cell itself, of its neighbours in y
 * and of the cell below. `ends`: of one line; NULL: open. */
KERNEL_INLINE int64_t NAMED(advance)(const struct NAMED(row) * row, const struct NAMED(alike) * of,
                                     int64_t i, int64_t end, const struct NAMED(ends) * ends,
                                     bool perfused)
{
    enum { LINE = NAMED(LINE) };
    const struct NAMED(alike) alike = *of;
    const REAL *const theta = row->theta;
    const REAL *const ym = row->ym;
    const REAL *const yp = row->yp;
    const REAL *const field = row->u;
    const REAL *const above = row->u + row->step[FACE_Z_MAX];
    const REAL *const fetched = above + row->fetch;
    REAL *const z = row->z;
    REAL *const temperature = row->temperature;
    REAL *const out = row->out;
    const bool streamed = row->streamed;
    REAL numbers[NONLINEAR_NUMBERS];
    struct NAMED(window) window;
    memcpy(numbers, alike.numbers, sizeof numbers);
    const REAL rx = numbers[NONLINEAR_R];
    const REAL ry = numbers[NONLINEAR_R + 1];
    const REAL rz = numbers[NONLINEAR_R + 2];
    NAMED(window_load)(&alike.lookup->window, NAMED(THETA_AT), 3, &window);
    if (perfused) {
        NAMED(window_load)(&alike.lookup->window, NAMED(T_AT), 2, &window);
    }
    for (; i < end; i += LINE) {
        REAL next[LINE];
        REAL warm[LINE];
        REAL u[LINE];
        REAL g[SIDE_COUNT][LINE];
        REAL d[SIDE_COUNT][LINE];
        if (!NAMED(line_within)(above + i, window.from, window.to)) {
            break;
        }
        stream_fetch(STREAM_SECOND_LEVEL, fetched + i);
        NAMED(window_theta)(&window, above + i, next);
        if (perfused) {
            NAMED(window_temperature)(&window, above + i, warm);
        }
        if (ends != NULL) {
            NAMED(cross_ends)(ends, theta + i, rx, g, d);
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            const int64_t at = i + c;
            const REAL own = theta[at];
            const REAL source =
                perfused ? NAMED(nonlinear_source)(numbers, alike.q, temperature[at]) : alike.q;
            u[c] = field[at] + NAMED(nonlinear_sum)(
                                   ends != NULL ? g[SIDE_MIN][c] : rx,
                                   ends != NULL ? g[SIDE_MAX][c] : rx, ry, ry, rz, rz,
                                   ends != NULL ? d[SIDE_MIN][c] : theta[at - 1] - own,
                                   ends != NULL ? d[SIDE_MAX][c] : theta[at + 1] - own,
                                   ym[at] - own, yp[at] - own, z[at] - own, next[c] - own, source);
        }
        memcpy(z + i, next, sizeof next);
        if (perfused) {
            memcpy(temperature + i, warm, sizeof warm);
        }
        if (streamed) {
            stream_whole(out + i, u);
        } else {
            memcpy(out + i, u, sizeof u);
        }
    }
    return i;
}

#if STREAM_HAS_WIDE
/* The same lines where the output is streamed; there is one at least. The segments of the line
 * above are sought two lines ahead, and theta is evaluated one line ahead: the work of a line is a
 * long chain, and by itself the processor overlaps too few of them. What was found ahead outside
 * the window is not used. */
KERNEL_INLINE int64_t NAMED(advance_ahead)(const struct NAMED(row) * row,
                                           const struct NAMED(alike) * alike, int64_t i,
                                           int64_t end)
{
    enum { LINE = NAMED(LINE) };
    const REAL *const theta = row->theta;
    const REAL *const ym = row->ym;
    const REAL *const yp = row->yp;
    const REAL *const field = row->u;
    const REAL *const above = row->u + row->step[FACE_Z_MAX];
    const REAL *const fetched = above + row->fetch;
    REAL *const z = row->z;
    REAL *const out = row->out;
    REAL rx[LINE];
    REAL ry[LINE];
    REAL rz[LINE];
    REAL q[LINE];
    REAL first[LINE];
    struct NAMED(window) window;
    stream_line_store(NAMED(stream_line_of)(alike->numbers[NONLINEAR_R]), rx);
    stream_line_store(NAMED(stream_line_of)(alike->numbers[NONLINEAR_R + 1]), ry);
    stream_line_store(NAMED(stream_line_of)(alike->numbers[NONLINEAR_R + 2]), rz);
    stream_line_store(NAMED(stream_line_of)(alike->q), q);
    NAMED(window_load)(&alike->lookup->window, NAMED(THETA_AT), 3, &window);
    NAMED(window_theta)(&window, above + i, first);
    struct stream_line next = stream_line_load(first);
    struct stream_line cells = stream_line_load(above + (i + LINE < end ? i + LINE : i));
    struct stream_line at = NAMED(stream_line_find)(cells, window.begin);
    for (; i < end && NAMED(line_within)(above + i, window.from, window.to); i += LINE) {
        const int64_t ahead = i + 2 * LINE < end ? i + 2 * LINE : end - LINE;
        REAL zp[LINE];
        REAL u[LINE];
        REAL beyond[LINE];
        REAL of[3][LINE];
        REAL after[LINE];
        stream_fetch(STREAM_SECOND_LEVEL, fetched + i);
        stream_fetch(STREAM_FIRST_LEVEL, above + i + FETCH_LINES * LINE);
        stream_line_store(next, zp);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            const int64_t x = i + c;
            const REAL own = theta[x];
            u[c] =
                field[x] + NAMED(nonlinear_sum)(rx[c], rx[c], ry[c], ry[c], rz[c], rz[c],
                                                theta[x - 1] - own, theta[x + 1] - own, ym[x] - own,
                                                yp[x] - own, z[x] - own, zp[c] - own, q[c]);
        }
        stream_line_store(next, z + i);
        NAMED(window_choose)(&window, cells, at, NAMED(THETA_AT), 3, beyond, of);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            after[c] = NAMED(nonlinear_theta_of)(beyond[c], of[0][c], of[1][c], of[2][c]);
        }
        next = stream_line_load(after);
        cells = stream_line_load(above + ahead);
        at = NAMED(stream_line_find)(cells, window.begin);
        stream_whole(out + i, u);
    }
    return i;
}
#endif

static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(advance_alike)(
    const struct NAMED(row) * row, const struct NAMED(alike) * of, int64_t i, int64_t end)
{
#if STREAM_HAS_WIDE
    if (row->streamed) {
        return NAMED(advance_ahead)(row, of, i, end);
    }
#endif
    return NAMED(advance)(row, of, i, end, NULL, false);
}

static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(advance_perfused)(
    const struct NAMED(row) * row, const struct NAMED(alike) * of, int64_t i, int64_t end)
{
    return NAMED(advance)(row, of, i, end, NULL, true);
}

/* One line with such ends. Returns the next one, or i when its line above is not in the window. */
static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(advance_ends)(
    const struct NAMED(row) * row, const struct NAMED(alike) * of, int64_t i,
    const struct NAMED(ends) * ends)
{
    return row->temperature != NULL ? NAMED(advance)(row, of, i, i + NAMED(LINE), ends, true)
                                    : NAMED(advance)(row, of, i, i + NAMED(LINE), ends, false);
}

/* How a face between cells of two classes is. */
KERNEL_INLINE REAL NAMED(contact_of)(const struct NAMED(stencil) * s, int axis, int own, int other)
{
    return s->table[medium_g_at(s->medium->nclasses, axis, own, other)];
}

/* The ends of n cells of one class from cell i on. */
static void NAMED(find_ends)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                             int64_t i, int64_t n, int of_class, struct NAMED(ends) * ends)
{
    const struct medium_args *m = s->medium;
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int face = FACE_X_MIN + side;
        const int64_t c = side == SIDE_MIN ? i : i + n - 1;
        ends->is[side] = NAMED(is_at_end)(row, side, c) ||
                         (!m->one_curve &&
                          NAMED(contact_of)(s, AXIS_X, of_class,
                                            row->classes[c + row->to_class[face]] & m->mask) >= 0);
        if (ends->is[side]) {
            const struct NAMED(cell)
                cell = {.at = {row->first[AXIS_X] + c, row->first[AXIS_Y], row->first[AXIS_Z]},
                        .class_of = row->classes + c,
                        .u = row->u + c,
                        .of_class = m->nclasses == 1 ? 0 : row->classes[c] & m->mask,
                        .is = NAMED(evaluate)(s, of_class, row->u[c])};
            ends->g[side] = NAMED(cross)(s, &cell, face, &ends->d[side]);
        }
    }
}

/* Whether the line from cell i on, alike but for its ends, is open in y and z. */
static bool NAMED(is_open_between)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                   int64_t i, const struct NAMED(alike) * alike)
{
    enum { LAST = NAMED(LINE) - 1 };
    const uint8_t *classes = row->classes + i;
    uint8_t line[NAMED(LINE)];
    if (alike->mask == 0) {
        return true;
    }
    memcpy(line, classes, sizeof line);
    for (int c = 0; c <= LAST && !s->medium->one_curve; c += LAST) {
        if ((line[c] & CLASS_FLAG) == 0) { /* a contact, in x only? */
            for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
                if ((classes[c + row->to_class[face]] & s->medium->mask) != alike->of_class) {
                    return false;
                }
            }
            line[c] |= CLASS_FLAG;
        }
    }
    return NAMED(line_is)(line, alike);
}

/* The lines from cell i on, if they are of one class that touches no other in y and z. Returns the
 * first that is not. */
static int64_t NAMED(advance_open)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                   int64_t i)
{
    enum { LINE = NAMED(LINE) };
    struct NAMED(alike) alike;
    const int64_t last = row->n - LINE;
    const int64_t end = row->on[FACE_X_MAX] ? last : last + 1; /* exclusive, of lines */
    if (i > last || !NAMED(alike_around)(s, row->classes + i + 1, &alike) ||
        !NAMED(lookup_reach)(alike.lookup, row->u + row->step[FACE_Z_MAX] + i)) {
        return i;
    }
    if (!NAMED(is_at_end)(row, SIDE_MIN, i) && !NAMED(is_at_end)(row, SIDE_MAX, i + LINE - 1) &&
        NAMED(line_is)(row->classes + i, &alike)) {
        const int64_t until = NAMED(alike_until)(row->classes, i, end, &alike);
        return row->temperature != NULL ? NAMED(advance_perfused)(row, &alike, i, until)
                                        : NAMED(advance_alike)(row, &alike, i, until);
    }
    if (NAMED(is_open_between)(s, row, i, &alike)) {
        struct NAMED(ends) ends;
        NAMED(find_ends)(s, row, i, LINE, alike.of_class, &ends);
        return NAMED(advance_ends)(row, &alike, i, &ends);
    }
    return i;
}
