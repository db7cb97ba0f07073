/* The coefficients of the rows of step_medium_rows.h, in one precision. Included after
 * step_lines.h, in the same way. */

/* The coefficients of a line, as medium_cell takes them. */
enum { NAMED(COEFFICIENTS) = 8 };
struct NAMED(line) {
    REAL of[NAMED(COEFFICIENTS)][NAMED(LINE)] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* The coefficients of the lines of a piece of a row. */
enum { NAMED(PIECE_LINES) = 64, NAMED(PIECE) = NAMED(PIECE_LINES) * NAMED(LINE) };
struct NAMED(plan) {
    const REAL *line[NAMED(PIECE_LINES)]; /* of[0] of each; equal lines in sequence share it */
    struct NAMED(line) own[NAMED(PIECE_LINES)];
};

/* The pieces that a plan is for: of rows of this number (classes_row_number), from cell x on. */
struct NAMED(plan_key) {
    int64_t number, x, n; /* n = 0: none */
};

/* Of one thread: the plans that were used last. */
enum { NAMED(PLANS) = 8 };
struct NAMED(plans) {
    struct NAMED(plan_key) key[NAMED(PLANS)];
    int64_t used[NAMED(PLANS)]; /* in which call of plan_for */
    int64_t calls;
    int last;
    bool made; /* the last one was new */
    struct NAMED(plan) plan[NAMED(PLANS)];
};

/* The classes of a row and of its neighbours from cell x on, and the row's number. */
struct NAMED(classes) {
    const uint8_t *centre, *ym, *yp, *zm, *zp;
    int64_t x, number;
};

KERNEL_INLINE struct NAMED(classes) NAMED(classes_from)(const struct NAMED(classes) * c, int64_t i)
{
    return (struct NAMED(classes)){
        c->centre + i, c->ym + i, c->yp + i, c->zm + i, c->zp + i, c->x + i, c->number,
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

/* The coefficients of a line all of whose cells have those of the first. */
static void NAMED(look_up_even)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c,
                                struct NAMED(line) * line)
{
    NAMED(look_up)(s, c, 1, line);
    for (int k = 0; k < NAMED(COEFFICIENTS); k++) {
        for (int64_t i = 1; i < NAMED(LINE); i++) {
            line->of[k][i] = line->of[k][0];
        }
    }
}

/* Whether all cells of the line at c, and their neighbours in x, have the class of cell `of`, and
 * their neighbours in y and z the classes of its neighbours. */
KERNEL_INLINE bool NAMED(same_as)(const struct NAMED(classes) * c, int64_t of, uint8_t mask)
{
    const uint8_t own = c->centre[of];
    uint64_t bits = (uint64_t)((c->centre[-1] ^ own) | (c->centre[NAMED(LINE)] ^ own));
    for (int64_t i = 0; i < NAMED(LINE); i += 8) {
        bits |= stream_other_bits(c->centre + i, own) | stream_other_bits(c->ym + i, c->ym[of]) |
                stream_other_bits(c->yp + i, c->yp[of]) | stream_other_bits(c->zm + i, c->zm[of]) |
                stream_other_bits(c->zp + i, c->zp[of]);
    }
    return (bits & stream_eight(mask)) == 0;
}

static __attribute__((noinline)) void NAMED(plan_make)(const struct NAMED(stencil) * s,
                                                       const struct NAMED(classes) * c, int64_t n,
                                                       struct NAMED(plan) * plan)
{
    const uint8_t mask = s->medium->mask;
    bool even = false; /* the line before has one set of coefficients */
    for (int64_t l = 0; l < n / NAMED(LINE); l++) {
        const struct NAMED(classes) at = NAMED(classes_from)(c, l * NAMED(LINE));
        if (even && NAMED(same_as)(&at, -1, mask)) {
            plan->line[l] = plan->line[l - 1];
            continue;
        }
        even = NAMED(same_as)(&at, 0, mask);
        plan->line[l] = plan->own[l].of[0];
        if (even) {
            NAMED(look_up_even)(s, &at, &plan->own[l]);
        } else {
            NAMED(look_up)(s, &at, NAMED(LINE), &plan->own[l]);
        }
    }
}

KERNEL_INLINE bool NAMED(plan_fits)(const struct NAMED(plan_key) * key,
                                    const struct NAMED(classes) * c, int64_t n)
{
    return key->number == c->number && key->x == c->x && key->n == n;
}

/* The plan for `n` cells in complete lines, at most PIECE; valid until the next call. */
static const struct NAMED(plan) *
    NAMED(plan_for)(const struct NAMED(stencil) * s, const struct NAMED(classes) * c, int64_t n)
{
    struct NAMED(plans) *plans = s->plans;
    int p = plans->last;
    plans->made = false;
    if (!NAMED(plan_fits)(&plans->key[p], c, n)) {
        int oldest = 0;
        for (p = 0; p < NAMED(PLANS) && !NAMED(plan_fits)(&plans->key[p], c, n); p++) {
            oldest = plans->used[p] < plans->used[oldest] ? p : oldest;
        }
        if (p == NAMED(PLANS)) {
            p = oldest;
            plans->key[p] = (struct NAMED(plan_key)){c->number, c->x, n};
            NAMED(plan_make)(s, c, n, &plans->plan[p]);
            plans->made = true;
        }
    }
    plans->last = p;
    plans->used[p] = ++plans->calls;
    return &plans->plan[p];
}
