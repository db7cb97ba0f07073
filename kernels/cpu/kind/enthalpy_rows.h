/* Open lines of enthalpy.c. */

/* --- open lines of one class ----------------------------------------------------------------- */

/* Whether a cell lies on that closed end of its row. */
KERNEL_INLINE bool is_at_end(const struct row *row, int side, int64_t i)
{
    return row->on[FACE_X_MIN + side] && i == (side == SIDE_MIN ? 0 : row->n - 1);
}

/* The faces in x of the first and the last cell of a line that are closed or coupled. */
struct ends {
    bool is[SIDE_COUNT];
    REAL g[SIDE_COUNT], d[SIDE_COUNT];
};

/* Those of a line that is the first or the last one of several, or both. */
KERNEL_INLINE struct ends ends_of(const struct ends *ends, bool is_first, bool is_last)
{
    return (struct ends){{ends->is[SIDE_MIN] && is_first, ends->is[SIDE_MAX] && is_last},
                         {ends->g[SIDE_MIN], ends->g[SIDE_MAX]},
                         {ends->d[SIDE_MIN], ends->d[SIDE_MAX]}};
}

/* g and d of the faces in x of a line. */
KERNEL_INLINE void cross_ends(const struct ends *ends, const REAL *theta, REAL r, REAL g[][LINE],
                              REAL d[][LINE])
{
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int end = !ends->is[side] ? LINE : side == SIDE_MIN ? 0 : LINE - 1;
        const REAL *other = theta + (side == SIDE_MIN ? -1 : 1);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            g[side][c] = r;
            d[side][c] = other[c] - theta[c];
        }
        line_set(g[side], end, ends->g[side]);
        line_set(d[side], end, ends->d[side]);
    }
}

/* Lines [i, end) of a row, up to the first whose line above is not in the window. That is evaluated
 * here: theta of a cell is stored once, and read as that of the cell itself, of its neighbours in y
 * and of the cell below. `ends`: of one line; NULL: open. */
