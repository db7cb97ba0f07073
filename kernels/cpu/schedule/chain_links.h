/* The chains of chain_march.h. */

enum { PLANE = STEPS_PLANE_BYTES / sizeof(REAL) }; /* from plane to plane in scratch */

/* Cells of a chain: the rows of its lowest level, and where its values come from and go to. */
struct links {
    REAL *slot;    /* the plane below, overwritten by the new one */
    const REAL *c; /* the plane between */
    int64_t pitch;
    const REAL *source;   /* the new plane */
    unsigned corrections; /* bit l: link l corrects */
    int64_t source_pitch;
    const REAL *ahead; /* `nahead` rows of the next plane, to be prefetched evenly */
    int64_t nahead;
    const REAL *beside; /* with a single row: the second of two, or the first again */
    REAL *out;
    int64_t out_pitch;
    int64_t n; /* of a row: whole lines */
    int64_t rows;
    bool stream;              /* to the output, */
    int64_t keep_begin, keep; /* of which only these cells of a row are written: whole lines */
};

/* `rows` of them, from row r on, from cell `at` on. Two rows ahead at most come with each. */
KERNEL_INLINE struct links links_part(const struct links *links, int64_t r, int64_t rows,
                                      int64_t at)
{
    struct links part = *links;
    const int64_t first = links->nahead * r / links->rows;
    part.slot += r * part.pitch + at;
    part.c += r * part.pitch + at;
    part.source += r * part.source_pitch + at;
    part.nahead = links->nahead * (r + rows) / links->rows - first;
    part.ahead = part.nahead > 0 ? part.ahead + first * part.source_pitch + at : part.source;
    part.beside = part.nahead > 1 ? part.ahead + part.source_pitch : part.ahead;
    part.out += r * part.out_pitch + at;
    part.rows = rows;
    return part;
}

/* What a chain keeps in registers: for each link its line, the one before, the new value, and the
 * value of the level before at the plane between. */
struct chained {
    struct STEPS_VECTOR before[STEPS_CHAIN], here[STEPS_CHAIN], value[STEPS_CHAIN],
        base[STEPS_CHAIN + 1];
};

/* The line of link l, and the one before, at the beginning of a row. */
KERNEL_INLINE void link_begin(const struct links *from, int l, int64_t i, struct chained *at_line)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL), STRIDE = 2 * PLANE };
    if (STEPS_SHIFT) {
        at_line->before[l] = STEPS(load)(from->c + l * STRIDE + i - VECTOR);
        at_line->here[l] = STEPS(load)(from->c + l * STRIDE + i);
    }
}

/* Link l of a chain at cells i and on. */
KERNEL_INLINE void chain_link(const struct cell_numbers *k, const struct links *from, int l,
                              int nlinks, bool flat, bool pairs, int64_t i, struct chained *at_line)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL), STRIDE = 2 * PLANE };
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
    const struct row at = {
        .centre = centre,
        .xm = minus,
        .xp = plus,
        .ym = flat ? below : c - from->pitch,
        .yp = flat ? above : c + from->pitch,
        .zm = flat ? centre : below,
        .zp = flat ? centre : above,
    };
    if (pairs) {
        const bool corrects = (from->corrections >> l & 1) != 0;
        STEPS(store)(corrects ? at_line->base[l] : STEPS(load)(centre), result);
        at_line->base[l + 1] = old;
    }
    cells(&k[l], &at, result, VECTOR, pairs);
    if (l < nlinks - 1) {
        at_line->value[l + 1] = STEPS(load)(result);
    } else if ((uint64_t)(i - from->keep_begin) < (uint64_t)from->keep) {
        STEPS(store_streaming)(STEPS(load)(result), from->out + i);
    } else if (!from->stream) {
        STEPS(store)(STEPS(load)(result), from->out + i);
    }
}

/* The new values of the lowest level at cells i and on, with what is prefetched. Where it corrects,
 * the level before it is complete. */
KERNEL_INLINE void link_source(const struct links *from, int nlinks, bool pairs, int64_t i,
                               struct chained *at_line)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL) };
    at_line->value[0] = STEPS(load)(from->source + i);
    if (pairs && (from->corrections & 1) != 0) {
        at_line->base[0] = STEPS(load)(from->slot - 2 * PLANE + i);
    }
    stream_fetch(STREAM_SECOND_LEVEL, from->ahead + i);
    stream_fetch(STREAM_SECOND_LEVEL, from->beside + i);
    if (nlinks < STEPS_CHAIN) { /* once more: what comes too fast is dropped */
        stream_fetch(STREAM_SECOND_LEVEL, from->ahead + i - VECTOR);
        stream_fetch(STREAM_SECOND_LEVEL, from->beside + i - VECTOR);
    }
    if (nlinks == 0) {
        STEPS(store)(at_line->value[0], from->out + i);
    }
}

