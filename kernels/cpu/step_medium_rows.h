/* The rows of the step kernel in a medium of classes, in one precision. Included after
 * step_lines.h, in the same way.
 *
 * A row is divided into runs of cache lines. Where the classes of the cells and those of their
 * neighbours on each side do not change along x, as inside a region and along most of its surface,
 * a run has constant coefficients. Every other line has vectors of them. Both are found once for a
 * piece of a row and kept: the next rows mostly have the same classes, and so have their
 * neighbours.
 */

/* The coefficients of a line, as medium_cell takes them. */
enum { NAMED(COEFFICIENTS) = 8 };
struct NAMED(line) {
    REAL of[NAMED(COEFFICIENTS)][NAMED(LINE)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* The lines of a piece of a row. */
enum { NAMED(PIECE_LINES) = 32, NAMED(PIECE) = NAMED(PIECE_LINES) * NAMED(LINE) };
struct NAMED(plan) {
    int64_t n; /* cells; 0: not used */
    /* what it was made for; of the row itself with the neighbours in x of its ends */
    uint8_t centre[NAMED(PIECE) + 2], ym[NAMED(PIECE)], yp[NAMED(PIECE)];
    uint8_t zm[NAMED(PIECE)], zp[NAMED(PIECE)];
    int nruns;
    struct NAMED(run) {
        int64_t n;  /* cells */
        bool plain; /* constant coefficients, those of the first line */
    } run[NAMED(PIECE_LINES)];
    struct NAMED(line) line[NAMED(PIECE_LINES)];
};

/* Of one thread, for the pieces of a row in turn, two for each. */
enum { NAMED(PLACES) = 4, NAMED(WAYS) = 2 };
struct NAMED(plans) {
    struct NAMED(plan) plan[NAMED(PLACES)][NAMED(WAYS)];
    int last[NAMED(PLACES)]; /* the way that was used last */
};

/* The classes of a row and of its neighbours, from the row's first cell on. */
struct NAMED(classes) {
    const uint8_t *centre, *ym, *yp, *zm, *zp;
    const uint8_t *ahead; /* to prefetch */
};

KERNEL_INLINE struct NAMED(classes) NAMED(classes_from)(const struct NAMED(classes) * c, int64_t i)
{
    return (struct NAMED(classes)){
        c->centre + i, c->ym + i, c->yp + i, c->zm + i, c->zp + i, c->ahead + i,
    };
}

KERNEL_INLINE const REAL *NAMED(g_from)(const struct NAMED(stencil) * s, enum axis axis,
                                        int of_class)
{
    return s->table + medium_g_at(s->medium->nclasses, axis, of_class, 0);
}

/* The coefficients of at most a line of cells. */
static void NAMED(look_up)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c,
                           int64_t n, struct NAMED(line) * line)
{
    for (int64_t i = 0; i < n; i++) {
        const int own = c->centre[i];
        const REAL *gx = NAMED(g_from)(s, AXIS_X, own);
        const REAL *gy = NAMED(g_from)(s, AXIS_Y, own);
        const REAL *gz = NAMED(g_from)(s, AXIS_Z, own);
        line->of[0][i] = gx[c->centre[i - 1]];
        line->of[1][i] = gx[c->centre[i + 1]];
        line->of[2][i] = gy[c->ym[i]];
        line->of[3][i] = gy[c->yp[i]];
        line->of[4][i] = gz[c->zm[i]];
        line->of[5][i] = gz[c->zp[i]];
        line->of[6][i] = s->table[medium_cell_at(own)];
        line->of[7][i] = s->table[medium_cell_at(own) + 1];
    }
}

/* Whether all cells of the line at c, and their neighbours in x, have the class of cell `of`, and
 * their neighbours in y and z the classes of its neighbours. */
KERNEL_INLINE bool NAMED(same_as)(const struct NAMED(classes) * c, int64_t of)
{
    uint8_t bits =
        (uint8_t)((c->centre[-1] ^ c->centre[of]) | (c->centre[NAMED(LINE)] ^ c->centre[of]));
    for (int64_t i = 0; i < NAMED(LINE); i++) {
        bits |= (uint8_t)((c->centre[i] ^ c->centre[of]) | (c->ym[i] ^ c->ym[of]) |
                          (c->yp[i] ^ c->yp[of]) | (c->zm[i] ^ c->zm[of]) | (c->zp[i] ^ c->zp[of]));
    }
    return bits == 0;
}

static __attribute__((noinline)) void NAMED(plan_make)(const struct NAMED(stencil) * s,
                                                       const struct NAMED(classes) * c, int64_t n,
                                                       struct NAMED(plan) * plan)
{
    plan->n = n;
    memcpy(plan->centre, c->centre - 1, (size_t)n + 2);
    memcpy(plan->ym, c->ym, (size_t)n);
    memcpy(plan->yp, c->yp, (size_t)n);
    memcpy(plan->zm, c->zm, (size_t)n);
    memcpy(plan->zp, c->zp, (size_t)n);
    plan->nruns = 0;
    for (int64_t l = 0; l < n / NAMED(LINE); l++) {
        const struct NAMED(classes) at = NAMED(classes_from)(c, l * NAMED(LINE));
        struct NAMED(run) *run = &plan->run[plan->nruns - (plan->nruns > 0 ? 1 : 0)];
        const bool plain = NAMED(same_as)(&at, 0);
        const bool extends =
            plan->nruns > 0 && run->plain == plain && (!plain || NAMED(same_as)(&at, -1));
        if (!extends) {
            run = &plan->run[plan->nruns++];
            *run = (struct NAMED(run)){.plain = plain};
        }
        if (!extends || !plain) {
            NAMED(look_up)(s, &at, plain ? 1 : NAMED(LINE), &plan->line[l]);
        }
        run->n += NAMED(LINE);
    }
}

KERNEL_INLINE bool NAMED(plan_fits)(const struct NAMED(plan) * plan,
                                    const struct NAMED(classes) * c, int64_t n)
{
    return plan->n == n && plan->centre[0] == c->centre[-1] &&
           plan->centre[n + 1] == c->centre[n] &&
           stream_same_bytes(plan->centre + 1, c->centre, n) &&
           stream_same_bytes(plan->ym, c->ym, n) && stream_same_bytes(plan->yp, c->yp, n) &&
           stream_same_bytes(plan->zm, c->zm, n) && stream_same_bytes(plan->zp, c->zp, n);
}

/* The plan for `n` cells in complete lines, at most PIECE; `piece` counts along the row. */
static const struct NAMED(plan) * NAMED(plan_for)(const struct NAMED(stencil) * s,
                                                  const struct NAMED(classes) * c, int64_t n,
                                                  int64_t piece)
{
    const int64_t place = piece % NAMED(PLACES);
    int *last = &s->plans->last[place];
    for (int tried = 0; tried < NAMED(WAYS); tried++) {
        if (NAMED(plan_fits)(&s->plans->plan[place][*last], c, n)) {
            return &s->plans->plan[place][*last];
        }
        *last = (*last + 1) % NAMED(WAYS);
    }
    *last = (*last + 1) % NAMED(WAYS);
    NAMED(plan_make)(s, c, n, &s->plans->plan[place][*last]);
    return &s->plans->plan[place][*last];
}

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
        NAMED(run_function) *const run = plan->run[r].plain
                                             ? (wide ? NAMED(plain_wide) : NAMED(plain_ahead))
                                             : (wide ? NAMED(varied_wide) : NAMED(varied_ahead));
        run(&plan->line[i / NAMED(LINE)], &at, out + i, n, minus, plus);
        i += n;
    }
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
    for (int64_t i = 0, piece = 0; i < n; i += size, piece++) {
        const struct NAMED(classes) classes = NAMED(classes_from)(c, i);
        const struct NAMED(row) at = NAMED(row_from)(row, i);
        const int64_t left = n - tail - i;
        const bool few = i < head || left == 0;
        size = few ? (i < head ? head : tail) : (left < NAMED(PIECE) ? left : NAMED(PIECE));
        const REAL minus = i == 0 ? first_xm : row->centre[i - 1];
        const REAL plus = i + size == n ? last_xp : row->centre[i + size];
        if (few) {
            NAMED(stored_few)(s, &classes, &at, out + i, size, minus, plus);
            continue;
        }
        const struct NAMED(plan) *plan = NAMED(plan_for)(s, &classes, size, piece);
        NAMED(runs)(plan, &at, out + i, minus, plus, schedule.wide);
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
        beyond[at] = NAMED(beyond)(s, face, of_class[at], i + at, j, k, centre[at]);
    }
    if (s->tally[face].target != NULL) {
        double term[NAMED(CHUNK)];
        for (int64_t at = 0; at < n; at++) {
            term[at] = NAMED(face_term)(s, face, of_class[at], beyond[at], centre[at]);
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
    const REAL *centre = row->centre;
    const REAL first =
        on[FACE_X_MIN] ? NAMED(close_end)(s, FACE_X_MIN, own[0], lo, j, k, centre[0]) : centre[-1];
    const REAL last = on[FACE_X_MAX]
                          ? NAMED(close_end)(s, FACE_X_MAX, own[n - 1], hi - 1, j, k, centre[n - 1])
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
