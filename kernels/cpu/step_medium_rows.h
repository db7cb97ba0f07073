/* The rows of the step kernel in a medium of classes, in one precision. Included after
 * step_lines.h, in the same way.
 *
 * A row is divided into runs of complete cache lines. Where the classes of the cells and those of
 * their neighbours on each side do not change along x, as inside a region and along most of its
 * boundaries, the run has constant coefficients and is streamed like a uniform medium. The other
 * lines have coefficients of their own, which are kept: the next row mostly has the same. */

/* The coefficients of each cell of a line. */
struct NAMED(varied) {
    REAL gxm[NAMED(LINE)], gxp[NAMED(LINE)], gym[NAMED(LINE)], gyp[NAMED(LINE)];
    REAL gzm[NAMED(LINE)], gzp[NAMED(LINE)], sigma[NAMED(LINE)], q[NAMED(LINE)];
};

/* What they were computed for: the classes of a line and of its neighbours. */
struct NAMED(pattern) {
    uint8_t centre[NAMED(LINE) + 2]; /* from the neighbour in x on */
    uint8_t ym[NAMED(LINE)], yp[NAMED(LINE)], zm[NAMED(LINE)], zp[NAMED(LINE)];
};

enum { NAMED(KEPT) = 64 };
struct NAMED(kept) {
    bool is_set[NAMED(KEPT)];
    struct NAMED(pattern) pattern[NAMED(KEPT)];
    struct NAMED(varied) varied[NAMED(KEPT)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* The classes of a row and of its neighbours, from the row's first cell on. */
struct NAMED(classes) {
    const uint8_t *centre, *ym, *yp, *zm, *zp;
    const uint8_t *ahead; /* to prefetch */
};

KERNEL_INLINE const REAL *NAMED(g_from)(const struct NAMED(stencil) * s, enum axis axis,
                                        int of_class)
{
    return s->table + medium_g_at(s->medium->nclasses, axis, of_class, 0);
}

static inline struct NAMED(pattern)
    NAMED(pattern_at)(const struct NAMED(classes) * c, int64_t i, int64_t n)
{
    struct NAMED(pattern) p = {.centre = {0}};
    memcpy(p.centre, c->centre + i - 1, (size_t)n + 2);
    memcpy(p.ym, c->ym + i, (size_t)n);
    memcpy(p.yp, c->yp + i, (size_t)n);
    memcpy(p.zm, c->zm + i, (size_t)n);
    memcpy(p.zp, c->zp + i, (size_t)n);
    return p;
}

static void NAMED(look_up)(const struct NAMED(stencil) * s, const struct NAMED(pattern) * p,
                           int64_t n, struct NAMED(varied) * v)
{
    for (int64_t i = 0; i < n; i++) {
        const int own = p->centre[i + 1];
        const REAL *gx = NAMED(g_from)(s, AXIS_X, own);
        const REAL *gy = NAMED(g_from)(s, AXIS_Y, own);
        const REAL *gz = NAMED(g_from)(s, AXIS_Z, own);
        v->gxm[i] = gx[p->centre[i]];
        v->gxp[i] = gx[p->centre[i + 2]];
        v->gym[i] = gy[p->ym[i]];
        v->gyp[i] = gy[p->yp[i]];
        v->gzm[i] = gz[p->zm[i]];
        v->gzp[i] = gz[p->zp[i]];
        v->sigma[i] = s->table[medium_cell_at(own)];
        v->q[i] = s->table[medium_cell_at(own) + 1];
    }
}

/* At most a line of cells with coefficients of their own. */
KERNEL_INLINE void NAMED(varied_cells)(const struct NAMED(varied) * v,
                                       const struct NAMED(row) * row, REAL *restrict out, int64_t n,
                                       REAL first_xm, REAL last_xp)
{
    REAL minus[NAMED(LINE)];
    REAL plus[NAMED(LINE)];
    minus[0] = first_xm;
    for (int64_t i = 1; i < n; i++) {
        minus[i] = row->centre[i - 1];
        plus[i - 1] = row->centre[i];
    }
    plus[n - 1] = last_xp;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = NAMED(medium_cell)(row->centre[i], minus[i], plus[i], row->ym[i], row->yp[i],
                                    row->zm[i], row->zp[i], v->gxm[i], v->gxp[i], v->gym[i],
                                    v->gyp[i], v->gzm[i], v->gzp[i], v->sigma[i], v->q[i]);
    }
}

/* Fewer cells than a line, with ordinary stores. */
static void NAMED(stored_few)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c,
                              const struct NAMED(row) * row, REAL *out, int64_t i, int64_t n,
                              REAL first_xm, REAL last_xp)
{
    struct NAMED(varied) v;
    const struct NAMED(pattern) p = NAMED(pattern_at)(c, i, n);
    const struct NAMED(row) at = NAMED(row_from)(row, i);
    NAMED(look_up)(s, &p, n, &v);
    NAMED(varied_cells)(&v, &at, out + i, n, first_xm, last_xp);
}

