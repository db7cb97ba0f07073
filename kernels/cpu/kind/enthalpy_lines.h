/* Lines of enthalpy.c, and their evaluation. */

/* A row of a tile in scratch memory: cell i is element PAD + i. Lines may be longer than the row.
 */
enum { PAD = LINE, TILE_X = TILE_X_BYTES / sizeof(REAL), ROW = TILE_X + TILE_UNIT + 2 * PAD };

/* Of one thread. */
struct step_scratch {
    struct lookup lookup[LOOKUPS];
    /* of the tile, by row, one more on each side; of planes k and k - 1, which k + 1 replaces */
    REAL theta[2][TILE_Y + 2][ROW] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* of plane k, if there is perfusion */
    REAL temperature[TILE_Y + 2][ROW] __attribute__((aligned(STREAM_LINE_BYTES)));
    /* of the closed faces in x in plane k, by row; whole lines */
    REAL g[SIDE_COUNT][TILE_Y + LINE], d[SIDE_COUNT][TILE_Y + LINE];
};

/* Lines of one class. */
struct alike {
    int of_class;
    uint64_t bytes, mask; /* of the class of each cell; mask 0: any */
    struct lookup *lookup;
    const REAL *numbers;
    REAL q;
};

/* A row of the tile and those around it. */
struct row {
    int64_t first[AXIS_COUNT];    /* its first cell */
    int64_t n, of_tile;           /* its cells, and its number */
    bool on[FACE_COUNT];          /* it lies on closed faces; in x, its first or last cell */
    bool on_any;                  /* in y or z */
    int64_t step[FACE_COUNT];     /* from a cell to its neighbour */
    int64_t to_class[FACE_COUNT]; /* and from its class */
    const REAL *u;
    REAL *out;
    const REAL *base; /* what the sums begin with: u, or out */
    const uint8_t *classes;
    const REAL *theta, *ym, *yp;
    REAL *z;           /* theta of the row below, which that above replaces */
    REAL *temperature; /* also replaced; NULL: no perfusion */
    int64_t fetch;     /* from a cell above to the one whose line is fetched */
    bool streamed;     /* out is aligned to lines */
};

/* Cells [0, n), a multiple of 8. */
KERNEL_INLINE bool cells_are(const uint8_t *classes, int n, const struct alike *alike)
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

KERNEL_INLINE bool line_is(const uint8_t *classes, const struct alike *alike)
{
    return cells_are(classes, LINE, alike);
}

/* The first of the lines [i, end) that is not alike. */
KERNEL_INLINE int64_t alike_until(const uint8_t *classes, int64_t i, int64_t end,
                                  const struct alike *alike)
{
    enum { MANY = 64 };
    if (alike->mask == 0) {
        return end;
    }
    while (i + MANY <= end && cells_are(classes + i, MANY, alike)) {
        i += MANY;
    }
    while (i < end && line_is(classes + i, alike)) {
        i += LINE;
    }
    return i;
}

/* Whether all cells of a line have a class. */
KERNEL_INLINE bool is_class(const struct stencil *s, const uint8_t *classes, int of_class)
{
    uint64_t other = 0;
    for (int at = 0; at < LINE; at += 8) {
        other |= stream_other_bits(classes + at, (uint8_t)of_class);
    }
    return (other & stream_eight(s->medium->mask)) == 0;
}

/* Do the cells of a line, with the first of these classes, have one curve? */
KERNEL_INLINE bool is_one_curve(const struct stencil *s, const uint8_t *classes)
{
    return s->medium->one_curve || is_class(s, classes, *classes);
}

/* Lines with the curve of a cell, whatever their neighbours. */
static struct alike alike_cells(const struct stencil *s, const uint8_t *classes)
{
    const uint8_t mask = s->medium->one_curve ? 0 : s->medium->mask;
    const int of_class = mask == 0 ? 0 : *classes & mask;
    return (struct alike){.of_class = of_class,
                          .bytes = stream_eight((uint8_t)of_class),
                          .mask = stream_eight(mask),
                          .lookup = lookup_of(s, of_class)};
}

/* Lines with the class of a cell that touch the same curve only. Returns whether there may be any.
 */
static bool alike_around(const struct stencil *s, const uint8_t *classes, struct alike *alike)
{
    const uint8_t byte = s->reads_classes ? *classes : 0;
    if (!s->medium->one_curve && (byte & ~s->medium->mask) != CLASS_FLAG) {
        return false;
    }
    alike->of_class = byte & s->medium->mask;
    alike->lookup = lookup_of(s, alike->of_class);
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

/* n cells of a line, of any classes. */
static void evaluate_line(const struct stencil *s, const uint8_t *classes, const REAL *u, int64_t n,
                          struct values *values)
{
    if (n == LINE && is_one_curve(s, classes)) {
        const int of_class = s->medium->one_curve ? 0 : *classes & s->medium->mask;
        lookup_line(lookup_of(s, of_class), u, values);
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        const struct NAMED(nonlinear) at = evaluate(s, classes[c] & s->medium->mask, u[c]);
        values->temperature[c] = at.temperature;
        values->conductivity[c] = at.conductivity;
        values->theta[c] = at.theta;
    }
}

/* To the output. */
KERNEL_INLINE void write_line(const struct row *row, int64_t i, int64_t n, const REAL *u)
{
    if (row->streamed && n == LINE) {
        stream_whole(row->out + i, u);
    } else {
        memcpy(row->out + i, u, (size_t)n * sizeof(REAL));
    }
}
