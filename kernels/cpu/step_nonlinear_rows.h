/* The rows of step_nonlinear.c in one precision, included after nonlinear_cells.h in the same way.
 */

/* A row of a tile in scratch memory: cell i is element PAD + i. Lines may be longer than the row.
 */
enum {
    NAMED(PAD) = NAMED(LINE),
    NAMED(TILE_X) = TILE_X_BYTES / sizeof(REAL),
    NAMED(ROW) = NAMED(TILE_X) + 2 * NAMED(PAD)
};

/* Of one thread. */
struct NAMED(scratch) {
    struct NAMED(lookup) lookup[LOOKUPS]; /* of class modulo LOOKUPS */
    /* of the tile, by row, one more on each side; of planes k and k - 1, which k + 1 replaces */
    REAL theta[2][TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* of plane k, if there is perfusion */
    REAL temperature[TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* Lines of one class. */
struct NAMED(alike) {
    int of_class;
    uint64_t bytes, mask; /* of the class of each cell; mask 0: any */
    struct NAMED(lookup) * lookup;
    const REAL *numbers;
    REAL q;
};

/* A row of the tile and those around it. */
struct NAMED(row) {
    int64_t first[AXIS_COUNT]; /* its first cell */
    int64_t n;
    bool on[FACE_COUNT];          /* it lies on closed faces; in x, its first or last cell */
    bool on_any;                  /* in y or z */
    int64_t step[FACE_COUNT];     /* from a cell to its neighbour */
    int64_t to_class[FACE_COUNT]; /* and from its class */
    const REAL *u;
    REAL *out;
    const uint8_t *classes;
    const REAL *theta, *ym, *yp;
    REAL *z;           /* theta of the row below, which that above replaces */
    REAL *temperature; /* also replaced; NULL: no perfusion */
    int64_t fetch;     /* from a cell above to the one whose line is fetched */
    bool streamed;     /* out is aligned to lines */
};

KERNEL_INLINE bool NAMED(line_is)(const uint8_t *classes, const struct NAMED(alike) * alike)
{
    uint64_t other = 0;
    if (alike->mask == 0) { /* any: not read in vain */
        return true;
    }
    for (int at = 0; at < NAMED(LINE); at += 8) {
        uint64_t word;
        memcpy(&word, classes + at, sizeof word);
        other |= word ^ alike->bytes;
    }
    return (other & alike->mask) == 0;
}

static struct NAMED(lookup) * NAMED(lookup_of)(const struct NAMED(stencil) * s, int of_class)
{
    const int curve = s->medium->one_curve ? 0 : of_class;
    const int count = s->medium->nsegments;
    const REAL *segments = s->segments + nonlinear_pitch(count) * curve;
    struct NAMED(lookup) *lookup = &s->scratch->lookup[curve % LOOKUPS];
    if (lookup->segments != segments) {
        lookup->segments = segments;
        lookup->count = count;
        NAMED(lookup_from)(lookup, 0);
    }
    return lookup;
}

/* Lines with the curve of a cell, whatever their neighbours. */
static struct NAMED(alike)
    NAMED(alike_cells)(const struct NAMED(stencil) * s, const uint8_t *classes)
{
    const uint8_t mask = s->medium->one_curve ? 0 : s->medium->mask;
    const int of_class = mask == 0 ? 0 : *classes & mask;
    return (struct NAMED(alike)){.of_class = of_class,
                                 .bytes = stream_eight((uint8_t)of_class),
                                 .mask = stream_eight(mask),
                                 .lookup = NAMED(lookup_of)(s, of_class)};
}

/* Lines with the class of a cell that touch the same curve only. Returns whether there may be any.
 */
static bool NAMED(alike_around)(const struct NAMED(stencil) * s, const uint8_t *classes,
                                struct NAMED(alike) * alike)
{
    const uint8_t byte = s->reads_classes ? *classes : 0;
    alike->of_class = byte & s->medium->mask;
    alike->lookup = NAMED(lookup_of)(s, alike->of_class);
    alike->numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * alike->of_class;
    alike->q = s->table[medium_cell_at(alike->of_class) + 1];
    alike->bytes = stream_eight(byte);
    alike->mask = !s->medium->one_curve ? UINT64_MAX
                  : s->reads_classes    ? stream_eight(s->medium->mask)
                                        : 0;
    bool touches = s->medium->one_curve || (byte & ~s->medium->mask) == CLASS_FLAG;
    for (int axis = 0; axis < AXIS_COUNT; axis++) { /* without a contact within the class */
        touches =
            touches &&
            s->table[medium_g_at(s->medium->nclasses, axis, alike->of_class, alike->of_class)] < 0;
    }
    return touches;
}

/* --- evaluation ------------------------------------------------------------------------------ */

/* The lines [i, end) of a row up to the first that is not alike or in the window. */
static STREAM_WIDE __attribute__((noinline)) int64_t NAMED(evaluate_lines)(
    const struct NAMED(alike) * alike, const uint8_t *classes, const REAL *u, int64_t i,
    int64_t end, REAL *theta)
{
    struct NAMED(window) window;
    NAMED(window_load)(&alike->lookup->window, NAMED(THETA_AT), 3, &window);
    for (; i < end && NAMED(line_is)(classes + i, alike) &&
           NAMED(line_within)(u + i, window.from, window.to);
         i += NAMED(LINE)) {
        REAL line[NAMED(LINE)];
        NAMED(window_theta)(&window, u + i, line);
        memcpy(theta + i, line, sizeof line);
    }
    return i;
}

/* n cells of a line, of any classes. */
static void NAMED(evaluate_line)(const struct NAMED(stencil) * s, const uint8_t *classes,
                                 const REAL *u, int64_t n, struct NAMED(values) * values)
{
    const struct NAMED(alike) alike = NAMED(alike_cells)(s, classes);
    if (n == NAMED(LINE) && NAMED(line_is)(classes, &alike)) {
        NAMED(lookup_line)(alike.lookup, u, values);
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        const struct NAMED(nonlinear) at = NAMED(evaluate)(s, classes[c] & s->medium->mask, u[c]);
        values->temperature[c] = at.temperature;
        values->conductivity[c] = at.conductivity;
        values->theta[c] = at.theta;
    }
}

/* --- any lines ------------------------------------------------------------------------------- */

/* A line of n cells from cell i of its row on. */
struct NAMED(line) {
    int64_t i, n;
    bool same;                 /* all cells have one class */
    int of_class[NAMED(LINE)]; /* beyond n as the last cell */
    struct NAMED(values) is;   /* if its faces need them */
    REAL g[FACE_COUNT][NAMED(LINE)], d[FACE_COUNT][NAMED(LINE)];
};

/* Closed faces of cells [begin, end) of a line. */
static STREAM_WIDE void NAMED(close_line)(const struct NAMED(stencil) * s,
                                          const struct NAMED(row) * row, int face, int64_t begin,
                                          int64_t end, struct NAMED(line) * line)
{
    enum { LINE = NAMED(LINE) };
    const struct medium_args *m = s->medium;
    REAL *const g = line->g[face];
    REAL *const d = line->d[face];
    const REAL *const closures = s->table + medium_closure_at(m->nclasses, m->nclosures, face, 0);
    const REAL *const shared = closures + (int64_t)4 * line->of_class[0];
    if (end - begin == LINE && line->same && m->d_patch[face] == NULL && shared[2] == 0) {
        const REAL closure[4] = {shared[0], shared[1], 0, shared[3]};
        const REAL w = s->numbers[NONLINEAR_NUMBERS * line->of_class[0] + NONLINEAR_W + face / 2];
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            g[c] = line->is.conductivity[c] / w;
            d[c] = NAMED(nonlinear_face)(closure, g[c], line->is.temperature[c]);
        }
    } else {
        for (int64_t c = begin; c < end; c++) {
            const int own = line->of_class[c];
            const int64_t cell[AXIS_COUNT] = {row->first[AXIS_X] + line->i + c, row->first[AXIS_Y],
                                              row->first[AXIS_Z]};
            const int closure =
                medium_closure(m->d_patch[face], m->nclasses, face, s->layout->cells, cell, own);
            g[c] = line->is.conductivity[c] /
                   s->numbers[NONLINEAR_NUMBERS * own + NONLINEAR_W + face / 2];
            d[c] = NAMED(nonlinear_face)(closures + (int64_t)4 * closure, g[c],
                                         line->is.temperature[c]);
        }
    }
    for (int64_t c = begin; c < end && s->tally[face].target != NULL; c++) {
        tally_add_one(&s->tally[face], (double)g[c] * (double)d[c]);
    }
}

/* The open faces of a line to other curves and to contacts. */
static STREAM_WIDE void NAMED(couple_line)(const struct NAMED(stencil) * s,
                                           const struct NAMED(row) * row, int face,
                                           struct NAMED(line) * line)
{
    enum { LINE = NAMED(LINE) };
    const int axis = face / 2;
    const uint8_t *classes = row->classes + row->to_class[face] + line->i;
    const REAL *u = row->u + row->step[face] + line->i;
    const REAL *contacts = s->table + medium_g_at(s->medium->nclasses, axis, 0, 0);
    const struct NAMED(alike) others = NAMED(alike_cells)(s, classes);
    REAL *const g = line->g[face];
    REAL *const d = line->d[face];
    if (line->same && line->n == LINE && NAMED(line_is)(classes, &others)) {
        const int own = line->of_class[0];
        const REAL contact = contacts[s->medium->nclasses * own + others.of_class];
        const REAL w = s->numbers[NONLINEAR_NUMBERS * own + axis];
        const REAL other_w = s->numbers[NONLINEAR_NUMBERS * others.of_class + axis];
        struct NAMED(values) other;
        if (contact < 0) {
            return;
        }
        NAMED(lookup_line)(others.lookup, u, &other);
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            g[c] = NAMED(nonlinear_g)(line->is.conductivity[c], w, other.conductivity[c], other_w,
                                      contact);
            d[c] = other.temperature[c] - line->is.temperature[c];
        }
        return;
    }
    for (int64_t c = 0; c < line->n; c++) {
        const int own = line->of_class[c];
        const int next = classes[c] & s->medium->mask;
        const REAL contact = contacts[s->medium->nclasses * own + next];
        const struct NAMED(nonlinear)
            is = {line->is.temperature[c], line->is.conductivity[c], line->is.theta[c]};
        if (contact >= 0) {
            g[c] = NAMED(nonlinear_between)(axis, s->numbers + (int64_t)NONLINEAR_NUMBERS * own, is,
                                            s->numbers + (int64_t)NONLINEAR_NUMBERS * next,
                                            NAMED(evaluate)(s, next, u[c]), contact, &d[c]);
        }
    }
}

/* g and differences of theta, as if all faces were within one curve, and what S begins with. */
static STREAM_WIDE void NAMED(begin_line)(const struct NAMED(stencil) * s,
                                          const struct NAMED(row) * row, const REAL *zp,
                                          struct NAMED(line) * line, REAL *source)
{
    enum { LINE = NAMED(LINE) };
    const REAL *theta = row->theta + line->i;
    const REAL *const others[FACE_COUNT] = {theta - 1,         theta + 1,        row->ym + line->i,
                                            row->yp + line->i, row->z + line->i, zp};
    for (int face = 0; face < FACE_COUNT; face++) {
        const REAL *r = s->numbers + NONLINEAR_R + face / 2;
        if (line->same) {
            const REAL same = r[(int64_t)NONLINEAR_NUMBERS * line->of_class[0]];
#pragma omp simd
            for (int c = 0; c < LINE; c++) {
                line->g[face][c] = same;
            }
        } else {
            for (int c = 0; c < LINE; c++) {
                line->g[face][c] = r[(int64_t)NONLINEAR_NUMBERS * line->of_class[c]];
            }
        }
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            line->d[face][c] = others[face][c] - theta[c];
        }
    }
    for (int c = 0; c < LINE; c++) {
        const int own = line->of_class[c];
        source[c] = s->table[medium_cell_at(own) + 1];
        if (s->medium->perfused) {
            source[c] = NAMED(nonlinear_source)(s->numbers + (int64_t)NONLINEAR_NUMBERS * own,
                                                source[c], line->is.temperature[c]);
        }
    }
}

