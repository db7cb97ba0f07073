/* Several steps of a tile in one pass.
 *
 * Level l is the field after l steps. The tile marches along its third axis: when plane p of the
 * input comes in, level l advances at plane p - l, so that a new value is at once the upper
 * neighbour of the next level: a chain along which values stay in registers. Two planes of each
 * level are kept in scratch memory: the last one, and the one below, over which the chain writes.
 * Around the tile, a level is as much wider as the remaining steps need. */

#include "kernels/cpu/schedule/lines.h"

#include "kernels/cpu/schedule/chain_links.h"

enum { PIECE = STEPS_PIECE_MOST / sizeof(REAL) }; /* at most */

struct march {
    const struct layout *layout;
    const struct coefficients *args; /* of each step */
    int nsteps;
    unsigned corrections; /* bit l: step l corrects */
    bool flat;            /* a single plane, which marches along y; its rows have no neighbours */
    enum axis row_axis, axis;
    REAL *out;
    const REAL *in;
    struct cell_numbers k[STEPS_MOST]; /* of each step */
    struct box level[STEPS_MOST + 1];  /* the cells of each; of the last: the tile */
    int64_t begin, end;                /* in x, all levels: whole lines of the fields */
    int64_t pitch;
    int64_t piece; /* cells of a row at a time */
    REAL *scratch;
    struct tally (*tally)[FACE_COUNT]; /* of each step */
};

/* Row j of level `l` in scratch, from m->begin on; `odd`: of the two planes. */
KERNEL_INLINE REAL *level_row(const struct march *m, int l, int64_t odd, int64_t j)
{
    const int64_t row = j - m->level[0].lo[m->row_axis] + 1; /* one before, for outside values */
    return m->scratch + (2 * l + odd) * PLANE + row * m->pitch + LINE;
}

/* Element of cell (m->begin, j) of plane p. */
KERNEL_INLINE int64_t march_element(const struct march *m, int64_t j, int64_t p)
{
    return m->flat ? layout_index(m->layout, m->begin, p, j)
                   : layout_index(m->layout, m->begin, j, p);
}

/* Do the cells of level l end at a closed face? */
KERNEL_INLINE bool level_closed(const struct march *m, int l, enum axis axis, enum side side)
{
    const struct box *box = &m->level[l];
    return m->args->closed[face_of(axis, side)] &&
           (side == SIDE_MIN ? box->lo[axis] == 0 : box->hi[axis] == m->layout->cells[axis]);
}

/* Advance cells of level `first`, whose values are at links.source, to level `last`. */
KERNEL_INLINE void advance_cells(const struct march *m, int first, int last,
                                 const struct links *links)
{
    typedef void function(const struct cell_numbers *, const struct links *);
#define CHAINS(name)                                                                               \
    {                                                                                              \
        name##_0, name##_1, name##_2, name##_3, name##_4                                           \
    }
    static function *const chain[4][STEPS_CHAIN + 1] = {
        CHAINS(chain), CHAINS(chain_flat), CHAINS(chain_pairs), CHAINS(chain_flat_pairs)};
#undef CHAINS
    const int way = (m->flat ? 1 : 0) + (m->corrections != 0 ? 2 : 0);
    if (last - first <= STEPS_CHAIN) {
        struct links all = *links;
        all.corrections = m->corrections >> first;
        chain[way][last - first](&m->k[first], &all);
        return;
    }
    /* in chains of about the same length, a few rows at a time, which stay in the L1 cache */
    REAL between[STEPS_BETWEEN * PIECE] __attribute__((aligned(STREAM_LINE_BYTES)));
    for (int64_t r = 0; r < links->rows; r += STEPS_BETWEEN) {
        const int64_t left = links->rows - r;
        struct links part = links_part(links, r, left < STEPS_BETWEEN ? left : STEPS_BETWEEN, 0);
        REAL *const out = part.out;
        for (int l = first, nlinks = 0; l < last; l += nlinks) {
            const int nchains = (last - l + STEPS_CHAIN - 1) / STEPS_CHAIN;
            nlinks = (last - l + nchains - 1) / nchains;
            if (nchains > 1 && (m->corrections >> (l + nlinks) & 1) != 0) {
                nlinks--; /* a step that corrects goes with the one before it */
            }
            part.out = nchains > 1 ? between : out;
            part.out_pitch = nchains > 1 ? part.n : links->out_pitch;
            part.stream = nchains == 1 && links->stream;
            part.keep = nchains == 1 ? links->keep : 0;
            part.corrections = m->corrections >> l;
            chain[way][nlinks](&m->k[l], &part);
            part.slot += (int64_t)nlinks * 2 * PLANE;
            part.c += (int64_t)nlinks * 2 * PLANE;
            part.source = between;
            part.source_pitch = part.n;
            part.nahead = 0;
        }
    }
}