/* The rows of a chain. Link l is l lines behind link 0, so that none waits for another: at the
 * beginning of a row, it is still in the row before. */
KERNEL_INLINE void chain_rows(const struct cell_numbers *k, const struct links *from, int nlinks,
                              bool flat, bool pairs)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL) };
    const int64_t n = from->n;
    const int lag = nlinks > 0 ? nlinks - 1 : 0;
    struct links row = *from;
    struct chained at_line;
    for (int64_t r = 0;; r++) {
        const struct links last = row;
        if (r < from->rows) {
            row = links_part(from, r, 1, 0);
        }
#pragma GCC unroll 4
        for (int i = 0; i < lag; i++) {
#pragma GCC unroll 4
            for (int l = lag; r > 0 && l > i; l--) {
                chain_link(k, &last, l, nlinks, flat, pairs, n + (i - l) * VECTOR, &at_line);
            }
            if (r == from->rows) {
                continue;
            }
            link_source(&row, nlinks, pairs, i * VECTOR, &at_line);
            link_begin(&row, i, 0, &at_line);
#pragma GCC unroll 4
            for (int l = i; l >= 0; l--) {
                chain_link(k, &row, l, nlinks, flat, pairs, (i - l) * VECTOR, &at_line);
            }
        }
        if (r == from->rows) {
            break;
        }
        if (nlinks > 0) {
            link_begin(&row, lag, 0, &at_line);
        }
        for (int64_t i = lag * VECTOR; i < n; i += VECTOR) {
            link_source(&row, nlinks, pairs, i, &at_line);
#pragma GCC unroll 4
            for (int l = nlinks - 1; l >= 0; l--) {
                chain_link(k, &row, l, nlinks, flat, pairs, i - l * VECTOR, &at_line);
            }
        }
    }
}

/* The same for rows that are too short for that: line by line. */
KERNEL_INLINE void chain_lines(const struct cell_numbers *k, const struct links *from, int nlinks,
                               bool flat, bool pairs)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL) };
    struct chained at_line;
    for (int64_t r = 0; r < from->rows; r++) {
        const struct links row = links_part(from, r, 1, 0);
        for (int64_t i = 0; i < from->n; i += VECTOR) {
            link_source(&row, nlinks, pairs, i, &at_line);
#pragma GCC unroll 4
            for (int l = 0; l < nlinks; l++) {
                link_begin(&row, l, i, &at_line);
                chain_link(k, &row, l, nlinks, flat, pairs, i, &at_line);
            }
        }
    }
}

KERNEL_INLINE void chain(const struct cell_numbers *coefficients, const struct links *links,
                         int nlinks, bool flat, bool pairs)
{
    enum { VECTOR = sizeof(struct STEPS_VECTOR) / sizeof(REAL) };
    struct cell_numbers k[STEPS_CHAIN];
    memcpy(k, coefficients, (size_t)nlinks * sizeof k[0]);
    const struct links from = *links;
    if (from.n >= nlinks * VECTOR) {
        chain_rows(k, &from, nlinks, flat, pairs);
    } else {
        chain_lines(k, &from, nlinks, flat, pairs);
    }
}

/* Not inlined: all but the cells is constant in each. */
#define CHAIN_OF(name, nlinks, flat, pairs)                                                        \
    static STEPS_TARGET __attribute__((noinline)) void name##_##nlinks(                            \
        const struct cell_numbers *k, const struct links *links)                                   \
    {                                                                                              \
        chain(k, links, nlinks, flat, pairs);                                                      \
    }
#define CHAIN(nlinks)                                                                              \
    CHAIN_OF(chain, nlinks, false, false)                                                          \
    CHAIN_OF(chain_flat, nlinks, true, false)                                                      \
    CHAIN_OF(chain_pairs, nlinks, false, true)                                                     \
    CHAIN_OF(chain_flat_pairs, nlinks, true, true)
CHAIN(0)
CHAIN(1)
CHAIN(2)
CHAIN(3)
CHAIN(4)
#undef CHAIN
#undef CHAIN_OF
