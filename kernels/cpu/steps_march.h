/* Several steps of a tile in one pass, in one precision. Included after step_lines.h, in the same
 * way.
 *
 * Level l is the field after l steps. The tile marches along its third axis: when plane p of the
 * input comes in, level l advances at plane p - l, so that a new value is at once the upper
 * neighbour of the next level: a chain along which values stay in registers. Two planes of each
 * level are kept in scratch memory: the last one, and the one below, over which the chain writes.
 * Around the tile, a level is as much wider as the remaining steps need. */

enum {
    NAMED(PLANE) = STEPS_PLANE_BYTES / sizeof(REAL), /* from plane to plane in scratch */
    NAMED(PIECE) = STEPS_PIECE_MOST / sizeof(REAL)   /* at most */
};

struct NAMED(march) {
    const struct layout *layout;
    const struct step_args *args; /* of each step */
    int nsteps;
    bool flat; /* a single plane, which marches along y; its rows have no neighbours */
    enum axis row_axis, axis;
    REAL *out;
    const REAL *in;
    struct NAMED(coefficients) k;
    struct box level[STEPS_MOST + 1]; /* the cells of each; of the last: the tile */
    int64_t begin, end;               /* in x, all levels: whole lines of the fields */
    int64_t pitch;
    int64_t piece; /* cells of a row at a time */
    REAL *scratch;
    struct tally (*tally)[FACE_COUNT]; /* of each step */
};

/* Row j of level `l` in scratch, from m->begin on; `odd`: of the two planes. */
KERNEL_INLINE REAL *NAMED(level_row)(const struct NAMED(march) * m, int l, int64_t odd, int64_t j)
{
    const int64_t row = j - m->level[0].lo[m->row_axis] + 1; /* one before, for outside values */
    return m->scratch + (2 * l + odd) * NAMED(PLANE) + row * m->pitch + NAMED(LINE);
}

/* Element of cell (m->begin, j) of plane p. */
KERNEL_INLINE int64_t NAMED(march_element)(const struct NAMED(march) * m, int64_t j, int64_t p)
{
    return m->flat ? layout_index(m->layout, m->begin, p, j)
                   : layout_index(m->layout, m->begin, j, p);
}

/* Do the cells of level l end at a closed face? */
KERNEL_INLINE bool NAMED(level_closed)(const struct NAMED(march) * m, int l, enum axis axis,
                                       enum side side)
{
    const struct box *box = &m->level[l];
    return m->args->closed[face_of(axis, side)] &&
           (side == SIDE_MIN ? box->lo[axis] == 0 : box->hi[axis] == m->layout->cells[axis]);
}

/* Cells of a chain: the rows of its lowest level, and where its values come from and go to. */
struct NAMED(links) {
    REAL *slot;    /* the plane below, overwritten by the new one */
    const REAL *c; /* the plane between */
    int64_t pitch;
    const REAL *source;         /* the new plane */
    const REAL *ahead, *beside; /* prefetched */
    REAL *out;
    int64_t n; /* whole lines */
    bool stream;
};

/* What a chain keeps in registers: for each link its line, the one before, and the new value. */
struct NAMED(chained) {
    struct STEPS_VECTOR before[STEPS_CHAIN], here[STEPS_CHAIN], value[STEPS_CHAIN];
};

/* Link l at cells i - l VECTOR and on: the links are a line apart, so that none waits for another.
 * `ends`: some links have not begun or have ended. */
KERNEL_INLINE void NAMED(chain_line)(const struct NAMED(coefficients) * k,
                                     const struct NAMED(links) * from, int nlinks, bool flat,
                                     int64_t line, bool ends, struct NAMED(chained) * at_line)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL), STRIDE = 2 * NAMED(PLANE) };
    if (!ends || line < from->n) {
        at_line->value[0] = STEPS(load)(from->source + line);
        stream_fetch(STREAM_SECOND_LEVEL, from->ahead + line);
        stream_fetch(STREAM_SECOND_LEVEL, from->beside + line);
    }