/* Advance a line of `rows` rows to the output, of which cells [begin, end) belong to the tile,
 * which ends inside it: these take ordinary stores. */
static __attribute__((noinline)) void advance_partial(const struct march *m, int first,
                                                      const struct links *links, int64_t begin,
                                                      int64_t end)
{
    REAL line[LINE];
    for (int64_t r = 0; r < links->rows; r++) {
        struct links row = links_part(links, r, 1, 0);
        REAL *const out = row.out;
        row.out = line;
        advance_cells(m, first, m->nsteps, &row);
        for (int64_t i = begin; i < end; i++) {
            out[i] = line[i];
        }
    }
}

/* As advance_cells, of cells from `x` on, to the output: the tile's lines are streamed, those
 * outside it are computed for the levels below only. */
KERNEL_INLINE void advance_to_output(const struct march *m, int first, int64_t x,
                                     const struct links *links)
{
    const int64_t lo = m->level[m->nsteps].lo[AXIS_X] - x; /* the tile */
    const int64_t hi = m->level[m->nsteps].hi[AXIS_X] - x;
    const int64_t lo_line = lo & -(int64_t)LINE;
    const int64_t hi_line = hi & -(int64_t)LINE;
    for (int64_t at = 0; at < links->n;) {
        const bool partial = (at == lo_line && lo != lo_line) || (at == hi_line && hi != hi_line);
        int64_t end = partial ? at + LINE : links->n;
        if (!partial && lo != lo_line && lo_line > at && lo_line < end) {
            end = lo_line;
        } else if (!partial && hi != hi_line && hi_line > at && hi_line < end) {
            end = hi_line;
        }
        struct links part = *links;
        part.slot += at;
        part.c += at;
        part.source += at;
        part.ahead += at;
        part.out += at;
        part.n = end - at;
        if (partial) {
            advance_partial(m, first, &part, lo > at ? lo - at : 0, hi < end ? hi - at : LINE);
        } else {
            const int64_t kept_end = hi < end ? hi : end;
            part.stream = true;
            part.keep_begin = lo > at ? lo - at : 0;
            part.keep = kept_end - at > part.keep_begin ? kept_end - at - part.keep_begin : 0;
            advance_cells(m, first, m->nsteps, &part);
        }
        at = end;
    }
}

/* The values of level l beyond a closed face. */
KERNEL_INLINE void fill_beyond(const struct march *m, int l, enum face face, const REAL *inside,
                               REAL *restrict beyond, int64_t n)
{
    const REAL a = (REAL)m->args[l].a[face];
    const REAL b = (REAL)m->args[l].b[face];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        beyond[i] = NAMED(heat_outside)(inside[i], a, b);
    }
}

/* Rows [lo, hi) of a plane, of the levels `first` to `last`, and the rows [ahead, ahead_end) of the
 * next plane of the input, which are prefetched with them. */
struct rows {
    int64_t lo, hi;
    int first, last;
    int64_t ahead, ahead_end;
};

