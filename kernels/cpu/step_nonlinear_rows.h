/* The rows of step_nonlinear.c in one precision. Included after step_nonlinear_lines.h, in the same
 * way. */

/* --- open lines of one class ----------------------------------------------------------------- */

/* Lines [i, end) of a row, up to the first that is not alike or whose line above is not in the
 * window. That is evaluated here: theta of a cell is stored once, and read as that of the cell
 * itself, of its neighbours in y and of the cell below. */
KERNEL_INLINE int64_t NAMED(advance)(const struct NAMED(row) * row, const struct NAMED(alike) * of,
                                     int64_t i, int64_t end, bool reads_classes, bool perfused)
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
        if ((reads_classes && !NAMED(line_is)(row->classes + i, &alike)) ||
            !NAMED(line_within)(above + i, window.from, window.to)) {
            break;
        }
        stream_fetch(STREAM_SECOND_LEVEL, fetched + i);
        NAMED(window_theta)(&window, above + i, next);
        if (perfused) {
            NAMED(window_temperature)(&window, above + i, warm);
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            const int64_t at = i + c;
            const REAL own = theta[at];
            const REAL source =
                perfused ? NAMED(nonlinear_source)(numbers, alike.q, temperature[at]) : alike.q;
            u[c] = field[at] + NAMED(nonlinear_sum)(rx, rx, ry, ry, rz, rz, theta[at - 1] - own,
                                                    theta[at + 1] - own, ym[at] - own, yp[at] - own,
                                                    z[at] - own, next[c] - own, source);
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

#define DEFINE_ADVANCE(name, reads_classes, perfused)                                              \
    static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(name)(                              \
        const struct NAMED(row) * row, const struct NAMED(alike) * of, int64_t i, int64_t end)     \
    {                                                                                              \
        return NAMED(advance)(row, of, i, end, reads_classes, perfused);                           \
    }
DEFINE_ADVANCE(advance_alike, false, false)
DEFINE_ADVANCE(advance_classes, true, false)
DEFINE_ADVANCE(advance_perfused, true, true)
#undef DEFINE_ADVANCE

/* --- other lines of one class ---------------------------------------------------------------- */

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
    bool ends[SIDE_COUNT]; /* its first and its last cell: closed or coupled in x, by */
    REAL g[SIDE_COUNT], d[SIDE_COUNT];
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

/* How a face between cells of two classes is. */
KERNEL_INLINE REAL NAMED(contact_of)(const struct NAMED(stencil) * s, int axis, int own, int other)
{
    return s->table[medium_g_at(s->medium->nclasses, axis, own, other)];
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
    if (!NAMED(has_faces)(s, row, i, faces) ||
        (!m->one_curve && NAMED(contact_of)(s, AXIS_X, own, own) >= 0)) {
        return false;
    }
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int face = FACE_X_MIN + side;
        const int64_t c = side == SIDE_MIN ? 0 : NAMED(LINE) - 1;
        faces->ends[side] =
            (row->on[face] && i + c == (side == SIDE_MIN ? 0 : row->n - 1)) ||
            (!m->one_curve &&
             NAMED(contact_of)(s, AXIS_X, own, classes[c + row->to_class[face]] & m->mask) >= 0);
        if (faces->ends[side]) {
            const struct NAMED(cell) cell = NAMED(cell_at)(s, row->first[AXIS_X] + i + c,
                                                           row->first[AXIS_Y], row->first[AXIS_Z]);
            faces->g[side] = NAMED(cross)(s, &cell, face, &faces->d[side]);
        }
    }
    return true;
}

/* g and d of a closed face. */
KERNEL_INLINE void NAMED(close_line)(const struct NAMED(face) * f, const struct NAMED(values) * is,
                                     struct tally *tally, REAL *g, REAL *d)
{
    const REAL closure[4] = {f->closure[0], f->closure[1], 0, f->closure[3]};
    const REAL w = f->w;
    double flow[NAMED(LINE)];
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        g[c] = is->conductivity[c] / w;
        d[c] = NAMED(nonlinear_face)(closure, g[c], is->temperature[c]);
        flow[c] = (double)g[c] * (double)d[c];
    }
    if (tally->target != NULL) {
        tally_add_float64(tally, flow, NAMED(LINE));
    }
}

/* g and d of a contact. */
KERNEL_INLINE void NAMED(couple_line)(const struct NAMED(face) * f, const struct NAMED(values) * is,
                                      const struct NAMED(values) * other, REAL *g, REAL *d)
{
    const REAL w = f->w;
    const REAL other_w = f->other_w;
    const REAL contact = f->contact;
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        g[c] = NAMED(nonlinear_g)(is->conductivity[c], w, other->conductivity[c], other_w, contact);
        d[c] = other->temperature[c] - is->temperature[c];
    }
}