/* The line at cell i of the row, streamed. */
static __attribute__((noinline)) void NAMED(varied_line)(const struct NAMED(stencil) * s,
                                                         const struct NAMED(classes) * c,
                                                         const struct NAMED(row) * row, REAL *out,
                                                         int64_t i, REAL first_xm, REAL last_xp,
                                                         enum stream_level level)
{
    enum { LINE = NAMED(LINE), PART = NAMED(PART) };
    const struct NAMED(pattern) p = NAMED(pattern_at)(c, i, LINE);
    const size_t place = (uintptr_t)(out + i) / STREAM_LINE_BYTES % NAMED(KEPT);
    struct NAMED(kept) *kept = s->kept;
    if (!kept->is_set[place] || memcmp(&kept->pattern[place], &p, sizeof p) != 0) {
        NAMED(look_up)(s, &p, LINE, &kept->varied[place]);
        kept->pattern[place] = p;
        kept->is_set[place] = true;
    }
    REAL result[LINE] __attribute__((aligned(STREAM_LINE_BYTES)));
    const struct NAMED(row) at = NAMED(row_from)(row, i);
    stream_fetch(level, at.ahead);
    stream_fetch(level, at.beside);
    NAMED(varied_cells)(&kept->varied[place], &at, result, LINE, first_xm, last_xp);
    stream_part(out + i, result);
    stream_part(out + i + PART, result + PART);
}

/* Bits that are 0 where `n` cells from i on have the classes of cell `of` and their neighbours in y
 * and z the classes of its neighbours. */
KERNEL_INLINE unsigned NAMED(differing)(const struct NAMED(classes) * c, int64_t of, int64_t i,
                                        int n)
{
    const uint8_t centre = c->centre[of];
    const uint8_t ym = c->ym[of];
    const uint8_t yp = c->yp[of];
    const uint8_t zm = c->zm[of];
    const uint8_t zp = c->zp[of];
    uint8_t bits = 0;
#pragma omp simd reduction(| : bits)
    for (int64_t at = i; at < i + n; at++) {
        bits |= (uint8_t)((c->centre[at] ^ centre) | (c->ym[at] ^ ym) | (c->yp[at] ^ yp) |
                          (c->zm[at] ^ zm) | (c->zp[at] ^ zp));
    }
    return bits;
}

/* The cells, of those in [i, end), of the run with constant coefficients that begins at i; complete
 * lines. */
KERNEL_INLINE int64_t NAMED(run_length)(const struct NAMED(classes) * c, int64_t i, int64_t end)
{
    enum { LINE = NAMED(LINE), SPAN = 64 };
    const uint8_t own = c->centre[i];
    int64_t at = i;
    if (c->centre[i - 1] != own) {
        return 0;
    }
    while (at + SPAN <= end && NAMED(differing)(c, i, at, SPAN) == 0) {
        at += SPAN;
    }
    while (at + LINE <= end && NAMED(differing)(c, i, at, LINE) == 0) {
        at += LINE;
    }
    return at > i && c->centre[at] != own ? at - LINE - i : at - i;
}

/* The complete lines [begin, end) of a row, streamed. */
KERNEL_INLINE void NAMED(runs)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c,
                               const struct NAMED(row) * row, REAL *out, int64_t begin, int64_t end,
                               REAL first_xm, REAL last_xp, struct schedule schedule)
{
    enum { LINE = NAMED(LINE) };
    for (int64_t i = begin; i < end;) {
        const int64_t n = NAMED(run_length)(c, i, end);
        const int64_t next = i + (n > 0 ? n : LINE);
        const REAL minus = i == begin ? first_xm : row->centre[i - 1];
        const REAL plus = next == end ? last_xp : row->centre[next];
        if (n > 0) {
            const int own = c->centre[i];
            const REAL *gy = NAMED(g_from)(s, AXIS_Y, own);
            const REAL *gz = NAMED(g_from)(s, AXIS_Z, own);
            const struct NAMED(coefficients) k = {
                .gx = NAMED(g_from)(s, AXIS_X, own)[own],
                .gym = gy[c->ym[i]],
                .gyp = gy[c->yp[i]],
                .gzm = gz[c->zm[i]],
                .gzp = gz[c->zp[i]],
                .sigma = s->table[medium_cell_at(own)],
                .q = s->table[medium_cell_at(own) + 1],
            };
            const struct NAMED(row) at = NAMED(row_from)(row, i);
            NAMED(scheduled_lines)(&k, &at, out + i, n, minus, plus, schedule);
        } else {
            NAMED(varied_line)(s, c, row, out, i, minus, plus, schedule.ahead_to);
        }
        i = next;
    }
}

