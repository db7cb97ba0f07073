/* Cells with faces of enthalpy.c, and rows. */

/* The most cells that are advanced face by face at once: they stay in the L1 cache. */
enum { RUN = 16 * LINE };

/* Cells that are advanced face by face: what S begins with, to which their flows are added in the
 * order of nonlinear_sum. */
struct run {
    REAL sum[RUN], temperature[RUN], conductivity[RUN];
    REAL next[RUN];           /* theta of the cells above */
    REAL r[AXIS_COUNT][LINE]; /* within a curve, of each cell of a line */
    int64_t i, n;
    /* Lines of one class each, beside which are lines of one class each, without patches and
     * radiation; else at most one line. */
    bool alike;
    bool conducts;                /* T and k are known */
    int of_class[FACE_COUNT + 1]; /* of the cells beyond each face, and of the cells */
} __attribute__((aligned(STREAM_LINE_BYTES)));

/* Whether a line has the classes of a run, and so have those beside it. */
KERNEL_INLINE bool has_classes(const struct stencil *s, const struct row *row, int64_t i,
                               const struct run *run)
{
    const uint8_t *classes = row->classes + i;
    bool is = s->medium->nclasses == 1 || is_class(s, classes, run->of_class[FACE_COUNT]);
    for (int face = FACE_Y_MIN; face < FACE_COUNT && !s->medium->one_curve; face++) {
        is = is &&
             (row->on[face] || is_class(s, classes + row->to_class[face], run->of_class[face]));
    }
    return is;
}

/* The closure of the cells of a class on a face. */
KERNEL_INLINE const REAL *closure_of(const struct stencil *s, int face, int own)
{
    const struct device_medium *m = s->medium;
    return s->table + medium_closure_at(m->nclasses, m->nclosures, face, own);
}

/* Begin a run at cell i, of cells before `end`: what S begins with, and theta of the cells above.
 */
static void begin_run(const struct stencil *s, const struct row *row, int64_t i, int64_t end,
                      struct run *run)
{
    const struct device_medium *m = s->medium;
    const uint8_t *classes = row->classes + i;
    const int own = m->nclasses == 1 ? 0 : *classes & m->mask;
    run->i = i;
    run->n = end - i < LINE ? end - i : LINE;
    run->conducts = false;
    run->of_class[FACE_COUNT] = own;
    run->alike = run->n == LINE && (m->one_curve || contact_of(s, AXIS_X, own, own) < 0);
    for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
        const bool other = !m->one_curve && !row->on[face];
        run->of_class[face] = other ? classes[row->to_class[face]] & m->mask : own;
        run->alike =
            run->alike &&
            !(row->on[face] && (m->d_patch[face] != NULL || closure_of(s, face, own)[2] != 0));
    }
    run->alike = run->alike && has_classes(s, row, i, run);
    while (run->alike && run->n < RUN && i + run->n + LINE <= end &&
           has_classes(s, row, i + run->n, run)) {
        run->n += LINE;
    }
    REAL q[LINE];
    for (int c = 0; c < LINE; c++) { /* beyond n as the last cell */
        const int of = run->alike ? own : classes[c < run->n ? c : run->n - 1] & m->mask;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            run->r[axis][c] = s->numbers[NONLINEAR_NUMBERS * of + NONLINEAR_R + axis];
        }
        q[c] = s->table[medium_cell_at(of) + 1];
    }
    for (int64_t at = 0; at < run->n; at += LINE) {
        memcpy(run->sum + at, q, sizeof q);
    }
    for (int64_t c = 0; c < run->n && row->temperature != NULL; c++) {
        const int of = run->alike ? own : classes[c] & m->mask;
        run->sum[c] = NAMED(nonlinear_source)(s->numbers + (int64_t)NONLINEAR_NUMBERS * of,
                                              run->sum[c], row->temperature[i + c]);
    }
}

/* Evaluate the cells above those of a run. */
static void evaluate_above(const struct stencil *s, const struct row *row, struct run *run)
{
    const REAL *above = row->u + row->step[FACE_Z_MAX] + run->i;
    if (run->alike && row->temperature == NULL) {
        lookup_theta(lookup_of(s, run->of_class[FACE_Z_MAX]), above, row->fetch, run->n, run->next);
        return;
    }
    for (int64_t c = 0; c < run->n; c += LINE) {
        struct values values;
        stream_fetch(STREAM_SECOND_LEVEL, above + row->fetch + c);
        evaluate_line(s, row->classes + row->to_class[FACE_Z_MAX] + run->i + c, above + c,
                      run->n < LINE ? run->n : LINE, &values);
        memcpy(run->next + c, values.theta, sizeof values.theta);
        if (row->temperature != NULL) {
            memcpy(row->temperature + run->i + c, values.temperature, sizeof values.temperature);
        }
    }
}

