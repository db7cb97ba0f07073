/* The rows of the step kernel in a medium of classes, in one precision. Included after
 * step_medium_plans.h, in the same way.
 *
 * A row is divided into runs of cache lines. Inside the region of a class, where all cells have
 * CLASS_FLAG, a run has constant coefficients. The lines between such runs form pieces. Where the
 * classes of the cells and those of their neighbours on each side do not change along x, as along
 * most of a region's surface, a piece has runs with constant coefficients too. Every other line has
 * vectors of them. Both are found once for a piece and kept: the next rows mostly have the same
 * classes, and so have their neighbours.
 */

/* Fewer cells than a line, with ordinary stores; first_xm and last_xp as in stored_cells. */
static void NAMED(stored_few)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c,
                              const struct NAMED(row) * row, REAL *out, int64_t n, REAL first_xm,
                              REAL last_xp)
{
    struct NAMED(line) line;
    REAL minus[NAMED(LINE)];
    REAL plus[NAMED(LINE)];
    struct NAMED(row) at = *row;
    NAMED(look_up)(s, c, n, &line);
    for (int64_t i = 0; i < n; i++) {
        minus[i] = i == 0 ? first_xm : row->centre[i - 1];
        plus[i] = i == n - 1 ? last_xp : row->centre[i + 1];
    }
    at.xm = minus;
    at.xp = plus;
    const struct NAMED(coefficients) k = {.of = line.of[0]};
    NAMED(cells)(&k, &at, out, n);
}

/* The coefficients of a run's line, from its cell `first` on. */
KERNEL_INLINE struct NAMED(coefficients)
    NAMED(coefficients_of)(const struct NAMED(line) * line, bool plain, int64_t first)
{
    struct NAMED(coefficients) k = {.plain = plain, .of = line->of[0] + first};
    if (plain) {
        for (int c = 0; c < NAMED(COEFFICIENTS); c++) {
            k.value[c] = line->of[c][0];
        }
    }
    return k;
}

/* A run of `n` cells, streamed, as the lines of a uniform medium. */
KERNEL_INLINE void NAMED(streamed_run)(const struct NAMED(line) * line, bool plain,
                                       const struct NAMED(row) * row, REAL *out, int64_t n,
                                       REAL first_xm, REAL last_xp, enum stream_level level)
{
    enum { PART = NAMED(PART), LINE = NAMED(LINE) };
    const struct NAMED(row) first = *row;
    const REAL edge[PART] = {[PART - 1] = first_xm};
    const REAL end[PART] = {last_xp};
    struct stream_vector before = stream_load(edge);
    struct stream_vector here = stream_load(first.centre);
    struct NAMED(coefficients) k = NAMED(coefficients_of)(line, plain, 0);
    struct NAMED(coefficients) k_second = k;
    for (int64_t i = 0; i < n; i += LINE) {
        if (!plain) {
            k.of = line[i / LINE].of[0];
            k_second.of = k.of + PART;
        }
        stream_fetch(level, first.ahead + i);
        stream_fetch(level, first.beside + i);
        const struct stream_vector second = stream_load(first.centre + i + PART);
        const struct stream_vector next = stream_load(i + LINE < n ? first.centre + i + LINE : end);
        NAMED(streamed_part)(&k, &first, out, i, before, here, second);
        NAMED(streamed_part)(&k_second, &first, out, i + PART, here, second, next);
        before = second;
        here = next;
    }
}

typedef void NAMED(run_function)(const struct NAMED(line) * line, const struct NAMED(row) * row,
                                 REAL *out, int64_t n, REAL first_xm, REAL last_xp);

#define DEFINE_RUN(name, plain, level)                                                             \
    static __attribute__((noinline)) void NAMED(name)(const struct NAMED(line) * line,             \
                                                      const struct NAMED(row) * row, REAL * out,   \
                                                      int64_t n, REAL first_xm, REAL last_xp)      \
    {                                                                                              \
        NAMED(streamed_run)(line, plain, row, out, n, first_xm, last_xp, level);                   \
    }