/* `n` cells of a row; first_xm and last_xp: the neighbours in x of its ends. */
static __attribute__((noinline)) void NAMED(medium_range)(const struct NAMED(stencil) * s,
                                                          const struct NAMED(classes) * c,
                                                          const struct NAMED(row) * row, REAL *out,
                                                          int64_t n, REAL first_xm, REAL last_xp,
                                                          struct schedule schedule)
{
    enum { LINE = NAMED(LINE) };
    const REAL *centre = row->centre;
    const int64_t to_line = stream_cells_to_line(out, sizeof(REAL));
    const int64_t head = to_line < n ? to_line : n;
    const int64_t tail = (n - head) % LINE;
    const int64_t end = n - tail;
    for (int64_t i = 0; i < n; i += 64) {
        __builtin_prefetch(c->ahead + i, 0, 2);
    }
    if (head > 0) {
        NAMED(stored_few)(s, c, row, out, 0, head, first_xm, head == n ? last_xp : centre[head]);
    }
    if (tail > 0) {
        NAMED(stored_few)
        (s, c, row, out, end, tail, end == 0 ? first_xm : centre[end - 1], last_xp);
    }
    if (head < end) {
        NAMED(runs)
        (s, c, row, out, head, end, head == 0 ? first_xm : centre[head - 1],
         tail == 0 ? last_xp : centre[end], schedule);
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

/* Cells [lo, hi) of row (j, k), which may lie on closed faces. */
static inline void NAMED(medium_row)(const struct NAMED(stencil) * s,
                                     const struct NAMED(where) * where,
                                     const struct NAMED(classes) * classes,
                                     const struct NAMED(row) * row, REAL *out, int64_t lo,
                                     int64_t hi, int64_t j, int64_t k, struct schedule schedule)
{
    REAL beyond[FACE_COUNT][NAMED(CHUNK)] __attribute__((aligned(STREAM_LINE_BYTES)));
    const bool *on = where->on;
    const int64_t n = hi - lo;
    const uint8_t *own = classes->centre;
    const REAL *centre = row->centre;
    const REAL first =
        on[FACE_X_MIN] ? NAMED(close_end)(s, FACE_X_MIN, own[0], lo, j, k, centre[0]) : centre[-1];
    const REAL last = on[FACE_X_MAX]
                          ? NAMED(close_end)(s, FACE_X_MAX, own[n - 1], hi - 1, j, k, centre[n - 1])
                          : centre[n];
    if (!where->values_beyond) {
        NAMED(medium_range)(s, classes, row, out, n, first, last, schedule);
        return;
    }
    /* chunks end at lines, so that all but the ends of the row are streamed */
    const int64_t head = stream_cells_to_line(out, sizeof(REAL));
    int64_t end = head > 0 && head < n ? head : 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        if (begin > 0 || end == 0) {
            end = n - begin < NAMED(CHUNK) ? n : begin + NAMED(CHUNK);
        }
        struct NAMED(row) at = NAMED(row_from)(row, begin);
        const struct NAMED(classes) c = {
            classes->centre + begin, classes->ym + begin, classes->yp + begin,
            classes->zm + begin,     classes->zp + begin, classes->ahead + begin,
        };
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
        (s, &c, &at, out + begin, end - begin, begin == 0 ? first : centre[begin - 1],
         end == n ? last : centre[end], schedule);
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

static struct NAMED(stencil)
    NAMED(stencil_of)(const struct layout *layout, const struct step_args *args, void *out,
                      const void *in, struct tally *tally)
{
    static _Thread_local struct NAMED(kept) kept;
    const struct medium_args *medium = args->medium;
    struct NAMED(stencil) s = {.layout = layout,
                               .closed = args->closed,
                               .tally = tally,
                               .out = out,
                               .in = in,
                               .medium = medium,
                               .table = medium->d_table,
                               .kept = &kept};
    memset(kept.is_set, 0, sizeof kept.is_set);
    for (int side = 0; side < SIDE_COUNT; side++) { /* axes that are not used */
        s.mirrored[face_of(AXIS_Y, (enum side)side)] = medium->layout.pitch_y == 0;
        s.mirrored[face_of(AXIS_Z, (enum side)side)] = medium->layout.pitch_z == 0;
    }
    return s;
}
