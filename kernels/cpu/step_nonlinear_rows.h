/* The rows of step_nonlinear.c in one precision. Included after step_nonlinear_lines.h, in the same
 * way. */

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

static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(advance_alike)(
    const struct NAMED(row) * row, const struct NAMED(alike) * of, int64_t i, int64_t end)
{
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
            const struct NAMED(cell) cell =
                NAMED(cell_at)(s, row->first[AXIS_X] + c, row->first[AXIS_Y], row->first[AXIS_Z]);
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

/* --- other lines of one class ---------------------------------------------------------------- */

/* The most cells that are advanced face by face at once: they stay in the L1 cache. */
enum { NAMED(RUN) = 16 * NAMED(LINE) };

/* A face in y or z of lines of one class each. */
struct NAMED(face) {
    enum nonlinear_face is;
    int of_class; /* beyond it */
    const REAL *closure;
    REAL w, other_w, contact;
};

struct NAMED(faces) {
    int of_class;   /* of the line */
    bool evaluates; /* T and k are needed */
    struct NAMED(face) of[FACE_COUNT];
};

/* Whether a line has the classes of `faces`, and so have those beside it. */
KERNEL_INLINE bool NAMED(has_faces)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                    int64_t i, const struct NAMED(faces) * faces)
{
    const uint8_t *classes = row->classes + i;
    bool is = s->medium->nclasses == 1 || NAMED(is_class)(s, classes, faces->of_class);
    for (int face = FACE_Y_MIN; face < FACE_COUNT && !s->medium->one_curve; face++) {
        is = is && (faces->of[face].is == FACE_CLOSED ||
                    NAMED(is_class)(s, classes + row->to_class[face], faces->of[face].of_class));
    }
    return is;
}

/* The faces of the line from cell i on. Returns whether it is of one class, and those beside it are
 * too; else it must be advanced cell by cell. */
static bool NAMED(find_faces)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                              int64_t i, struct NAMED(faces) * faces)
{
    const struct medium_args *m = s->medium;
    const uint8_t *classes = row->classes + i;
    const int own = m->nclasses == 1 ? 0 : *classes & m->mask;
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * own;
    bool evaluates = false;
    faces->of_class = own;
    for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
        struct NAMED(face) *f = &faces->of[face];
        const bool closed = row->on[face];
        f->is = closed ? FACE_CLOSED : FACE_OPEN;
        f->of_class = m->one_curve || closed ? own : classes[row->to_class[face]] & m->mask;
        f->w = numbers[NONLINEAR_W + face / 2];
        if (closed) {
            f->closure = s->table + medium_closure_at(m->nclasses, m->nclosures, face, own);
            if (m->d_patch[face] != NULL || f->closure[2] != 0) {
                return false;
            }
        } else if (!m->one_curve) {
            f->contact = NAMED(contact_of)(s, face / 2, own, f->of_class);
            f->is = f->contact >= 0 ? FACE_COUPLED : FACE_OPEN;
            f->other_w = s->numbers[NONLINEAR_NUMBERS * f->of_class + NONLINEAR_W + face / 2];
        }
        evaluates = evaluates || f->is != FACE_OPEN;
    }
    faces->evaluates = evaluates;
    return NAMED(has_faces)(s, row, i, faces) &&
           (m->one_curve || NAMED(contact_of)(s, AXIS_X, own, own) < 0);
}

/* Cells that are advanced face by face: what S begins with, to which their flows are added in the
 * order of nonlinear_sum. */
struct NAMED(run) {
    int64_t i, n;
    REAL sum[NAMED(RUN)], temperature[NAMED(RUN)], conductivity[NAMED(RUN)];
    REAL next[NAMED(RUN)];                         /* theta of the cells above */
    REAL other_t[NAMED(RUN)], other_k[NAMED(RUN)]; /* of those across a face */
} __attribute__((aligned(STREAM_LINE_BYTES)));

static STREAM_WIDE void NAMED(add_open)(REAL r, const REAL *theta, const REAL *other,
                                        struct NAMED(run) * run)
{
#pragma omp simd
    for (int64_t c = 0; c < run->n; c++) {
        run->sum[c] = FMA(r, other[c] - theta[c], run->sum[c]);
    }
}

static STREAM_WIDE void NAMED(add_closed)(const struct NAMED(face) * f, struct tally *tally,
                                          struct NAMED(run) * run)
{
    const REAL closure[4] = {f->closure[0], f->closure[1], 0, f->closure[3]};
    const REAL w = f->w;
    double flow[NAMED(RUN)];
#pragma omp simd
    for (int64_t c = 0; c < run->n; c++) {
        const REAL g = run->conductivity[c] / w;
        const REAL d = NAMED(nonlinear_face)(closure, g, run->temperature[c]);
        run->sum[c] = FMA(g, d, run->sum[c]);
        flow[c] = (double)g * (double)d;
    }
    if (tally->target != NULL) {
        tally_add_float64(tally, flow, run->n);
    }
}

static STREAM_WIDE void NAMED(add_coupled)(const struct NAMED(face) * f, struct NAMED(run) * run)
{
    const REAL w = f->w;
    const REAL other_w = f->other_w;
    const REAL contact = f->contact;
#pragma omp simd
    for (int64_t c = 0; c < run->n; c++) {
        const REAL g =
            NAMED(nonlinear_g)(run->conductivity[c], w, run->other_k[c], other_w, contact);
        run->sum[c] = FMA(g, run->other_t[c] - run->temperature[c], run->sum[c]);
    }
}