DEFINE_RUN(plain_ahead, true, STREAM_FIRST_LEVEL)
DEFINE_RUN(varied_ahead, false, STREAM_FIRST_LEVEL)
#undef DEFINE_RUN

#if STREAM_HAS_WIDE
/* The same in vectors of a line, and prefetching the plane above into L1. */
STREAM_WIDE KERNEL_INLINE void NAMED(wide_run)(const struct NAMED(line) * line, bool plain,
                                               const struct NAMED(row) * row, REAL *out, int64_t n,
                                               REAL first_xm, REAL last_xp)
{
    enum { LINE = NAMED(LINE), NEAR = 1024 / sizeof(REAL) };
    const struct NAMED(row) first = *row;
    const struct stream_line end = NAMED(stream_line_of)(last_xp);
    struct stream_line before = NAMED(stream_line_of)(first_xm);
    struct stream_line here = stream_line_load(first.centre);
    struct NAMED(coefficients) k = NAMED(coefficients_of)(line, plain, 0);
    for (int64_t i = 0; i < n; i += LINE) {
        if (!plain) {
            k.of = line[i / LINE].of[0];
        }
        stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
        stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
        stream_fetch(STREAM_FIRST_LEVEL, first.zp + i + NEAR);
        const struct stream_line next =
            i + LINE < n ? stream_line_load(first.centre + i + LINE) : end;
        NAMED(streamed_line)(&k, NAMED(row_from)(&first, i), out + i, before, here, next);
        before = here;
        here = next;
    }
}
#define DEFINE_RUN(name, plain)                                                                    \
    static STREAM_WIDE __attribute__((noinline)) void NAMED(name)(                                 \
        const struct NAMED(line) * line, const struct NAMED(row) * row, REAL * out, int64_t n,     \
        REAL first_xm, REAL last_xp)                                                               \
    {                                                                                              \
        NAMED(wide_run)(line, plain, row, out, n, first_xm, last_xp);                              \
    }
#else
#define DEFINE_RUN(name, plain)                                                                    \
    static __attribute__((noinline)) void NAMED(name)(const struct NAMED(line) * line,             \
                                                      const struct NAMED(row) * row, REAL * out,   \
                                                      int64_t n, REAL first_xm, REAL last_xp)      \
    {                                                                                              \
        NAMED(streamed_run)                                                                        \
        (line, plain, row, out, n, first_xm, last_xp, STREAM_SECOND_LEVEL);                        \
    }
#endif
DEFINE_RUN(plain_wide, true)
DEFINE_RUN(varied_wide, false)
#undef DEFINE_RUN

KERNEL_INLINE NAMED(run_function) * NAMED(run_of)(bool plain, bool wide)
{
    return plain ? (wide ? NAMED(plain_wide) : NAMED(plain_ahead))
                 : (wide ? NAMED(varied_wide) : NAMED(varied_ahead));
}

/* The runs of a plan. */
KERNEL_INLINE void NAMED(runs)(const struct NAMED(plan) * plan, const struct NAMED(row) * row,
                               REAL *out, REAL first_xm, REAL last_xp, bool wide)
{
    int64_t i = 0;
    for (int r = 0; r < plan->nruns; r++) {
        const int64_t n = plan->run[r].n;
        const struct NAMED(row) at = NAMED(row_from)(row, i);
        const REAL minus = i == 0 ? first_xm : row->centre[i - 1];
        const REAL plus = i + n == plan->n ? last_xp : row->centre[i + n];
        NAMED(run_of)
        (plan->run[r].plain, wide)(&plan->line[i / NAMED(LINE)], &at, out + i, n, minus, plus);
        i += n;
    }
}