KERNEL_INLINE int64_t advance(const struct row *row, const struct alike *of, int64_t i, int64_t end,
                              const struct ends *ends, bool perfused)
{
    const struct alike alike = *of;
    const REAL *const theta = row->theta;
    const REAL *const ym = row->ym;
    const REAL *const yp = row->yp;
    const REAL *const base = row->base;
    const REAL *const above = row->u + row->step[FACE_Z_MAX];
    const REAL *const fetched = above + row->fetch;
    REAL *const z = row->z;
    REAL *const temperature = row->temperature;
    REAL *const out = row->out;
    const bool streamed = row->streamed;
    REAL numbers[NONLINEAR_NUMBERS];
    struct window window;
    memcpy(numbers, alike.numbers, sizeof numbers);
    const REAL rx = numbers[NONLINEAR_R];
    const REAL ry = numbers[NONLINEAR_R + 1];
    const REAL rz = numbers[NONLINEAR_R + 2];
    window_load(&alike.lookup->window, THETA_AT, 3, &window);
    if (perfused) {
        window_load(&alike.lookup->window, T_AT, 2, &window);
    }
    for (; i < end; i += LINE) {
        REAL next[LINE];
        REAL warm[LINE];
        REAL u[LINE];
        REAL g[SIDE_COUNT][LINE];
        REAL d[SIDE_COUNT][LINE];
        if (!line_within(above + i, window.from, window.to)) {
            break;
        }
        stream_fetch(STREAM_SECOND_LEVEL, fetched + i);
        stream_fetch(STREAM_FIRST_LEVEL, above + i + FETCH_LINES * LINE);
        window_theta(&window, above + i, next);
        if (perfused) {
            window_temperature(&window, above + i, warm);
        }
        if (ends != NULL) {
            cross_ends(ends, theta + i, rx, g, d);
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            const int64_t at = i + c;
            const REAL own = theta[at];
            const REAL source =
                perfused ? NAMED(nonlinear_source)(numbers, alike.q, temperature[at]) : alike.q;
            u[c] = base[at] + NAMED(nonlinear_sum)(
                                  ends != NULL ? g[SIDE_MIN][c] : rx,
                                  ends != NULL ? g[SIDE_MAX][c] : rx, ry, ry, rz, rz,
                                  ends != NULL ? d[SIDE_MIN][c] : theta[at - 1] - own,
                                  ends != NULL ? d[SIDE_MAX][c] : theta[at + 1] - own, ym[at] - own,
                                  yp[at] - own, z[at] - own, next[c] - own, source);
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

/* The same lines, of which the first and the last one may have `ends`. */
KERNEL_INLINE int64_t advance_each(const struct row *row, const struct alike *alike, int64_t i,
                                   int64_t end, const struct ends *ends, bool perfused)
{
    const int64_t last = ends->is[SIDE_MAX] ? end - LINE : end;
    if (ends->is[SIDE_MIN]) {
        const struct ends of_line = ends_of(ends, true, i == last);
        const int64_t next = advance(row, alike, i, i + LINE, &of_line, perfused);
        if (next == i) {
            return i;
        }
        i = next;
    }
    i = advance(row, alike, i, last, NULL, perfused);
    if (i == last && i < end) {
        const struct ends of_line = ends_of(ends, false, true);
        i = advance(row, alike, i, end, &of_line, perfused);
    }
    return i;
}

static STREAM_WIDE __attribute__((noinline)) int64_t advance_alike(const struct row *row,
                                                                   const struct alike *alike,
                                                                   int64_t i, int64_t end,
                                                                   const struct ends *ends)
{
    return row->temperature != NULL ? advance_each(row, alike, i, end, ends, true)
                                    : advance_each(row, alike, i, end, ends, false);
}

/* How a face between cells of two classes is. */
KERNEL_INLINE REAL contact_of(const struct stencil *s, int axis, int own, int other)
{
    return s->table[medium_g_at(s->medium->nclasses, axis, own, other)];
}

/* The end of cells of one class, at cell i. */
static void find_end(const struct stencil *s, const struct row *row, int side, int64_t i,
                     int of_class, struct ends *ends)
{
    const struct device_medium *m = s->medium;
    const int face = FACE_X_MIN + side;
    const bool closed = is_at_end(row, side, i);
    ends->is[side] = closed || (!m->one_curve &&
                                contact_of(s, AXIS_X, of_class,
                                           row->classes[i + row->to_class[face]] & m->mask) >= 0);
    if (closed) {
        ends->g[side] = s->scratch->g[side][row->of_tile];
        ends->d[side] = s->scratch->d[side][row->of_tile];
    } else if (ends->is[side]) {
        const struct cell cell = {
            .at = {row->first[AXIS_X] + i, row->first[AXIS_Y], row->first[AXIS_Z]},
            .class_of = row->classes + i,
            .u = row->u + i,
            .of_class = of_class,
            .is = evaluate(s, of_class, row->u[i])};
        ends->g[side] = cross(s, &cell, face, &ends->d[side]);
    }
}

/* Count what flows through the end of a row at cell i. */
static void tally_row_end(const struct stencil *s, const struct row *row, int side, int64_t i,
                          const struct ends *ends)
{
    if (is_at_end(row, side, i)) {
        tally_face(s, FACE_X_MIN + side, ends->g[side], ends->d[side]);
    }
}

/* Whether the line from cell i on, alike but for its ends, is open in y and z. */
static bool is_open_between(const struct stencil *s, const struct row *row, int64_t i,
                            const struct alike *alike)
{
    enum { LAST = LINE - 1 };
    const uint8_t *classes = row->classes + i;
    uint8_t line[LINE];
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
    return line_is(line, alike);
}

/* The lines from cell i on, if they are of one class that touches no other in y and z; in x the
 * first and the last one may. Returns the first line that is not. */
static int64_t advance_open(const struct stencil *s, const struct row *row, int64_t i)
{
    struct alike alike;
    struct ends ends = {{false, false}, {0, 0}, {0, 0}};
    const int64_t whole = row->n / LINE * LINE; /* exclusive, of lines */
    const int64_t open = row->on[FACE_X_MAX] && whole == row->n ? whole - LINE : whole;
    int64_t until = i + LINE;
    if (i == whole || !alike_around(s, row->classes + i + 1, &alike) ||
        !lookup_reach(alike.lookup, row->u + row->step[FACE_Z_MAX] + i)) {
        return i;
    }
    const bool first_has_ends = is_at_end(row, SIDE_MIN, i) ||
                                is_at_end(row, SIDE_MAX, until - 1) ||
                                !line_is(row->classes + i, &alike);
    if (first_has_ends && !is_open_between(s, row, i, &alike)) {
        return i;
    }
    until = until < open ? alike_until(row->classes, until, open, &alike) : until;
    const bool last_has_end = until < whole && is_open_between(s, row, until, &alike);
    until += last_has_end ? LINE : 0;
    if (first_has_ends) {
        find_end(s, row, SIDE_MIN, i, alike.of_class, &ends);
    }
    if (last_has_end || first_has_ends) {
        find_end(s, row, SIDE_MAX, until - 1, alike.of_class, &ends);
    }
    const int64_t next = advance_alike(row, &alike, i, until, &ends);
    if (next > i) {
        tally_row_end(s, row, SIDE_MIN, i, &ends);
    }
    if (next == until) {
        tally_row_end(s, row, SIDE_MAX, until - 1, &ends);
    }
    return next;
}