/* n cells from i on, which may lie on closed faces and have any classes. zp: theta above. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(any_line)(const struct NAMED(stencil) * s,
                                                                  const struct NAMED(row) * row,
                                                                  int64_t i, int64_t n,
                                                                  const REAL *zp)
{
    enum { LINE = NAMED(LINE) };
    const struct medium_args *m = s->medium;
    struct NAMED(line) line;
    REAL source[LINE];
    REAL u[LINE] = {0};
    line.i = i;
    line.n = n;
    line.same = true;
    for (int c = 0; c < LINE; c++) {
        line.of_class[c] = m->nclasses == 1 ? 0 : row->classes[i + (c < n ? c : n - 1)] & m->mask;
        line.same = line.same && line.of_class[c] == line.of_class[0];
    }
    NAMED(evaluate_line)(s, row->classes + i, row->u + i, n, &line.is);
    NAMED(begin_line)(s, row, zp, &line, source);
    struct NAMED(alike) alike;
    const bool touches = NAMED(alike_around)(s, row->classes + i, &alike) && n == LINE &&
                         NAMED(line_is)(row->classes + i, &alike);
    for (int face = 0; face < FACE_COUNT; face++) {
        const bool x = face / 2 == AXIS_X;
        const int64_t begin = x && face % 2 == 1 ? row->n - 1 - i : 0;
        const int64_t end = x && face % 2 == 0 ? (i == 0) : n;
        const bool closed = row->on[face] && begin < end;
        if (!m->one_curve && !touches && !(closed && end - begin == n)) {
            NAMED(couple_line)(s, row, face, &line);
        }
        if (closed) {
            NAMED(close_line)(s, row, face, begin, end, &line);
        }
    }
    memcpy(u, row->u + i, (size_t)n * sizeof(REAL));
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        u[c] = u[c] + NAMED(nonlinear_sum)(line.g[0][c], line.g[1][c], line.g[2][c], line.g[3][c],
                                           line.g[4][c], line.g[5][c], line.d[0][c], line.d[1][c],
                                           line.d[2][c], line.d[3][c], line.d[4][c], line.d[5][c],
                                           source[c]);
    }
    if (row->streamed && n == LINE) {
        stream_part(row->out + i, u);
        stream_part(row->out + i + LINE / 2, u + LINE / 2);
    } else {
        memcpy(row->out + i, u, (size_t)n * sizeof(REAL));
    }
}

/* The same, and the line above. */
static void NAMED(step_line)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                             int64_t i, int64_t n)
{
    struct NAMED(values) next = {.theta = {0}};
    if (!row->on[FACE_Z_MAX]) {
        const REAL *above = row->u + row->step[FACE_Z_MAX] + i;
        stream_fetch(STREAM_SECOND_LEVEL, above + row->fetch);
        NAMED(evaluate_line)(s, row->classes + row->to_class[FACE_Z_MAX] + i, above, n, &next);
    }
    NAMED(any_line)(s, row, i, n, next.theta);
    memcpy(row->z + i, next.theta, sizeof next.theta);
    if (row->temperature != NULL) {
        memcpy(row->temperature + i, next.temperature, sizeof next.temperature);
    }
}

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
            stream_part(out + i, u);
            stream_part(out + i + LINE / 2, u + LINE / 2);
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

/* Advance a row, and evaluate the one above. */
static void NAMED(step_lines)(const struct NAMED(stencil) * s, const struct NAMED(row) * row)
{
    enum { LINE = NAMED(LINE) };
    /* the first and the last line of a row may have closed faces */
    const int64_t first = row->on[FACE_X_MIN] ? LINE : 0;
    const int64_t whole = row->n / LINE * LINE;
    const int64_t end = row->on[FACE_X_MAX] && whole == row->n ? whole - LINE : whole;
    for (int64_t i = 0; i < row->n;) {
        struct NAMED(alike) alike;
        if (!row->on_any && i >= first && i < end &&
            NAMED(alike_around)(s, row->classes + i, &alike)) {
            const int64_t begin = i;
            i = row->temperature != NULL ? NAMED(advance_perfused)(row, &alike, i, end)
                : s->reads_classes       ? NAMED(advance_classes)(row, &alike, i, end)
                                         : NAMED(advance_alike)(row, &alike, i, end);
            if (i > begin) {
                continue;
            }
        }
        NAMED(step_line)(s, row, i, row->n - i < LINE ? row->n - i : LINE);
        i += LINE;
    }
}