/* The flagged class of all cells of the line at `c`; 0: none. */
KERNEL_INLINE int NAMED(inside)(const uint8_t *c, int mask)
{
    uint8_t all[NAMED(LINE)];
    memset(all, c[0], NAMED(LINE));
    return c[0] > mask && memcmp(all, c, NAMED(LINE)) == 0 ? c[0] : 0;
}

/* The coefficients of a line inside a region, of flagged class `inside`, at c. */
static const struct NAMED(line) *
    NAMED(line_inside)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c, int inside)
{
    if (s->plans->inside != inside) {
        s->plans->inside = inside;
        NAMED(look_up)(s, c, 1, &s->plans->line);
    }
    return &s->plans->line;
}

/* Cells of the next run inside a region or the next piece, of `n` cells in complete lines; inside:
 * the flagged class of the first line. */
KERNEL_INLINE int64_t NAMED(stretch)(const uint8_t *c, int64_t n, int inside, int mask)
{
    const int64_t most = inside != 0 || n < NAMED(PIECE) ? n : NAMED(PIECE);
    int64_t i = NAMED(LINE);
    while (i < most && NAMED(inside)(c + i, mask) == inside) {
        i += NAMED(LINE);
    }
    return i;
}

/* `n` cells of a row; first_xm and last_xp: the neighbours in x of its ends. */
static __attribute__((noinline)) void NAMED(medium_range)(const struct NAMED(stencil) * s,
                                                          const struct NAMED(classes) * c,
                                                          const struct NAMED(row) * row, REAL *out,
                                                          int64_t n, REAL first_xm, REAL last_xp,
                                                          struct schedule schedule)
{
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = to_line < n ? to_line : n;
    const int64_t tail = (n - head) % NAMED(LINE);
    for (int64_t i = 0; i < n; i += STREAM_LINE_BYTES) {
        stream_fetch(STREAM_SECOND_LEVEL, c->ahead + i);
    }
    int64_t size = 0;
    for (int64_t i = 0, piece = 0; i < n; i += size) {
        const struct NAMED(classes) classes = NAMED(classes_from)(c, i);
        const struct NAMED(row) at = NAMED(row_from)(row, i);
        const int64_t left = n - tail - i;
        const bool few = i < head || left == 0;
        const int inside = few ? 0 : NAMED(inside)(classes.centre, s->medium->mask);
        size = few ? (i < head ? head : tail)
                   : NAMED(stretch)(classes.centre, left, inside, s->medium->mask);
        const REAL minus = i == 0 ? first_xm : row->centre[i - 1];
        const REAL plus = i + size == n ? last_xp : row->centre[i + size];
        if (few) {
            NAMED(stored_few)(s, &classes, &at, out + i, size, minus, plus);
        } else if (inside != 0) {
            const struct NAMED(line) *line = NAMED(line_inside)(s, &classes, inside);
            NAMED(run_of)(true, schedule.wide)(line, &at, out + i, size, minus, plus);
        } else {
            const struct NAMED(plan) *plan = NAMED(plan_for)(s, &classes, size, piece++);
            NAMED(runs)(plan, &at, out + i, minus, plus, schedule.wide);
        }
    }
}

/* The value beyond a closed face of the cell (i, j, k). */
KERNEL_INLINE REAL NAMED(beyond)(const struct NAMED(stencil) * s, enum face face, int of_class,
                                 int64_t i, int64_t j, int64_t k, REAL inside)
{
    const struct medium_args *m = s->medium;
    const int64_t cell[AXIS_COUNT] = {i, j, k};
    const int closure =
        medium_closure(m->d_patch[face], m->nclasses, face, s->layout->cells, cell, of_class);
    const REAL *abe = s->table + medium_closure_at(m->nclasses, m->nclosures, face, closure);
    return NAMED(medium_outside)(inside, abe[0], abe[1], abe[2]);
}

/* The heat through a closed face into a cell, in K, for the heat ledger. */
KERNEL_INLINE double NAMED(face_term)(const struct NAMED(stencil) * s, enum face face, int of_class,
                                      REAL outside, REAL inside)
{
    const REAL g = NAMED(g_from)(s, face_axis(face), of_class)[of_class];
    return (double)g * (double)(outside - inside);
}