/* Advance `n` cells from `x` on of rows along plane p of the input. */
static __attribute__((noinline)) void advance_rows(const struct march *m, const struct rows *rows,
                                                   int64_t p, int64_t x, int64_t n)
{
    const int64_t odd = p & 1;
    const int64_t at = x - m->begin;
    const int first = rows->first;
    const int last = rows->last;
    const int64_t pitch = m->flat ? m->layout->pitch_z : m->layout->pitch_y;
    const bool outside = p - first == m->level[first].hi[m->axis]; /* no such plane */
    REAL beyond[PIECE] __attribute__((aligned(STREAM_LINE_BYTES)));
    struct links links = {.slot = level_row(m, first, odd, rows->lo) + at,
                          .c = level_row(m, first, 1 - odd, rows->lo) + at,
                          .pitch = m->pitch,
                          .source_pitch = pitch,
                          .n = n,
                          .rows = outside ? 1 : rows->hi - rows->lo};
    if (last < m->nsteps) {
        links.out = level_row(m, last, odd, rows->lo) + at;
        links.out_pitch = m->pitch;
    } else {
        links.out = m->out + march_element(m, rows->lo, p - last) + at;
        links.out_pitch = pitch;
    }
    for (int64_t j = rows->lo; j < rows->hi; j += links.rows) {
        if (outside) {
            fill_beyond(m, first, face_of(m->axis, SIDE_MAX), links.c, beyond, n);
            links.source = beyond;
        } else {
            links.source = m->in + march_element(m, j, p) + at;
        }
        links.ahead = links.source;
        if (rows->ahead < rows->ahead_end) {
            links.ahead = m->in + march_element(m, rows->ahead, p + 1) + at;
            links.nahead = rows->ahead_end - rows->ahead;
        }
        if (last < m->nsteps) {
            advance_cells(m, first, last, &links);
        } else {
            advance_to_output(m, first, x, &links);
        }
        links.slot += m->pitch;
        links.c += m->pitch;
        links.out += links.out_pitch;
    }
}

enum { RANGES = 2 * STEPS_MOST + 1 };

/* The rows of level `first`, divided by the highest level, up to `last`, that has them. The next
 * plane is prefetched evenly: its rows next to the tile, too, come with rows of many levels. */
static int divide_rows(const struct march *m, int64_t p, int first, int last,
                       struct rows ranges[RANGES])
{
    const enum axis axis = m->row_axis;
    const int64_t lo = m->level[first].lo[axis];
    const int64_t hi = m->level[first].hi[axis];
    int count = 0;
    int64_t nlinks = 0;
    for (int64_t j = lo; j < hi; j = ranges[count++].hi) {
        struct rows *rows = &ranges[count];
        *rows = (struct rows){.lo = j, .hi = hi, .first = first, .last = first};
        while (rows->last < last && j >= m->level[rows->last + 1].lo[axis] &&
               j < m->level[rows->last + 1].hi[axis]) {
            rows->last++;
        }
        for (int l = first + 1; l <= last; l++) {
            const int64_t begin = m->level[l].lo[axis];
            const int64_t end = m->level[l].hi[axis];
            rows->hi = begin > j && begin < rows->hi ? begin : rows->hi;
            rows->hi = end > j && end < rows->hi ? end : rows->hi;
        }
        nlinks += (rows->hi - j) * (rows->last - first);
    }
    const bool more = p + 1 < m->level[0].hi[m->axis];
    int64_t done = 0;
    int64_t fetched = lo;
    for (int n = 0; more && n < count; n++) {
        struct rows *rows = &ranges[n];
        done += (rows->hi - rows->lo) * (rows->last - first);
        rows->ahead = fetched;
        fetched = nlinks > 0 ? lo + (hi - lo) * done / nlinks : rows->hi;
        rows->ahead_end = fetched;
    }
    return count;
}

/* Advance what plane p of the input allows, from level `first` to at most `last`. */
static void advance_plane(const struct march *m, int64_t p, int first, int last)
{
    struct rows ranges[RANGES];
    const int count = divide_rows(m, p, first, last, ranges);
    for (int64_t x = m->begin; x < m->end; x += m->piece) {
        const int64_t left = m->end - x;
        for (int n = 0; n < count; n++) {
            advance_rows(m, &ranges[n], p, x, left < m->piece ? left : m->piece);
        }
    }
}

/* Sum the inside cells of closed faces in rows [lo, hi) of plane k of the tile, before step l. */
static void sum_faces(const struct march *m, int l, int64_t lo, int64_t hi, int64_t k)
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
            const REAL *cells = level_row(m, l, odd, j) + x;
            if (n == 1) {
                tally_add_one(tally, (double)cells[0]);
            } else {
                NAMED(tally_add)(tally, cells, n);
            }
        }
    }
}