#pragma GCC unroll 8
    for (int l = nlinks - 1; l >= 0; l--) {
        const int64_t i = line - l * VECTOR;
        if (ends && (i < 0 || i >= from->n)) {
            continue;
        }
        REAL *slot = from->slot + l * STRIDE + i;
        const REAL *c = from->c + l * STRIDE + i;
        const struct STEPS_VECTOR old = STEPS(load)(slot);
        REAL centre[VECTOR]; /* the compiler keeps these in registers */
        REAL minus[VECTOR];
        REAL plus[VECTOR];
        REAL below[VECTOR];
        REAL above[VECTOR];
        REAL result[VECTOR];
        STEPS(store)(at_line->value[l], slot);
        STEPS(store)(old, below);
        STEPS(store)(at_line->value[l], above);
        if (STEPS_SHIFT) {
            const struct STEPS_VECTOR next = STEPS(load)(c + VECTOR);
            STEPS(store)(at_line->here[l], centre);
            STEPS(minus)(at_line->before[l], at_line->here[l], sizeof(REAL), minus);
            STEPS(plus)(at_line->here[l], next, sizeof(REAL), plus);
            at_line->before[l] = at_line->here[l];
            at_line->here[l] = next;
        } else {
            STEPS(store)(STEPS(load)(c), centre);
            STEPS(store)(STEPS(load)(c - 1), minus);
            STEPS(store)(STEPS(load)(c + 1), plus);
        }
        const struct NAMED(row) at = {
            .centre = centre,
            .xm = minus,
            .xp = plus,
            .ym = flat ? below : c - from->pitch,
            .yp = flat ? above : c + from->pitch,
            .zm = flat ? centre : below,
            .zp = flat ? centre : above,
        };
        NAMED(cells)(k, &at, result, VECTOR);
        if (l < nlinks - 1) {
            at_line->value[l + 1] = STEPS(load)(result);
        } else if (from->stream) {
            STEPS(store_streaming)(STEPS(load)(result), from->out + i);
        } else {
            STEPS(store)(STEPS(load)(result), from->out + i);
        }
    }
    if (nlinks == 0) {
        STEPS(store)(at_line->value[0], from->out + line);
    }
}

KERNEL_INLINE void NAMED(chain)(const struct NAMED(coefficients) * coefficients,
                                const struct NAMED(links) * links, int nlinks, bool flat)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL), STRIDE = 2 * NAMED(PLANE) };
    const struct NAMED(coefficients) k = *coefficients;
    const struct NAMED(links) from = *links;
    const int64_t begin = (nlinks > 0 ? nlinks - 1 : 0) * VECTOR;
    struct NAMED(chained) at_line;
#pragma GCC unroll 8
    for (int l = 0; STEPS_SHIFT && l < nlinks; l++) {
        at_line.before[l] = STEPS(load)(from.c + l * STRIDE - VECTOR);
        at_line.here[l] = STEPS(load)(from.c + l * STRIDE);
    }
    int64_t line = 0;
    for (; line < begin; line += VECTOR) {
        NAMED(chain_line)(&k, &from, nlinks, flat, line, true, &at_line);
    }
    for (; line < from.n; line += VECTOR) {
        NAMED(chain_line)(&k, &from, nlinks, flat, line, false, &at_line);
    }
    for (; line < from.n + begin; line += VECTOR) {
        NAMED(chain_line)(&k, &from, nlinks, flat, line, true, &at_line);
    }
}

/* Not inlined: the number of links is constant in each. */
#define CHAIN(nlinks)                                                                              \
    static STEPS_TARGET __attribute__((noinline)) void NAMED(chain_##nlinks)(                      \
        const struct NAMED(coefficients) * k, const struct NAMED(links) * links)                   \
    {                                                                                              \
        NAMED(chain)(k, links, nlinks, false);                                                     \
    }                                                                                              \
    static STEPS_TARGET __attribute__((noinline)) void NAMED(chain_flat_##nlinks)(                 \
        const struct NAMED(coefficients) * k, const struct NAMED(links) * links)                   \
    {                                                                                              \
        NAMED(chain)(k, links, nlinks, true);                                                      \
    }
CHAIN(0)
CHAIN(1)
CHAIN(2)
CHAIN(3)
CHAIN(4)
#undef CHAIN