/* The cells of a line of a run at a closed face or at a contact, as bits. */
static uint32_t other_cells(const struct stencil *s, const struct row *row, const struct run *run,
                            int face)
{
    const int nclasses = s->medium->nclasses;
    const int n = run->n < LINE ? (int)run->n : LINE;
    const uint8_t *own = row->classes + run->i;
    const REAL *contacts = s->table + medium_g_at(nclasses, face / 2, 0, 0);
    uint32_t other = 0;
    if (face / 2 != AXIS_X && row->on[face]) {
        return (UINT32_C(1) << n) - 1;
    }
    if (run->alike) {
        const int of_class = run->of_class[FACE_COUNT];
        return !s->medium->one_curve && contacts[nclasses * of_class + run->of_class[face]] >= 0
                   ? (UINT32_C(1) << n) - 1
                   : 0;
    }
    for (int c = 0; c < n && !s->medium->one_curve; c++) {
        const REAL contact = contacts[nclasses * (own[c] & s->medium->mask) +
                                      (own[c + row->to_class[face]] & s->medium->mask)];
        other |= (uint32_t)(contact >= 0) << c;
    }
    if (face == FACE_X_MIN && row->on[face] && run->i == 0) {
        other |= 1;
    } else if (face == FACE_X_MAX && row->on[face] && run->i + run->n == row->n) {
        other |= UINT32_C(1) << (n - 1);
    }
    return other;
}

/* Add the flows through a face in y or z that all cells of alike lines have closed, or coupled with
 * cells of one class. */
static STREAM_WIDE void add_alike(const struct stencil *s, const struct row *row, struct run *run,
                                  int face)
{
    const int own = run->of_class[FACE_COUNT];
    const int beyond = run->of_class[face];
    const REAL w = s->numbers[NONLINEAR_NUMBERS * own + NONLINEAR_W + face / 2];
    const REAL *u = row->u + run->i;
    if (!run->conducts) {
        lookup_conduct(lookup_of(s, own), u, run->n, run->temperature, run->conductivity);
        run->conducts = true;
    }
    if (row->on[face]) {
        const REAL *of = closure_of(s, face, own);
        const REAL closure[4] = {of[0], of[1], 0, of[3]};
        double flow[RUN];
#pragma omp simd
        for (int64_t c = 0; c < run->n; c++) {
            const REAL g = run->conductivity[c] / w;
            const REAL d = NAMED(nonlinear_face)(closure, g, run->temperature[c]);
            run->sum[c] = FMA(g, d, run->sum[c]);
            flow[c] = (double)g * (double)d;
        }
        if (s->tally[face].target != NULL) {
            tally_add_float64(&s->tally[face], flow, run->n);
        }
        return;
    }
    const REAL other_w = s->numbers[NONLINEAR_NUMBERS * beyond + NONLINEAR_W + face / 2];
    const REAL contact = contact_of(s, face / 2, own, beyond);
    REAL temperature[RUN];
    REAL conductivity[RUN];
    lookup_conduct(lookup_of(s, beyond), u + row->step[face], run->n, temperature, conductivity);
#pragma omp simd
    for (int64_t c = 0; c < run->n; c++) {
        const REAL g =
            NAMED(nonlinear_g)(run->conductivity[c], w, conductivity[c], other_w, contact);
        run->sum[c] = FMA(g, temperature[c] - run->temperature[c], run->sum[c]);
    }
}

/* Add the flows through a face: within a curve, but in the cells `other` of a line that is not
 * alike. beyond: theta there. */
