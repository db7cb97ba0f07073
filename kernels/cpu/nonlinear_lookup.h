/* Temperature and conductivity of a line of cells of one class. Included once for each precision,
 * by step_nonlinear.c.
 *
 * Neighbouring cells have neighbouring segments: those of a line are sought in a window of a few
 * segments, which moves when a cell lies outside. With AVX-512 it has as many as a vector has
 * elements, and is permuted; else its segments are compared one after another. */

enum {
    NAMED(LINE) = STREAM_LINE_BYTES / sizeof(REAL),
    NAMED(WINDOW) = STREAM_HAS_WIDE ? NAMED(LINE) : 4
};

/* The segments of a class by number, with room for a window at each. */
struct NAMED(lookup) {
    const REAL *segments; /* in the table; NULL: none */
    int count;
    int first; /* of the window */
    REAL begin[NONLINEAR_SEGMENTS + 2 * NAMED(WINDOW)];
    REAL of[4][NONLINEAR_SEGMENTS + 2 * NAMED(WINDOW)]; /* T, dT/du, k, dk/du */
};

static void NAMED(lookup_fill)(struct NAMED(lookup) * lookup, const REAL *segments, int count)
{
    lookup->segments = segments;
    lookup->count = count;
    lookup->first = 0;
    for (int s = 0; s < NONLINEAR_SEGMENTS + 2 * NAMED(WINDOW); s++) {
        lookup->begin[s] = s < count ? segments[s] : (REAL)INFINITY;
        for (int n = 0; n < 4; n++) {
            lookup->of[n][s] = s < count ? segments[count + (int64_t)4 * s + n] : (REAL)0;
        }
    }
}

/* The segment of u. */
static int NAMED(lookup_segment)(const struct NAMED(lookup) * lookup, REAL u)
{
    int s = 0;
    for (int half = lookup->count / 2; half > 0; half /= 2) {
        s += u >= lookup->begin[s + half] ? half : 0;
    }
    return s;
}

/* What does not change while the window stays: its segments' numbers and their beginnings. */
#if STREAM_HAS_WIDE
KERNEL_INLINE struct NAMED(window) NAMED(window_from)(const struct NAMED(lookup) * lookup)
{
    return NAMED(window_of)(lookup->begin + lookup->first);
}
KERNEL_INLINE void NAMED(window_pick)(const struct NAMED(window) * window,
                                      const struct NAMED(lookup) * lookup, const REAL *u,
                                      REAL *start, REAL of[4][NAMED(LINE)])
{
    const __m512i at = NAMED(window_at)(window, u);
    NAMED(window_element)(at, lookup->begin + lookup->first, start);
    for (int n = 0; n < 4; n++) {
        NAMED(window_element)(at, lookup->of[n] + lookup->first, of[n]);
    }
}
#else
struct NAMED(window) {
    REAL begin[NAMED(WINDOW)], of[4][NAMED(WINDOW)];
};
KERNEL_INLINE struct NAMED(window) NAMED(window_from)(const struct NAMED(lookup) * lookup)
{
    struct NAMED(window) window;
    memcpy(window.begin, lookup->begin + lookup->first, sizeof window.begin);
    for (int n = 0; n < 4; n++) {
        memcpy(window.of[n], lookup->of[n] + lookup->first, sizeof window.of[n]);
    }
    return window;
}
KERNEL_INLINE void NAMED(window_pick)(const struct NAMED(window) * window,
                                      const struct NAMED(lookup) * lookup, const REAL *u,
                                      REAL *start, REAL of[4][NAMED(LINE)])
{
    (void)lookup;
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        const REAL x = u[c];
        REAL begin = window->begin[0];
        REAL t = window->of[0][0];
        REAL t_slope = window->of[1][0];
        REAL k = window->of[2][0];
        REAL k_slope = window->of[3][0];
        for (int s = 1; s < NAMED(WINDOW); s++) {
            const bool in = x >= window->begin[s];
            begin = in ? window->begin[s] : begin;
            t = in ? window->of[0][s] : t;
            t_slope = in ? window->of[1][s] : t_slope;
            k = in ? window->of[2][s] : k;
            k_slope = in ? window->of[3][s] : k_slope;
        }
        start[c] = begin;
        of[0][c] = t;
        of[1][c] = t_slope;
        of[2][c] = k;
        of[3][c] = k_slope;
    }
}
#endif