/* g and d of all faces of a line. next: above it. */
KERNEL_INLINE void NAMED(cross_line)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                     int64_t i, const struct NAMED(faces) * faces,
                                     const struct NAMED(values) * next, REAL g[][NAMED(LINE)],
                                     REAL d[][NAMED(LINE)])
{
    enum { LINE = NAMED(LINE) };
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * faces->of_class;
    const REAL *theta = row->theta + i;
    const REAL *const others[FACE_COUNT] = {theta - 1,   theta + 1,  row->ym + i,
                                            row->yp + i, row->z + i, next->theta};
    struct NAMED(values) is;
    struct NAMED(values) other;
    for (int face = 0; face < FACE_COUNT; face++) {
        const REAL r = numbers[NONLINEAR_R + face / 2];
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            g[face][c] = r;
            d[face][c] = others[face][c] - theta[c];
        }
    }
    if (faces->evaluates) {
        NAMED(lookup_line)(NAMED(lookup_of)(s, faces->of_class), row->u + i, &is);
    }
    for (int face = FACE_Y_MIN; face < FACE_COUNT && faces->evaluates; face++) {
        const struct NAMED(face) *f = &faces->of[face];
        if (f->is == FACE_CLOSED) {
            NAMED(close_line)(f, &is, &s->tally[face], g[face], d[face]);
        } else if (f->is == FACE_COUPLED && face == FACE_Z_MAX) {
            NAMED(couple_line)(f, &is, next, g[face], d[face]);
        } else if (f->is == FACE_COUPLED) {
            NAMED(lookup_line)
            (NAMED(lookup_of)(s, f->of_class), row->u + row->step[face] + i, &other);
            NAMED(couple_line)(f, &is, &other, g[face], d[face]);
        }
    }
    for (int side = 0; side < SIDE_COUNT; side++) {
        if (faces->ends[side]) {
            const int end = side == SIDE_MIN ? 0 : LINE - 1;
            const REAL end_g = faces->g[side];
            const REAL end_d = faces->d[side];
            /* in vectors: loads of a line wait long for a store of one of its cells */
#pragma omp simd
            for (int c = 0; c < LINE; c++) {
                g[side][c] = c == end ? end_g : g[side][c];
                d[side][c] = c == end ? end_d : d[side][c];
            }
        }
    }
}

/* The line from cell i on, for which find_faces has found these, and those up to `end` that are
 * like it, but not at an end. Returns the first that is not. */
static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(advance_faces)(
    const struct NAMED(stencil) * s, const struct NAMED(row) * row, int64_t i, int64_t end,
    struct NAMED(faces) * faces)
{
    enum { LINE = NAMED(LINE) };
    const struct medium_args *m = s->medium;
    const REAL *const field = row->u;
    const REAL *const above = row->u + row->step[FACE_Z_MAX];
    const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * faces->of_class;
    const REAL q = s->table[medium_cell_at(faces->of_class) + 1];
    const bool open = faces->of[FACE_Z_MAX].is != FACE_CLOSED;
    bool more = true;
    while (more) {
        REAL g[FACE_COUNT][LINE] __attribute__((aligned(STREAM_LINE_BYTES)));
        REAL d[FACE_COUNT][LINE] __attribute__((aligned(STREAM_LINE_BYTES)));
        struct NAMED(values) next = {.theta = {0}};
        REAL u[LINE];
        REAL source[LINE];
        if (open) {
            stream_fetch(STREAM_SECOND_LEVEL, above + row->fetch + i);
            NAMED(lookup_line)
            (NAMED(lookup_of)(s, faces->of[FACE_Z_MAX].of_class), above + i, &next);
        }
        NAMED(cross_line)(s, row, i, faces, &next, g, d);
        for (int c = 0; c < LINE; c++) {
            source[c] = q;
        }
        for (int c = 0; c < LINE && row->temperature != NULL; c++) {
            source[c] = NAMED(nonlinear_source)(numbers, q, row->temperature[i + c]);
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            u[c] = field[i + c] + NAMED(nonlinear_sum)(g[0][c], g[1][c], g[2][c], g[3][c], g[4][c],
                                                       g[5][c], d[0][c], d[1][c], d[2][c], d[3][c],
                                                       d[4][c], d[5][c], source[c]);
        }
        memcpy(row->z + i, next.theta, sizeof next.theta);
        if (row->temperature != NULL) {
            memcpy(row->temperature + i, next.temperature, sizeof next.temperature);
        }
        NAMED(write_line)(row, i, LINE, u);
        i += LINE;
        more = faces->evaluates && !faces->ends[SIDE_MAX] && i < end &&
               NAMED(has_faces)(s, row, i, faces) &&
               (m->one_curve || (row->classes[i + LINE] & m->mask) == faces->of_class);
        faces->ends[SIDE_MIN] = false;
    }
    return i;
}

/* Advance a row, and evaluate the one above. */
static void NAMED(step_lines)(const struct NAMED(stencil) * s, const struct NAMED(row) * row)
{
    enum { LINE = NAMED(LINE) };
    /* the first and the last line of a row may have closed faces */
    const int64_t first = row->on[FACE_X_MIN] ? LINE : 0;
    const int64_t whole = row->n / LINE * LINE;
    const int64_t end = row->on[FACE_X_MAX] && whole == row->n ? whole - LINE : whole;
    for (int64_t i = 0; i < row->n;) {
        const int64_t begin = i;
        struct NAMED(alike) alike;
        struct NAMED(faces) faces;
        if (!row->on_any && i >= first && i < end &&
            NAMED(alike_around)(s, row->classes + i, &alike) &&
            NAMED(lookup_reach)(alike.lookup, row->u + row->step[FACE_Z_MAX] + i)) {
            i = row->temperature != NULL ? NAMED(advance_perfused)(row, &alike, i, end)
                : s->reads_classes       ? NAMED(advance_classes)(row, &alike, i, end)
                                         : NAMED(advance_alike)(row, &alike, i, end);
        }
        if (i == begin && i < whole && NAMED(find_faces)(s, row, i, &faces)) {
            i = NAMED(advance_faces)(s, row, i, end, &faces);
        }
        if (i == begin) {
            NAMED(step_line)(s, row, i, row->n - i < LINE ? row->n - i : LINE);
            i += LINE;
        }
    }
}
