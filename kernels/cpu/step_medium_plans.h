/* The coefficients of the rows of step_medium_rows.h, in one precision. Included after
 * step_lines.h, in the same way. */

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

/* Of one thread: the coefficients inside the region of a class, and plans for the pieces of a row
 * in turn, two for each. */
enum { NAMED(PLACES) = 4, NAMED(WAYS) = 2 };
struct NAMED(plans) {
    struct NAMED(plan) plan[NAMED(PLACES)][NAMED(WAYS)];
    int last[NAMED(PLACES)]; /* the way that was used last */
    int inside;              /* the flagged class of `line`; 0: none */
    struct NAMED(line) line;
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
    const int mask = s->medium->mask;
    for (int64_t i = 0; i < n; i++) {
        const int own = c->centre[i] & mask;
        const REAL *gx = NAMED(g_from)(s, AXIS_X, own);
        const REAL *gy = NAMED(g_from)(s, AXIS_Y, own);
        const REAL *gz = NAMED(g_from)(s, AXIS_Z, own);
        line->of[0][i] = gx[c->centre[i - 1] & mask];
        line->of[1][i] = gx[c->centre[i + 1] & mask];
        line->of[2][i] = gy[c->ym[i] & mask];
        line->of[3][i] = gy[c->yp[i] & mask];
        line->of[4][i] = gz[c->zm[i] & mask];
        line->of[5][i] = gz[c->zp[i] & mask];
        line->of[6][i] = s->table[medium_cell_at(own)];
        line->of[7][i] = s->table[medium_cell_at(own) + 1];
    }
}

/* Whether all cells of the line at c, and their neighbours in x, have the class of cell `of`, and
 * their neighbours in y and z the classes of its neighbours. */
KERNEL_INLINE bool NAMED(same_as)(const struct NAMED(classes) * c, int64_t of, uint8_t mask)
{
    uint8_t bits =
        (uint8_t)((c->centre[-1] ^ c->centre[of]) | (c->centre[NAMED(LINE)] ^ c->centre[of]));
    for (int64_t i = 0; i < NAMED(LINE); i++) {
        bits |= (uint8_t)((c->centre[i] ^ c->centre[of]) | (c->ym[i] ^ c->ym[of]) |
                          (c->yp[i] ^ c->yp[of]) | (c->zm[i] ^ c->zm[of]) | (c->zp[i] ^ c->zp[of]));
    }
    return (bits & mask) == 0;
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
        const bool plain = NAMED(same_as)(&at, 0, s->medium->mask);
        const bool extends = plan->nruns > 0 && run->plain == plain &&
                             (!plain || NAMED(same_as)(&at, -1, s->medium->mask));
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