static STREAM_WIDE void add_face(const struct stencil *s, const struct row *row, struct run *run,
                                 int face, const REAL *beyond, uint32_t other)
{
    const REAL *theta = row->theta + run->i;
    const REAL *r = run->r[face / 2];
    REAL g[LINE];
    REAL d[LINE];
    for (int64_t at = 0; at < run->n && other == 0; at += LINE) {
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            run->sum[at + c] = FMA(r[c], beyond[at + c] - theta[at + c], run->sum[at + c]);
        }
    }
    if (other == 0) {
        return;
    }
    for (int c = 0; c < LINE; c++) {
        g[c] = r[c];
        d[c] = beyond[c] - theta[c];
    }
    for (int c = 0; other >> c != 0; c++) {
        if ((other >> c & 1) != 0) {
            const struct cell cell =
                cell_at(s, row->first[AXIS_X] + run->i + c, row->first[AXIS_Y], row->first[AXIS_Z]);
            g[c] = cross(s, &cell, face, &d[c]);
            if (is_closed(s, &cell, face)) {
                tally_face(s, face, g[c], d[c]);
            }
        }
    }
    for (int c = 0; c < LINE; c++) {
        run->sum[c] = FMA(g[c], d[c], run->sum[c]);
    }
}

/* Add the flows in x, and write the cells. */
static STREAM_WIDE void end_run(const struct stencil *s, const struct row *row, struct run *run)
{
    const int own = run->of_class[FACE_COUNT];
    const REAL *theta = row->theta + run->i;
    struct ends ends = {{false, false}, {0, 0}, {0, 0}};
    if (run->alike) {
        find_end(s, row, SIDE_MIN, run->i, own, &ends);
        find_end(s, row, SIDE_MAX, run->i + run->n - 1, own, &ends);
        tally_row_end(s, row, SIDE_MIN, run->i, &ends);
        tally_row_end(s, row, SIDE_MAX, run->i + run->n - 1, &ends);
    } else {
        for (int face = FACE_X_MAX; face >= FACE_X_MIN; face--) {
            add_face(s, row, run, face, theta + (face == FACE_X_MIN ? -1 : 1),
                     other_cells(s, row, run, face));
        }
    }
    for (int64_t at = 0; at < run->n; at += LINE) {
        const REAL *sum = run->sum + at;
        const int64_t n = run->n < LINE ? run->n : LINE;
        REAL u[LINE] = {0};
        memcpy(u, row->base + run->i + at, (size_t)n * sizeof(REAL));
        if (run->alike) {
            const struct ends of_line = ends_of(&ends, at == 0, at + LINE == run->n);
            REAL g[SIDE_COUNT][LINE];
            REAL d[SIDE_COUNT][LINE];
            cross_ends(&of_line, theta + at, run->r[AXIS_X][0], g, d);
#pragma omp simd
            for (int c = 0; c < LINE; c++) {
                u[c] = u[c] + FMA(g[SIDE_MIN][c], d[SIDE_MIN][c],
                                  FMA(g[SIDE_MAX][c], d[SIDE_MAX][c], sum[c]));
            }
        } else {
#pragma omp simd
            for (int c = 0; c < LINE; c++) {
                u[c] = u[c] + sum[c];
            }
        }
        write_line(row, run->i + at, n, u);
    }
}

/* Advance cells from i on, before `end`, which may lie on closed faces and have any classes.
 * Returns the first that is not advanced. */
static int64_t advance_run(const struct stencil *s, const struct row *row, int64_t i, int64_t end)
{
    struct run run;
    begin_run(s, row, i, end, &run);
    if (!row->on[FACE_Z_MAX]) {
        evaluate_above(s, row, &run);
    }
    const REAL *const beyond[FACE_COUNT] = {[FACE_Y_MIN] = row->ym + i,
                                            [FACE_Y_MAX] = row->yp + i,
                                            [FACE_Z_MIN] = row->z + i,
                                            [FACE_Z_MAX] = run.next};
    for (int face = FACE_Z_MAX; face >= FACE_Y_MIN; face--) {
        const uint32_t other = other_cells(s, row, &run, face);
        if (run.alike && other != 0) {
            add_alike(s, row, &run, face);
        } else {
            add_face(s, row, &run, face, beyond[face], other);
        }
    }
    end_run(s, row, &run);
    if (!row->on[FACE_Z_MAX]) {
        memcpy(row->z + i, run.next, (size_t)(run.n < LINE ? LINE : run.n) * sizeof(REAL));
    }
    return i + run.n;
}

/* Advance a row, and evaluate the one above. */
static void step_lines(const struct stencil *s, const struct row *row)
{
    for (int64_t i = 0; i < row->n;) {
        const int64_t begin = i;
        if (!row->on_any) {
            i = advance_open(s, row, i);
        }
        if (i == begin) {
            i = advance_run(s, row, i, row->n);
        }
    }
}