/* Move the window to the cells, with room on both sides if there is any. Returns whether it covers
 * them. */
static __attribute__((noinline)) bool NAMED(lookup_move)(struct NAMED(lookup) * lookup,
                                                         const REAL *u)
{
    int least = lookup->count - 1;
    int most = 0;
    for (int i = 0; i < NAMED(LINE); i++) {
        const int s = NAMED(lookup_segment)(lookup, u[i]);
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    const int room = NAMED(WINDOW) - (most - least + 1);
    const int first = room > 0 ? least - room / 2 : least;
    lookup->first = first > 0 ? first : 0;
    return room >= 0;
}

/* A row that is evaluated, line by line: `done` cells are. */
struct NAMED(evaluation) {
    struct NAMED(lookup) * lookup; /* of the class of the cells before `end` */
    const REAL *u;
    REAL *temperature, *conductivity;
    int64_t done, end;
    int64_t fetch; /* from a cell to the one whose line is to be fetched */
};

/* Where the window ends. */
struct NAMED(bounds) {
    REAL from, to;
};

KERNEL_INLINE struct NAMED(bounds) NAMED(bounds_of)(const struct NAMED(lookup) * lookup)
{
    const int first = lookup->first;
    return (struct NAMED(bounds)){first == 0 ? -(REAL)INFINITY : lookup->begin[first],
                                  lookup->begin[first + NAMED(WINDOW)]};
}

/* A line whose cells lie in the window. */
KERNEL_INLINE void NAMED(lookup_line)(const struct NAMED(window) * window,
                                      const struct NAMED(lookup) * lookup, const REAL *restrict u,
                                      REAL *restrict temperature, REAL *restrict conductivity)
{
    REAL start[NAMED(LINE)];
    REAL of[4][NAMED(LINE)];
    NAMED(window_pick)(window, lookup, u, start, of);
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        const REAL beyond = u[c] - start[c];
        temperature[c] = FMA(of[1][c], beyond, of[0][c]);
        conductivity[c] = FMA(of[3][c], beyond, of[2][c]);
    }
}

/* The lines that the window covers, up to the first that it does not. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lookup_lines)(struct NAMED(evaluation) * e)
{
    const struct NAMED(lookup) *const lookup = e->lookup;
    const struct NAMED(bounds) bounds = NAMED(bounds_of)(lookup);
    const struct NAMED(window) window = NAMED(window_from)(lookup);
    int64_t i = e->done;
    for (; i < e->end && NAMED(line_within)(e->u + i, bounds.from, bounds.to); i += NAMED(LINE)) {
        stream_fetch(STREAM_SECOND_LEVEL, e->u + i + e->fetch);
        NAMED(lookup_line)(&window, lookup, e->u + i, e->temperature + i, e->conductivity + i);
    }
    e->done = i;
}

/* After a line that the window does not cover. */
static void NAMED(lookup_next)(struct NAMED(evaluation) * e)
{
    if (NAMED(lookup_move)(e->lookup, e->u + e->done)) {
        return;
    }
    for (const int64_t to = e->done + NAMED(LINE); e->done < to; e->done++) {
        const struct NAMED(nonlinear) at =
            NAMED(nonlinear_at)(e->lookup->segments, e->lookup->count, e->u[e->done]);
        e->temperature[e->done] = at.temperature;
        e->conductivity[e->done] = at.conductivity;
    }
}
