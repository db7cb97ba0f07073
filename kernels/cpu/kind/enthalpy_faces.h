/* Lines with faces in y and z, and rows, of enthalpy.c, in one precision (precisions.h). */

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
    const struct device_medium *m = s->medium;
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
        const struct NAMED(ends) of_line = NAMED(ends_of)(ends, at == 0, at + LINE == run->n);
        REAL g[SIDE_COUNT][LINE];
        REAL d[SIDE_COUNT][LINE];
        REAL u[LINE];
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
    NAMED(find_end)(s, row, SIDE_MIN, i, faces->of_class, &ends);
    NAMED(find_end)(s, row, SIDE_MAX, i + run.n - 1, faces->of_class, &ends);
    NAMED(tally_end)(s, row, SIDE_MIN, i, &ends);
    NAMED(tally_end)(s, row, SIDE_MAX, i + run.n - 1, &ends);
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