/* One cell on the closed face x_min or x_max. */
static REAL NAMED(close_end)(const struct NAMED(stencil) * s, enum face face, int of_class,
                             int64_t i, int64_t j, int64_t k, REAL inside)
{
    const REAL outside = NAMED(beyond)(s, face, of_class, i, j, k, inside);
    if (s->tally[face].target != NULL) {
        tally_add_one(&s->tally[face], NAMED(face_term)(s, face, of_class, outside, inside));
    }
    return outside;
}

/* Point `neighbour` at the values beyond a closed face in y or z of at most CHUNK cells from
 * (i, j, k) on, computed into `beyond`. */
static void NAMED(close_face)(const struct NAMED(stencil) * s, enum face face,
                              const uint8_t *of_class, int64_t i, int64_t j, int64_t k,
                              const REAL *centre, int64_t n, REAL *restrict beyond,
                              const REAL **neighbour)
{
    for (int64_t at = 0; at < n; at++) {
        beyond[at] =
            NAMED(beyond)(s, face, of_class[at] & s->medium->mask, i + at, j, k, centre[at]);
    }
    if (s->tally[face].target != NULL) {
        double term[NAMED(CHUNK)];
        for (int64_t at = 0; at < n; at++) {
            term[at] =
                NAMED(face_term)(s, face, of_class[at] & s->medium->mask, beyond[at], centre[at]);
        }
        tally_add_float64(&s->tally[face], term, n);
    }
    *neighbour = beyond;
}

/* `n` cells from (lo, j, k) on, of a row on closed faces in y or z; first_xm and last_xp as in
 * medium_range. */
static __attribute__((noinline)) void NAMED(medium_boundary_row)(
    const struct NAMED(stencil) * s, const bool on[FACE_COUNT],
    const struct NAMED(classes) * classes, const struct NAMED(row) * row, REAL *out, int64_t lo,
    int64_t n, int64_t j, int64_t k, REAL first_xm, REAL last_xp, struct schedule schedule)
{
    REAL beyond[FACE_COUNT][NAMED(CHUNK)] __attribute__((aligned(STREAM_LINE_BYTES)));
    const REAL *centre = row->centre;
    /* chunks end at lines, so that all but the ends of the row are streamed */
    const int64_t head = stream_cells_to_line(out, sizeof(REAL));
    int64_t end = head > 0 && head < n ? head : 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        if (begin > 0 || end == 0) {
            end = n - begin < NAMED(CHUNK) ? n : begin + NAMED(CHUNK);
        }
        struct NAMED(row) at = NAMED(row_from)(row, begin);
        const struct NAMED(classes) c = NAMED(classes_from)(classes, begin);
        const REAL **const neighbour[FACE_COUNT] = {[FACE_Y_MIN] = &at.ym,
                                                    [FACE_Y_MAX] = &at.yp,
                                                    [FACE_Z_MIN] = &at.zm,
                                                    [FACE_Z_MAX] = &at.zp};
        for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
            if (on[face] && !s->mirrored[face]) {
                NAMED(close_face)
                (s, (enum face)face, c.centre, lo + begin, j, k, at.centre, end - begin,
                 beyond[face], neighbour[face]);
            }
        }
        NAMED(medium_range)
        (s, &c, &at, out + begin, end - begin, begin == 0 ? first_xm : centre[begin - 1],
         end == n ? last_xp : centre[end], schedule);
    }
}