/* Add the flows through a face in y or z. */
static void NAMED(add_face)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                            const struct NAMED(faces) * faces, int face, struct NAMED(run) * run)
{
    const struct NAMED(face) *f = &faces->of[face];
    const REAL *u = row->u + row->step[face] + run->i;
    const REAL *const others[FACE_COUNT] = {[FACE_Y_MIN] = row->ym + run->i,
                                            [FACE_Y_MAX] = row->yp + run->i,
                                            [FACE_Z_MIN] = row->z + run->i,
                                            [FACE_Z_MAX] = run->next};
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * faces->of_class;
    if (f->is == FACE_CLOSED) {
        NAMED(add_closed)(f, &s->tally[face], run);
    } else if (f->is == FACE_COUPLED) {
        NAMED(lookup_conduct)
        (NAMED(lookup_of)(s, f->of_class), u, run->n, run->other_t, run->other_k);
        NAMED(add_coupled)(f, run);
    } else {
        NAMED(add_open)(numbers[NONLINEAR_R + face / 2], row->theta + run->i, others[face], run);
    }
}

/* Add the flows in x, and write the cells. */
static STREAM_WIDE void NAMED(end_run)(const struct NAMED(row) * row,
                                       const struct NAMED(ends) * ends, REAL r,
                                       const struct NAMED(run) * run)
{
    enum { LINE = NAMED(LINE) };
    for (int64_t at = 0; at < run->n; at += LINE) {
        const int64_t i = run->i + at;
        const REAL *sum = run->sum + at;
        struct NAMED(ends) of_line = *ends;
        REAL g[SIDE_COUNT][LINE];
        REAL d[SIDE_COUNT][LINE];
        REAL u[LINE];
        of_line.is[SIDE_MIN] = ends->is[SIDE_MIN] && at == 0;
        of_line.is[SIDE_MAX] = ends->is[SIDE_MAX] && at + LINE == run->n;
        NAMED(cross_ends)(&of_line, row->theta + i, r, g, d);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            u[c] = row->u[i + c] +
                   FMA(g[SIDE_MIN][c], d[SIDE_MIN][c], FMA(g[SIDE_MAX][c], d[SIDE_MAX][c], sum[c]));
        }
        NAMED(write_line)(row, i, LINE, u);
    }
}

/* What S begins with; and the cells above. */
static void NAMED(begin_run)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                             const struct NAMED(faces) * faces, struct NAMED(run) * run)
{
    const struct NAMED(face) *f = &faces->of[FACE_Z_MAX];
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * faces->of_class;
    const REAL q = s->table[medium_cell_at(faces->of_class) + 1];
    const REAL *above = row->u + row->step[FACE_Z_MAX] + run->i;
    for (int64_t c = 0; c < run->n; c++) {
        run->sum[c] = row->temperature == NULL
                          ? q
                          : NAMED(nonlinear_source)(numbers, q, row->temperature[run->i + c]);
    }
    if (f->is != FACE_CLOSED) {
        struct NAMED(lookup) *lookup = NAMED(lookup_of)(s, f->of_class);
        for (int64_t c = 0; c < run->n; c += NAMED(LINE)) {
            stream_fetch(STREAM_SECOND_LEVEL, above + row->fetch + c);
        }
        NAMED(lookup_theta)(lookup, above, run->n, run->next);
        if (row->temperature != NULL) {
            NAMED(lookup_conduct)
            (lookup, above, run->n, row->temperature + run->i, run->other_k);
        }
    }
}

/* The line from cell i on, for which find_faces has found these, and those up to `end` that are
 * like it. Returns the first that is not. */
static int64_t NAMED(advance_faces)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                    int64_t i, int64_t end, const struct NAMED(faces) * faces)
{
    enum { LINE = NAMED(LINE), RUN = NAMED(RUN) };
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * faces->of_class;
    struct NAMED(run) run;
    struct NAMED(ends) ends;
    run.i = i;
    run.n = LINE;
    while (run.n < RUN && i + run.n < end && NAMED(has_faces)(s, row, i + run.n, faces)) {
        run.n += LINE;
    }
    NAMED(find_ends)(s, row, i, run.n, faces->of_class, &ends);
    NAMED(begin_run)(s, row, faces, &run);
    if (faces->evaluates) {
        NAMED(lookup_conduct)
        (NAMED(lookup_of)(s, faces->of_class), row->u + i, run.n, run.temperature,
         run.conductivity);
    }
    for (int face = FACE_Z_MAX; face >= FACE_Y_MIN; face--) {
        NAMED(add_face)(s, row, faces, face, &run);
    }
    NAMED(end_run)(row, &ends, numbers[NONLINEAR_R], &run);
    if (faces->of[FACE_Z_MAX].is != FACE_CLOSED) {
        memcpy(row->z + i, run.next, (size_t)run.n * sizeof(REAL));
    }
    return i + run.n;
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

/* Advance a row, and evaluate the one above. */
static void NAMED(step_lines)(const struct NAMED(stencil) * s, const struct NAMED(row) * row)
{
    enum { LINE = NAMED(LINE) };
    const int64_t whole = row->n / LINE * LINE;
    for (int64_t i = 0; i < row->n;) {
        const int64_t begin = i;
        struct NAMED(faces) faces;
        if (!row->on_any) {
            i = NAMED(advance_open)(s, row, i);
        }
        if (i == begin && i < whole && NAMED(find_faces)(s, row, i, &faces)) {
            i = NAMED(advance_faces)(s, row, i, whole, &faces);
        }
        if (i == begin) {
            NAMED(step_line)(s, row, i, row->n - i < LINE ? row->n - i : LINE);
            i += LINE;
        }
    }
}
