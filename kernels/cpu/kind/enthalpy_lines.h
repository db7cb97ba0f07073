/* Lines of enthalpy.c in one precision (precisions.h), whatever their cells; also their evaluation.
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
    struct NAMED(lookup) lookup[LOOKUPS];
    /* of the tile, by row, one more on each side; of planes k and k - 1, which k + 1 replaces */
    REAL theta[2][TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* of plane k, if there is perfusion */
    REAL temperature[TILE_Y + 2][NAMED(ROW)] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* of the closed faces in x in plane k, by row; whole lines */
    REAL g[SIDE_COUNT][TILE_Y + NAMED(LINE)], d[SIDE_COUNT][TILE_Y + NAMED(LINE)];
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
    int64_t first[AXIS_COUNT];    /* its first cell */
    int64_t n, of_tile;           /* its cells, and its number */
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

/* Cells [0, n), a multiple of 8. */
KERNEL_INLINE bool NAMED(cells_are)(const uint8_t *classes, int n,
                                    const struct NAMED(alike) * alike)
{
    uint64_t other = 0;
    if (alike->mask == 0) { /* any: not read in vain */
        return true;
    }
    for (int at = 0; at < n; at += 8) {
        uint64_t word;
        memcpy(&word, classes + at, sizeof word);
        other |= word ^ alike->bytes;
    }
    return (other & alike->mask) == 0;
}

KERNEL_INLINE bool NAMED(line_is)(const uint8_t *classes, const struct NAMED(alike) * alike)
{
    return NAMED(cells_are)(classes, NAMED(LINE), alike);
}

/* The first of the lines [i, end) that is not alike. */
KERNEL_INLINE int64_t NAMED(alike_until)(const uint8_t *classes, int64_t i, int64_t end,
                                         const struct NAMED(alike) * alike)
{
    enum { MANY = 64 };
    if (alike->mask == 0) {
        return end;
    }
    while (i + MANY <= end && NAMED(cells_are)(classes + i, MANY, alike)) {
        i += MANY;
    }
    while (i < end && NAMED(line_is)(classes + i, alike)) {
        i += NAMED(LINE);
    }
    return i;
}

/* Whether all cells of a line have a class. */
KERNEL_INLINE bool NAMED(is_class)(const struct NAMED(stencil) * s, const uint8_t *classes,
                                   int of_class)
{
    uint64_t other = 0;
    for (int at = 0; at < NAMED(LINE); at += 8) {
        other |= stream_other_bits(classes + at, (uint8_t)of_class);
    }
    return (other & stream_eight(s->medium->mask)) == 0;
}

/* Do the cells of a line, with the first of these classes, have one curve? */
KERNEL_INLINE bool NAMED(is_one_curve)(const struct NAMED(stencil) * s, const uint8_t *classes)
{
    return s->medium->one_curve || NAMED(is_class)(s, classes, *classes);
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
    if (!s->medium->one_curve && (byte & ~s->medium->mask) != CLASS_FLAG) {
        return false;
    }
    alike->of_class = byte & s->medium->mask;
    alike->lookup = NAMED(lookup_of)(s, alike->of_class);
    alike->numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * alike->of_class;
    alike->q = s->table[medium_cell_at(alike->of_class) + 1];
    alike->bytes = stream_eight(byte);
    alike->mask = !s->medium->one_curve ? UINT64_MAX
                  : s->reads_classes    ? stream_eight(s->medium->mask)
                                        : 0;
    bool touches = true;
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
    const struct NAMED(alike) * alike, const uint8_t *classes, const REAL *u, int64_t fetch,
    int64_t i, int64_t end, REAL *theta)
{
    struct NAMED(window) window;
    NAMED(window_load)(&alike->lookup->window, NAMED(THETA_AT), 3, &window);
    for (; i < end && NAMED(line_is)(classes + i, alike) &&
           NAMED(line_within)(u + i, window.from, window.to);
         i += NAMED(LINE)) {
        REAL line[NAMED(LINE)];
        stream_fetch(STREAM_SECOND_LEVEL, u + fetch + i);
        NAMED(window_theta)(&window, u + i, line);
        memcpy(theta + i, line, sizeof line);
    }
    return i;
}

/* n cells of a line, of any classes. */
static void NAMED(evaluate_line)(const struct NAMED(stencil) * s, const uint8_t *classes,
                                 const REAL *u, int64_t n, struct NAMED(values) * values)
{
    if (n == NAMED(LINE) && NAMED(is_one_curve)(s, classes)) {
        const int of_class = s->medium->one_curve ? 0 : *classes & s->medium->mask;
        NAMED(lookup_line)(NAMED(lookup_of)(s, of_class), u, values);
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        const struct NAMED(nonlinear) at = NAMED(evaluate)(s, classes[c] & s->medium->mask, u[c]);
        values->temperature[c] = at.temperature;
        values->conductivity[c] = at.conductivity;
        values->theta[c] = at.theta;
    }
}

/* To the output. */
KERNEL_INLINE void NAMED(write_line)(const struct NAMED(row) * row, int64_t i, int64_t n,
                                     const REAL *u)
{
    if (row->streamed && n == NAMED(LINE)) {
        stream_whole(row->out + i, u);
    } else {
        memcpy(row->out + i, u, (size_t)n * sizeof(REAL));
    }
}

/* --- any lines ------------------------------------------------------------------------------- */

/* A line of n cells from cell i of its row on. */
struct NAMED(line) {
    int64_t i, n;
    int of_class[NAMED(LINE)]; /* beyond n as the last cell */
    REAL g[FACE_COUNT][NAMED(LINE)] __attribute__((aligned(STREAM_LINE_BYTES)));
    REAL d[FACE_COUNT][NAMED(LINE)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* The cells of a line on a closed face or at a contact, as bits. */
static uint32_t NAMED(special_cells)(const struct NAMED(stencil) * s, const struct NAMED(row) * row,
                                     int face, const struct NAMED(line) * line)
{
    const int nclasses = s->medium->nclasses;
    const int64_t n = line->n;
    const uint8_t *others = row->classes + row->to_class[face] + line->i;
    const REAL *contacts = s->table + medium_g_at(nclasses, face / 2, 0, 0);
    uint32_t special = 0;
    if (face / 2 != AXIS_X && row->on[face]) {
        return (UINT32_C(1) << n) - 1;
    }
    for (int64_t c = 0; c < n && !s->medium->one_curve; c++) {
        const REAL contact = contacts[nclasses * line->of_class[c] + (others[c] & s->medium->mask)];
        special |= (uint32_t)(contact >= 0) << c;
    }
    if (face == FACE_X_MIN && row->on[face] && line->i == 0) {
        special |= 1;
    } else if (face == FACE_X_MAX && row->on[face] && line->i + n == row->n) {
        special |= UINT32_C(1) << (n - 1);
    }
    return special;
}

/* g and d as if all faces were within one curve, and what S begins with. zp: theta above. */
static STREAM_WIDE void NAMED(begin_line)(const struct NAMED(stencil) * s,
                                          const struct NAMED(row) * row, const REAL *zp,
                                          struct NAMED(line) * line, REAL *source)
{
    enum { LINE = NAMED(LINE) };
    const REAL *theta = row->theta + line->i;
    const REAL *const others[FACE_COUNT] = {theta - 1,         theta + 1,        row->ym + line->i,
                                            row->yp + line->i, row->z + line->i, zp};
    for (int face = 0; face < FACE_COUNT; face++) {
#pragma omp simd
        for (int c = 0; c < LINE; c++) {
            line->d[face][c] = others[face][c] - theta[c];
        }
    }
    for (int c = 0; c < LINE; c++) {
        const int own = line->of_class[c];
        const REAL *numbers = s->numbers + (int64_t)NONLINEAR_NUMBERS * own;
        for (int face = 0; face < FACE_COUNT; face++) {
            line->g[face][c] = numbers[NONLINEAR_R + face / 2];
        }
        source[c] = s->table[medium_cell_at(own) + 1];
        if (row->temperature != NULL) {
            source[c] = NAMED(nonlinear_source)(numbers, source[c], row->temperature[line->i + c]);
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
    struct NAMED(line) line = {.i = i, .n = n};
    REAL source[LINE];
    REAL u[LINE] = {0};
    uint32_t special[FACE_COUNT];
    uint32_t any = 0;
    for (int64_t c = 0; c < LINE; c++) {
        const uint8_t *classes = row->classes + i + (c < n ? c : n - 1);
        line.of_class[c] = s->medium->nclasses == 1 ? 0 : *classes & s->medium->mask;
    }
    NAMED(begin_line)(s, row, zp, &line, source);
    for (int face = 0; face < FACE_COUNT; face++) {
        special[face] = NAMED(special_cells)(s, row, face, &line);
        any |= special[face];
    }
    for (int64_t c = 0; any >> c != 0; c++) {
        if ((any >> c & 1) != 0) {
            const struct NAMED(cell) cell = NAMED(cell_at)(s, row->first[AXIS_X] + i + c,
                                                           row->first[AXIS_Y], row->first[AXIS_Z]);
            for (int face = 0; face < FACE_COUNT; face++) {
                if ((special[face] >> c & 1) != 0) {
                    line.g[face][c] = NAMED(cross)(s, &cell, face, &line.d[face][c]);
                    if (NAMED(is_closed)(s, &cell, face)) {
                        NAMED(tally_face)(s, face, line.g[face][c], line.d[face][c]);
                    }
                }
            }
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
    NAMED(write_line)(row, i, n, u);
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