/* Advance cells of level `first`, whose values are at links.source, to level `last`. */
KERNEL_INLINE void NAMED(advance_cells)(const struct NAMED(march) * m, int first, int last,
                                        struct NAMED(links) links)
{
    typedef void function(const struct NAMED(coefficients) *, const struct NAMED(links) *);
    static function *const chain[2][STEPS_CHAIN + 1] = {
        {NAMED(chain_0), NAMED(chain_1), NAMED(chain_2), NAMED(chain_3), NAMED(chain_4)},
        {NAMED(chain_flat_0), NAMED(chain_flat_1), NAMED(chain_flat_2), NAMED(chain_flat_3),
         NAMED(chain_flat_4)}};
    REAL between[NAMED(PIECE)] __attribute__((aligned(STREAM_LINE_BYTES)));
    struct NAMED(links) part = links;
    for (; last - first > STEPS_CHAIN; first += STEPS_CHAIN) {
        part.out = between;
        part.stream = false;
        chain[m->flat][STEPS_CHAIN](&m->k, &part);
        part.slot += (int64_t)STEPS_CHAIN * 2 * NAMED(PLANE);
        part.c += (int64_t)STEPS_CHAIN * 2 * NAMED(PLANE);
        part.source = between;
        part.ahead = between;
        part.beside = between;
    }
    part.out = links.out;
    part.stream = links.stream;
    chain[m->flat][last - first](&m->k, &part);
}

/* As advance_cells, of cells from `x` on, to the output: the tile's lines are streamed, the cells
 * before and after them take ordinary stores. */
KERNEL_INLINE void NAMED(advance_to_output)(const struct NAMED(march) * m, int first, int64_t x,
                                            struct NAMED(links) links)
{
    enum { LINE = NAMED(LINE) };
    const int64_t lo = m->level[m->nsteps].lo[AXIS_X];
    const int64_t hi = m->level[m->nsteps].hi[AXIS_X];
    for (int64_t at = 0, n; at < links.n; at += n) {
        REAL ends[LINE];
        const int64_t before = lo - x - at; /* cells that are not of the tile */
        const int64_t left = hi - x - at;
        const bool whole = before <= 0 && left >= LINE;
        n = whole ? (left < links.n - at ? left / LINE * LINE : links.n - at) : LINE;
        NAMED(advance_cells)
        (m, first, m->nsteps,
         (struct NAMED(links)){.slot = links.slot + at,
                               .c = links.c + at,
                               .pitch = links.pitch,
                               .source = links.source + at,
                               .ahead = links.ahead + at,
                               .beside = links.beside + at,
                               .out = whole ? links.out + at : ends,
                               .n = n,
                               .stream = whole});
        for (int64_t i = before > 0 ? before : 0; !whole && i < LINE && i < left; i++) {
            links.out[at + i] = ends[i];
        }
    }
}

/* The values of level l beyond a closed face. */
KERNEL_INLINE void NAMED(fill_beyond)(const struct NAMED(march) * m, int l, enum face face,
                                      const REAL *inside, REAL *restrict beyond, int64_t n)
{
    const REAL a = (REAL)m->args[l].a[face];
    const REAL b = (REAL)m->args[l].b[face];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        beyond[i] = NAMED(heat_outside)(inside[i], a, b);
    }
}

/* A piece of a row of plane p of the input. */
struct NAMED(piece) {
    int64_t x, n, j, p;
    int first, last;  /* the levels that advance */
    int64_t fetch[2]; /* rows of the next plane to prefetch: from the first to before the
                         second, two at most */
};

/* Advance the levels of a piece. */
static __attribute__((noinline)) void NAMED(advance_piece)(const struct NAMED(march) * m,
                                                           const struct NAMED(piece) * piece)
{
    const int64_t p = piece->p;
    const int64_t j = piece->j;
    const int first = piece->first;
    const int last = piece->last;
    const int64_t odd = p & 1;
    const int64_t at = piece->x - m->begin;
    REAL beyond[NAMED(PIECE)] __attribute__((aligned(STREAM_LINE_BYTES)));
    struct NAMED(links) links = {.slot = NAMED(level_row)(m, first, odd, j) + at,
                                 .c = NAMED(level_row)(m, first, 1 - odd, j) + at,
                                 .pitch = m->pitch,
                                 .source = beyond,
                                 .ahead = beyond,
                                 .beside = beyond,
                                 .n = piece->n};
    if (p - first == m->level[first].hi[m->axis]) { /* no such plane */
        NAMED(fill_beyond)
        (m, first, face_of(m->axis, SIDE_MAX), links.c, beyond, piece->n);
    } else {
        links.source = m->in + NAMED(march_element)(m, j, p) + at;
        links.ahead = links.source;
        links.beside = links.source;
        if (piece->fetch[0] < piece->fetch[1]) {
            links.ahead = m->in + NAMED(march_element)(m, piece->fetch[0], p + 1) + at;
            links.beside = m->in + NAMED(march_element)(m, piece->fetch[1] - 1, p + 1) + at;
        }
    }
    if (last < m->nsteps) {
        links.out = NAMED(level_row)(m, last, odd, j) + at;
        NAMED(advance_cells)(m, first, last, links);
    } else {
        links.out = m->out + NAMED(march_element)(m, j, p - last) + at;
        NAMED(advance_to_output)(m, first, piece->x, links);
    }
}