/* Cells [lo, hi) of row (j, k), which may lie on closed faces. */
static inline void NAMED(medium_row)(const struct NAMED(stencil) * s,
                                     const struct NAMED(where) * where,
                                     const struct NAMED(classes) * classes,
                                     const struct NAMED(row) * row, REAL *out, int64_t lo,
                                     int64_t hi, int64_t j, int64_t k, struct schedule schedule)
{
    const bool *on = where->on;
    const int64_t n = hi - lo;
    const uint8_t *own = classes->centre;
    const int mask = s->medium->mask;
    const REAL *centre = row->centre;
    const REAL first = on[FACE_X_MIN]
                           ? NAMED(close_end)(s, FACE_X_MIN, own[0] & mask, lo, j, k, centre[0])
                           : centre[-1];
    const REAL last = on[FACE_X_MAX] ? NAMED(close_end)(s, FACE_X_MAX, own[n - 1] & mask, hi - 1, j,
                                                        k, centre[n - 1])
                                     : centre[n];
    if (where->values_beyond) {
        NAMED(medium_boundary_row)
        (s, on, classes, row, out, lo, n, j, k, first, last, schedule);
    } else {
        NAMED(medium_range)(s, classes, row, out, n, first, last, schedule);
    }
}

/* Cells [lo, hi) of row (j, k). */
KERNEL_INLINE void NAMED(step_row)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                   int64_t j, int64_t k, const struct NAMED(aim) * aim,
                                   struct schedule schedule)
{
    const struct layout *l = &s->medium->layout;
    const int64_t at = layout_index(s->layout, lo, j, k);
    const struct NAMED(where) where = NAMED(where_of)(s, lo, hi, j, k);
    const struct NAMED(row) row = NAMED(row_at)(s, where.on, at, aim);
    const uint8_t *own = s->medium->d_class + layout_index(l, lo, j, k);
    const bool ahead = aim->j <= l->cells[AXIS_Y] && aim->k <= l->cells[AXIS_Z];
    const struct NAMED(classes) classes = {
        .centre = own,
        .ym = own - l->pitch_y,
        .yp = own + l->pitch_y,
        .zm = own - l->pitch_z,
        .zp = own + l->pitch_z,
        .ahead = ahead ? s->medium->d_class + layout_index(l, lo, aim->j, aim->k) : own,
    };
    NAMED(medium_row)(s, &where, &classes, &row, s->out + at, lo, hi, j, k, schedule);
}

#if STREAM_HAS_WIDE
/* Row j of STEP_PLANES planes, one after another. */
KERNEL_INLINE void NAMED(step_block)(const struct NAMED(stencil) * s, int64_t lo, int64_t hi,
                                     int64_t j, int64_t k, const REAL *ahead,
                                     struct schedule schedule)
{
    const int64_t dz = s->layout->pitch_z;
    for (int p = 0; p < STEP_PLANES; p++) {
        const struct NAMED(aim) aim = {ahead + p * dz, ahead + p * dz, j, k + p};
        NAMED(step_row)(s, lo, hi, j, k + p, &aim, schedule);
    }
}
#endif

static struct NAMED(stencil)
    NAMED(stencil_of)(const struct layout *layout, const struct step_args *args, void *out,
                      const void *in, struct tally *tally, void *scratch)
{
    const struct medium_args *medium = args->medium;
    struct NAMED(stencil) s = {.layout = layout,
                               .closed = args->closed,
                               .tally = tally,
                               .out = out,
                               .in = in,
                               .medium = medium,
                               .table = medium->d_table,
                               .plans = scratch};
    if (precision_bytes(layout->precision) == sizeof(REAL)) {
        s.plans->inside = 0;
    }
    for (int place = 0; precision_bytes(layout->precision) == sizeof(REAL) && place < NAMED(PLACES);
         place++) {
        s.plans->last[place] = 0;
        for (int way = 0; way < NAMED(WAYS); way++) {
            s.plans->plan[place][way].n = 0;
        }
    }
    for (int side = 0; side < SIDE_COUNT; side++) { /* axes that are not used */
        s.mirrored[face_of(AXIS_Y, (enum side)side)] = medium->layout.pitch_y == 0;
        s.mirrored[face_of(AXIS_Z, (enum side)side)] = medium->layout.pitch_z == 0;
    }
    return s;
}