/* Complete level l at its new plane k: the values beyond closed faces, and the sums. */
static __attribute__((noinline)) void complete_level(const struct march *m, int l, int64_t k)
{
    const struct box *level = &m->level[l];
    const struct box *tile = &m->level[m->nsteps];
    const int64_t odd = (k + l) & 1;
    const int64_t lo = level->lo[m->row_axis];
    const int64_t hi = level->hi[m->row_axis];
    const int64_t n = m->end - m->begin;
    REAL *const first = level_row(m, l, odd, lo);
    REAL *const last = level_row(m, l, odd, hi - 1);
    for (int side = SIDE_MIN; side <= SIDE_MAX; side++) {
        const enum face face = face_of(AXIS_X, (enum side)side);
        const int64_t inside =
            (side == SIDE_MIN ? level->lo[AXIS_X] : level->hi[AXIS_X] - 1) - m->begin;
        const REAL a = (REAL)m->args[l].a[face];
        const REAL b = (REAL)m->args[l].b[face];
        if (level_closed(m, l, AXIS_X, (enum side)side)) {
            for (REAL *c = first + inside; c <= last + inside; c += m->pitch) {
                c[side == SIDE_MIN ? -1 : 1] = NAMED(heat_outside)(*c, a, b);
            }
        }
    }
    if (k == 0 && level_closed(m, l, m->axis, SIDE_MIN)) {
        fill_beyond(m, l, face_of(m->axis, SIDE_MIN), first, level_row(m, l, 1 - odd, lo),
                    (hi - lo) * m->pitch);
    }
    if (!m->flat && level_closed(m, l, m->row_axis, SIDE_MIN)) {
        fill_beyond(m, l, face_of(m->row_axis, SIDE_MIN), first, first - m->pitch, n);
    }
    if (!m->flat && level_closed(m, l, m->row_axis, SIDE_MAX)) {
        fill_beyond(m, l, face_of(m->row_axis, SIDE_MAX), last, last + m->pitch, n);
    }
    if (k >= tile->lo[m->axis] && k < tile->hi[m->axis]) {
        sum_faces(m, l, tile->lo[m->row_axis], tile->hi[m->row_axis], k);
    }
}

static void march_tile(const struct march *m)
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
        advance_plane(m, p, first, last);
        for (int l = first; l <= last && l < m->nsteps; l++) {
            if (p - l < m->level[l].hi[axis]) {
                complete_level(m, l, p - l);
            }
        }
    }
}

/* Advance the cells of a tile. */
static void steps_tile(const struct steps_pass *pass, const struct box *tile, int64_t piece_bytes,
                       void *scratch, struct tally (*tally)[FACE_COUNT])
{
    const int nsteps = pass->nsteps;
    const bool flat = steps_are_flat(pass);
    struct march m = {.layout = pass->layout,
                      .args = pass->args,
                      .nsteps = nsteps,
                      .corrections = coefficients_corrections(pass->args, nsteps),
                      .flat = flat,
                      .row_axis = flat ? AXIS_Z : AXIS_Y,
                      .axis = flat ? AXIS_Y : AXIS_Z,
                      .out = pass->out,
                      .in = pass->in,
                      .scratch = scratch,
                      .tally = tally};
    for (int l = 0; l < nsteps; l++) {
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            m.k[l].r[axis] = (REAL)pass->args[l].r[axis];
        }
    }
    for (int l = 0; l <= nsteps; l++) {
        m.level[l] = steps_level(pass, tile, nsteps - l);
    }
    /* the first cell of a subdomain that was widened into its halo begins no line */
    const int64_t shift =
        stream_cells_to_line(m.out + layout_index(pass->layout, 0, 0, 0), sizeof(REAL));
    m.begin = ((m.level[0].lo[AXIS_X] - shift) & -(int64_t)LINE) + shift;
    m.end = ((m.level[0].hi[AXIS_X] - shift + LINE - 1) & -(int64_t)LINE) + shift;
    m.pitch = steps_pitch((m.end - m.begin) * (int64_t)sizeof(REAL)) / (int64_t)sizeof(REAL);
    const int64_t nlines = (m.end - m.begin) / LINE;
    const int64_t npieces =
        at_least_one((nlines * STREAM_LINE_BYTES + piece_bytes / 2) / piece_bytes);
    m.piece = (nlines + npieces - 1) / npieces * LINE;
    march_tile(&m);
}