/* The highest level up to `last` that has row j, from level `first` on, which has. */
KERNEL_INLINE int NAMED(level_top)(const struct NAMED(march) * m, int first, int last, int64_t j)
{
    int top = first;
    while (top < last && j >= m->level[top + 1].lo[m->row_axis] &&
           j < m->level[top + 1].hi[m->row_axis]) {
        top++;
    }
    return top;
}

/* Advance what plane p of the input allows, from level `first` to at most `last`. The next plane is
 * prefetched evenly: its rows next to the tile come in with rows that advance all levels. */
static void NAMED(advance_plane)(const struct NAMED(march) * m, int64_t p, int first, int last)
{
    const int64_t lo = m->level[first].lo[m->row_axis];
    const int64_t hi = m->level[first].hi[m->row_axis];
    const bool more = p + 1 < m->level[0].hi[m->axis];
    int64_t nlinks = 0;
    for (int64_t j = lo; j < hi; j++) {
        nlinks += NAMED(level_top)(m, first, last, j) - first;
    }
    for (int64_t x = m->begin; x < m->end; x += m->piece) {
        const int64_t left = m->end - x;
        struct NAMED(piece) piece = {.x = x,
                                     .n = left < m->piece ? left : m->piece,
                                     .p = p,
                                     .first = first,
                                     .fetch = {lo, lo}};
        int64_t links = 0;
        for (piece.j = lo; piece.j < hi; piece.j++) {
            piece.last = NAMED(level_top)(m, first, last, piece.j);
            links += piece.last - first;
            if (more) {
                piece.fetch[0] = piece.fetch[1];
                piece.fetch[1] = nlinks > 0 ? lo + (hi - lo) * links / nlinks : piece.j + 1;
            }
            NAMED(advance_piece)(m, &piece);
        }
    }
}

/* Sum the inside cells of closed faces in rows [lo, hi) of plane k of the tile, before step l. */
static void NAMED(sum_faces)(const struct NAMED(march) * m, int l, int64_t lo, int64_t hi,
                             int64_t k)
{
    const struct box *tile = &m->level[m->nsteps];
    const int64_t odd = (k + l) & 1;
    for (int face = 0; face < FACE_COUNT; face++) {
        struct tally *tally = &m->tally[l][face];
        const enum axis axis = face_axis((enum face)face);
        const bool max = face_side((enum face)face) == SIDE_MAX;
        const int64_t last = max ? m->layout->cells[axis] - 1 : 0;
        if (tally->target == NULL || !m->args->closed[face] || last < tile->lo[axis] ||
            last >= tile->hi[axis] || (axis == m->axis && k != last)) {
            continue;
        }
        const int64_t x = (axis == AXIS_X ? last : tile->lo[AXIS_X]) - m->begin;
        const int64_t n = axis == AXIS_X ? 1 : box_extent(tile, AXIS_X);
        const int64_t begin = axis == m->row_axis ? last : lo;
        const int64_t end = axis == m->row_axis ? last + 1 : hi;
        for (int64_t j = begin; j < end; j++) {
            NAMED(tally_add)(tally, NAMED(level_row)(m, l, odd, j) + x, n);
        }
    }
}

