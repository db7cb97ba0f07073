/* The coefficients of the rows of classes_rows.h. */

/* The coefficients of a line, as medium_cell takes them. */
enum { COEFFICIENTS = 8 };
struct line_numbers {
    REAL of[COEFFICIENTS][LINE] __attribute__((aligned(STREAM_LINE_BYTES)));
};

/* Those of a line of one class, whose neighbours in y and in z have one class each: the first
 * cell's, and the conductance to the right of the last. */
struct even {
    REAL of[COEFFICIENTS], last_xp;
};

/* The coefficients of the lines of a piece of a row. */
enum { PIECE_LINES = 64, PIECE = PIECE_LINES * LINE };
struct plan {
    int16_t line[PIECE_LINES]; /* n: own[n]; -1 - n: even[n] */
    struct even even[PIECE_LINES];
    struct line_numbers own[PIECE_LINES];
};

/* The pieces that a plan is for: of rows of this number (classes_row_number), from cell x on. */
struct plan_key {
    int64_t number, x, n; /* n = 0: none */
};

/* Of one thread: the plans that were used last, and the classes at both ends of a row. */
enum { PLANS = 8 };
struct plans {
    struct plan_key key[PLANS];
    int64_t used[PLANS]; /* in which call of plan_for */
    int64_t calls;
    int last;
    bool made;      /* the last one was new */
    int64_t number; /* of the row before, 0: none */
    int ends[SIDE_COUNT];
    struct plan plan[PLANS];
};

/* The classes of a row and of its neighbours from cell x on, and the row's number. */
struct classes {
    const uint8_t *centre, *ym, *yp, *zm, *zp;
    int64_t x, number;
};

KERNEL_INLINE struct classes classes_from(const struct classes *c, int64_t i)
{
    return (struct classes){
        c->centre + i, c->ym + i, c->yp + i, c->zm + i, c->zp + i, c->x + i, c->number,
    };
}

KERNEL_INLINE const REAL *g_from(const struct stencil *s, enum axis axis, int of_class)
{
    return s->table + medium_g_at(s->medium->nclasses, axis, of_class, 0);
}

/* The coefficients of at most a line of cells. */
static void look_up(const struct stencil *s, const struct classes *c, int64_t n,
                    struct line_numbers *line)
{
    const int mask = s->medium->mask;
    for (int64_t i = 0; i < n; i++) {
        const int own = c->centre[i] & mask;
        const REAL *gx = g_from(s, AXIS_X, own);
        const REAL *gy = g_from(s, AXIS_Y, own);
        const REAL *gz = g_from(s, AXIS_Z, own);
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

static struct even look_up_even(const struct stencil *s, const struct classes *c)
{
    struct line_numbers first;
    struct even even;
    look_up(s, c, 1, &first);
    for (int k = 0; k < COEFFICIENTS; k++) {
        even.of[k] = first.of[k][0];
    }
    const int mask = s->medium->mask;
    even.last_xp = g_from(s, AXIS_X, c->centre[0] & mask)[c->centre[LINE] & mask];
    return even;
}

/* As vectors. */
static void spread(const struct even *even, struct line_numbers *line)
{
    for (int k = 0; k < COEFFICIENTS; k++) {
        for (int64_t i = 0; i < LINE; i++) {
            line->of[k][i] = even->of[k == 0 ? 1 : k]; /* the conductance inside the line */
        }
    }
    line->of[0][0] = even->of[0];
    line->of[1][LINE - 1] = even->last_xp;
}

/* Whether all cells of the line at c have the class of cell `of`, and their neighbours in y and z
 * the classes of its neighbours. */
KERNEL_INLINE bool same_as(const struct classes *c, int64_t of, uint8_t mask)
{
    const uint8_t own = c->centre[of];
    uint64_t bits = 0;
    for (int64_t i = 0; i < LINE; i += 8) {
        bits |= stream_other_bits(c->centre + i, own);
    }
    if (bits == 0 && own > mask) { /* CLASS_FLAG: the neighbours have the class too */
        return true;
    }
    for (int64_t i = 0; i < LINE; i += 8) {
        bits |= stream_other_bits(c->ym + i, c->ym[of]) | stream_other_bits(c->yp + i, c->yp[of]) |
                stream_other_bits(c->zm + i, c->zm[of]) | stream_other_bits(c->zp + i, c->zp[of]);
    }
    return (bits & stream_eight(mask)) == 0;
}

/* Whether the cells at both ends of such a line have neighbours of its class in x. */
KERNEL_INLINE bool same_ends(const struct classes *c, uint8_t mask)
{
    const uint8_t own = c->centre[0];
    return (((c->centre[-1] ^ own) | (c->centre[LINE] ^ own)) & mask) == 0;
}

/* few: keep even lines as nine numbers, else as vectors. */
static __attribute__((noinline)) void plan_make(const struct stencil *s, const struct classes *c,
                                                int64_t n, bool few, struct plan *plan)
{
    const uint8_t mask = s->medium->mask;
    bool inside = false; /* the line before has one set of coefficients */
    for (int64_t l = 0; l < n / LINE; l++) {
        const struct classes at = classes_from(c, l * LINE);
        const bool ends = same_ends(&at, mask);
        if (inside && ends && same_as(&at, -1, mask)) {
            plan->line[l] = plan->line[l - 1];
            continue;
        }
        const bool even = same_as(&at, 0, mask);
        inside = even && ends;
        plan->line[l] = (int16_t)(even && few ? -1 - l : l);
        if (even) {
            plan->even[l] = look_up_even(s, &at);
            if (!few) {
                spread(&plan->even[l], &plan->own[l]);
            }
        } else {
            look_up(s, &at, LINE, &plan->own[l]);
        }
    }
}

KERNEL_INLINE bool plan_fits(const struct plan_key *key, const struct classes *c, int64_t n)
{
    return key->number == c->number && key->x == c->x && key->n == n;
}

/* The plan for `n` cells in complete lines, at most PIECE; valid until the next call. */
static const struct plan *plan_for(const struct stencil *s, const struct classes *c, int64_t n,
                                   bool few)
{
    struct plans *plans = s->plans;
    int p = plans->last;
    plans->made = false;
    if (!plan_fits(&plans->key[p], c, n)) {
        int oldest = 0;
        for (p = 0; p < PLANS && !plan_fits(&plans->key[p], c, n); p++) {
            oldest = plans->used[p] < plans->used[oldest] ? p : oldest;
        }
        if (p == PLANS) {
            p = oldest;
            plans->key[p] = (struct plan_key){c->number, c->x, n};
            plan_make(s, c, n, few, &plans->plan[p]);
            plans->made = true;
        }
    }
    plans->last = p;
    plans->used[p] = ++plans->calls;
    return &plans->plan[p];
}

/* The classes at both ends of a row. Most rows have the number of the row before: then theirs are
 * not in the cache, and are not read. */
KERNEL_INLINE const int *ends_of(const struct stencil *s, const uint8_t *row, int64_t number)
{
    struct plans *plans = s->plans;
    if (plans->number != number) {
        plans->number = number;
        plans->ends[SIDE_MIN] = row[0] & s->medium->mask;
        plans->ends[SIDE_MAX] = row[s->medium->layout.cells[AXIS_X] - 1] & s->medium->mask;
    }
    return plans->ends;
}