/* Complete level l at its new plane k: the values beyond closed faces, and the sums. */
static __attribute__((noinline)) void NAMED(complete_level)(const struct NAMED(march) * m, int l,
                                                            int64_t k)
{
    const struct box *level = &m->level[l];
    const struct box *tile = &m->level[m->nsteps];
    const int64_t odd = (k + l) & 1;
    const int64_t lo = level->lo[m->row_axis];
    const int64_t hi = level->hi[m->row_axis];
    const int64_t n = m->end - m->begin;
    REAL *const first = NAMED(level_row)(m, l, odd, lo);
    REAL *const last = NAMED(level_row)(m, l, odd, hi - 1);
    for (int side = SIDE_MIN; side <= SIDE_MAX; side++) {
        const enum face face = face_of(AXIS_X, (enum side)side);
        const int64_t inside =
            (side == SIDE_MIN ? level->lo[AXIS_X] : level->hi[AXIS_X] - 1) - m->begin;
        const REAL a = (REAL)m->args[l].a[face];
        const REAL b = (REAL)m->args[l].b[face];
        if (NAMED(level_closed)(m, l, AXIS_X, (enum side)side)) {
            for (REAL *c = first + inside; c <= last + inside; c += m->pitch) {
                c[side == SIDE_MIN ? -1 : 1] = NAMED(heat_outside)(*c, a, b);
            }
        }
    }
    if (k == 0 && NAMED(level_closed)(m, l, m->axis, SIDE_MIN)) {
        NAMED(fill_beyond)
        (m, l, face_of(m->axis, SIDE_MIN), first, NAMED(level_row)(m, l, 1 - odd, lo),
         (hi - lo) * m->pitch);
    }
    if (!m->flat && NAMED(level_closed)(m, l, m->row_axis, SIDE_MIN)) {
        NAMED(fill_beyond)(m, l, face_of(m->row_axis, SIDE_MIN), first, first - m->pitch, n);
    }
    if (!m->flat && NAMED(level_closed)(m, l, m->row_axis, SIDE_MAX)) {
        NAMED(fill_beyond)(m, l, face_of(m->row_axis, SIDE_MAX), last, last + m->pitch, n);
    }
    if (k >= tile->lo[m->axis] && k < tile->hi[m->axis]) {
        NAMED(sum_faces)(m, l, tile->lo[m->row_axis], tile->hi[m->row_axis], k);
    }
}

static void NAMED(march_tile)(const struct NAMED(march) * m)
{
    const enum axis axis = m->axis;
    const int64_t end = m->level[m->nsteps].hi[axis] + m->nsteps;
    for (int64_t p = m->level[0].lo[axis]; p < end; p++) {
        int first = 0;
        int last = 0;
        while (p - first > m->level[first].hi[axis]) {
            first++;
        }
        while (last < m->nsteps && p - last - 1 >= m->level[last + 1].lo[axis]) {
            last++;
        }
        NAMED(advance_plane)(m, p, first, last);
        for (int l = first; l <= last && l < m->nsteps; l++) {
            if (p - l < m->level[l].hi[axis]) {
                NAMED(complete_level)(m, l, p - l);
            }
        }
    }
}

/* Advance the cells of a tile. */
static void NAMED(steps_tile)(const struct layout *layout, const struct step_args *args, int nsteps,
                              void *out, const void *in, const struct box *tile,
                              int64_t piece_bytes, void *scratch, struct tally (*tally)[FACE_COUNT])
{
    enum { LINE = NAMED(LINE) };
    const bool flat = steps_are_flat(layout, args, nsteps);
    struct NAMED(march) m = {.layout = layout,
                             .args = args,
                             .nsteps = nsteps,
                             .flat = flat,
                             .row_axis = flat ? AXIS_Z : AXIS_Y,
                             .axis = flat ? AXIS_Y : AXIS_Z,
                             .out = out,
                             .in = in,
                             .scratch = scratch,
                             .tally = tally};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        m.k.r[axis] = (REAL)args->r[axis];
    }
    for (int l = 0; l <= nsteps; l++) {
        m.level[l] = steps_level(layout, args, tile, nsteps - l);
    }
    /* the first cell of a subdomain that was widened into its halo begins no line */
    const int64_t shift = stream_cells_to_line(m.out + layout_index(layout, 0, 0, 0), sizeof(REAL));
    m.begin = ((m.level[0].lo[AXIS_X] - shift) & -(int64_t)LINE) + shift;
    m.end = ((m.level[0].hi[AXIS_X] - shift + LINE - 1) & -(int64_t)LINE) + shift;
    m.pitch = steps_pitch((m.end - m.begin) * (int64_t)sizeof(REAL)) / (int64_t)sizeof(REAL);
    const int64_t nlines = (m.end - m.begin) / LINE;
    const int64_t npieces =
        at_least_one((nlines * STREAM_LINE_BYTES + piece_bytes / 2) / piece_bytes);
    m.piece = (nlines + npieces - 1) / npieces * LINE;
    NAMED(march_tile)(&m);
}
