/* The values of a line of cells of one curve. In one precision
 * (precisions.h).
 *
 * Neighbouring cells have neighbouring segments: those of a line are sought in a window of a few
 * segments, which are compared one after another, and which moves when a cell lies outside. */

enum { NAMED(LINE) = STREAM_LINE_BYTES / sizeof(REAL), NAMED(WINDOW) = 4 };

/* Segments in sequence, for cells with from <= u < to: their beginnings, and their numbers. */
struct NAMED(window) {
    REAL from, to;
    int first; /* segment */
    REAL begin[NAMED(WINDOW)], of[NONLINEAR_SEGMENT][NAMED(WINDOW)];
};

/* The segments of a class. */
struct NAMED(lookup) {
    const REAL *segments; /* in the table; NULL: none */
    int count;
    struct NAMED(window) window;
};

/* Where the numbers of T and of theta are in those of a segment. */
enum { NAMED(T_AT) = 0, NAMED(THETA_AT) = 4, NAMED(THETA_END) = 7 };

/* Let the window begin at segment `first`. */
static void NAMED(lookup_from)(struct NAMED(lookup) * lookup, int first)
{
    struct NAMED(window) *window = &lookup->window;
    const int end = first + NAMED(WINDOW);
    window->first = first;
    window->from = first == 0 ? -(REAL)INFINITY : lookup->segments[first];
    window->to = end < lookup->count ? lookup->segments[end] : (REAL)INFINITY;
    for (int s = 0; s < NAMED(WINDOW); s++) {
        const bool is = first + s < lookup->count;
        const REAL *of =
            lookup->segments + lookup->count + (int64_t)NONLINEAR_SEGMENT * (first + s);
        window->begin[s] = is ? lookup->segments[first + s] : (REAL)INFINITY;
        for (int n = 0; n < NONLINEAR_SEGMENT; n++) {
            window->of[n][s] = is ? of[n] : (REAL)0;
        }
    }
}

/* A window on the stack, which may stay in registers: with `n` numbers per segment, from number
 * `first` on. */
KERNEL_INLINE void NAMED(window_load)(const struct NAMED(window) * from, int first, int n,
                                      struct NAMED(window) * window)
{
    window->from = from->from;
    window->to = from->to;
    memcpy(window->begin, from->begin, sizeof window->begin);
    for (int i = first; i < first + n; i++) {
        memcpy(window->of[i], from->of[i], sizeof window->of[i]);
    }
}

#if !STREAM_HAS_WIDE
/* Of each cell of a line a number of its segment. */
KERNEL_INLINE void NAMED(window_select)(const REAL *begin, const REAL *numbers, const REAL *u,
                                        REAL *to)
{
    const REAL at[NAMED(WINDOW)] = {begin[0], begin[1], begin[2], begin[3]};
    const REAL of[NAMED(WINDOW)] = {numbers[0], numbers[1], numbers[2], numbers[3]};
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        const REAL x = u[c];
        const REAL first = x >= at[1] ? of[1] : of[0];
        const REAL second = x >= at[2] ? of[2] : first;
        to[c] = x >= at[3] ? of[3] : second;
    }
}
#endif

/* Set one cell of a line, in registers: a load of the line would wait long for the store of a cell.
 * at = LINE: none. */
KERNEL_INLINE void NAMED(line_set)(REAL *line, int at, REAL cell)
{
#if STREAM_HAS_WIDE
    stream_line_store(NAMED(stream_line_with)(stream_line_load(line), at, cell), line);
#else
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        line[c] = c == at ? cell : line[c];
    }
#endif
}

/* How far each cell of a line is beyond the beginning of its segment, and numbers of that. */
KERNEL_INLINE void NAMED(window_pick)(const struct NAMED(window) * window, const REAL *u, int first,
                                      int n, REAL *beyond, REAL of[][NAMED(LINE)])
{
    REAL begin[NAMED(LINE)];
#if STREAM_HAS_WIDE
    const struct stream_line at = NAMED(stream_line_find)(stream_line_load(u), window->begin);
    stream_line_store(NAMED(stream_line_choose)(at, window->begin), begin);
    for (int i = 0; i < n; i++) {
        stream_line_store(NAMED(stream_line_choose)(at, window->of[first + i]), of[i]);
    }
#else
    NAMED(window_select)(window->begin, window->begin, u, begin);
    for (int i = 0; i < n; i++) {
        NAMED(window_select)(window->begin, window->of[first + i], u, of[i]);
    }
#endif
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        beyond[c] = u[c] - begin[c];
    }
}

/* theta of a line that the window covers. */
KERNEL_INLINE void NAMED(window_theta)(const struct NAMED(window) * window, const REAL *u,
                                       REAL *theta)
{
    REAL beyond[NAMED(LINE)];
    REAL of[3][NAMED(LINE)];
    NAMED(window_pick)(window, u, NAMED(THETA_AT), 3, beyond, of);
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        theta[c] = NAMED(nonlinear_theta_of)(beyond[c], of[0][c], of[1][c], of[2][c]);
    }
}

KERNEL_INLINE void NAMED(window_temperature)(const struct NAMED(window) * window, const REAL *u,
                                             REAL *temperature)
{
    REAL beyond[NAMED(LINE)];
    REAL of[2][NAMED(LINE)];
    NAMED(window_pick)(window, u, NAMED(T_AT), 2, beyond, of);
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
    }
}

KERNEL_INLINE void NAMED(window_conduct)(const struct NAMED(window) * window, const REAL *u,
                                         REAL *temperature, REAL *conductivity)
{
    REAL beyond[NAMED(LINE)];
    REAL of[4][NAMED(LINE)];
    NAMED(window_pick)(window, u, NAMED(T_AT), 4, beyond, of);
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
        conductivity[c] = FMA(of[3][c], beyond[c], of[2][c]);
    }
}

/* Move the window to the cells of a line, with room on both sides if there is any. Returns whether
 * it covers them. */
static __attribute__((noinline)) bool NAMED(lookup_move)(struct NAMED(lookup) * lookup,
                                                         const REAL *u)
{
    int least = lookup->count - 1;
    int most = 0;
    for (int i = 0; i < NAMED(LINE); i++) {
        const int s = NAMED(nonlinear_segment)(lookup->segments, lookup->count, u[i]);
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    const int room = NAMED(WINDOW) - (most - least + 1);
    const int first = room > 0 ? least - room / 2 : least;
    NAMED(lookup_from)(lookup, first > 0 ? first : 0);
    return room >= 0;
}

/* Let the window cover the cells of a line, if one can. Returns whether it does. */
KERNEL_INLINE bool NAMED(lookup_reach)(struct NAMED(lookup) * lookup, const REAL *u)
{
    return NAMED(line_within)(u, lookup->window.from, lookup->window.to) ||
           NAMED(lookup_move)(lookup, u);
}

/* A single cell, in the window or not. */
KERNEL_INLINE struct NAMED(nonlinear)
    NAMED(lookup_cell)(const struct NAMED(lookup) * lookup, REAL u)
{
    const struct NAMED(window) *window = &lookup->window;
    int s = window->first;
    if (!(u >= window->from && u < window->to)) {
        return NAMED(nonlinear_at)(lookup->segments, lookup->count, u);
    }
    for (int n = 1; n < NAMED(WINDOW); n++) {
        s += u >= window->begin[n];
    }
    return NAMED(nonlinear_in)(lookup->segments, lookup->count, s, u);
}

struct NAMED(values) {
    REAL temperature[NAMED(LINE)], conductivity[NAMED(LINE)], theta[NAMED(LINE)];
} __attribute__((aligned(STREAM_LINE_BYTES)));

/* Those of a line of one curve, wherever its cells are. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lookup_line)(struct NAMED(lookup) * lookup,
                                                                     const REAL *u,
                                                                     struct NAMED(values) * values)
{
    REAL beyond[NAMED(LINE)];
    REAL of[NAMED(THETA_END)][NAMED(LINE)];
    if (!NAMED(lookup_reach)(lookup, u)) {
        for (int c = 0; c < NAMED(LINE); c++) {
            const struct NAMED(nonlinear) at =
                NAMED(nonlinear_at)(lookup->segments, lookup->count, u[c]);
            values->temperature[c] = at.temperature;
            values->conductivity[c] = at.conductivity;
            values->theta[c] = at.theta;
        }
        return;
    }
    NAMED(window_pick)(&lookup->window, u, 0, NAMED(THETA_END), beyond, of);
#pragma omp simd
    for (int c = 0; c < NAMED(LINE); c++) {
        values->temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
        values->conductivity[c] = FMA(of[3][c], beyond[c], of[2][c]);
        values->theta[c] = NAMED(nonlinear_theta_of)(beyond[c], of[4][c], of[5][c], of[6][c]);
    }
}

/* T and k of n cells of one curve, whole lines, wherever they are; or theta. */
static STREAM_WIDE __attribute__((noinline)) void NAMED(lookup_conduct)(
    struct NAMED(lookup) * lookup, const REAL *u, int64_t n, REAL *temperature, REAL *conductivity)
{
    struct NAMED(window) window;
    NAMED(window_load)(&lookup->window, 0, NAMED(THETA_AT), &window);
    for (int64_t i = 0; i < n; i += NAMED(LINE)) {
        if (NAMED(line_within)(u + i, window.from, window.to)) {
            NAMED(window_conduct)(&window, u + i, temperature + i, conductivity + i);
        } else {
            struct NAMED(values) values;
            NAMED(lookup_line)(lookup, u + i, &values);
            memcpy(temperature + i, values.temperature, sizeof values.temperature);
            memcpy(conductivity + i, values.conductivity, sizeof values.conductivity);
            NAMED(window_load)(&lookup->window, 0, NAMED(THETA_AT), &window);
        }
    }
}

static STREAM_WIDE __attribute__((noinline)) void NAMED(lookup_theta)(struct NAMED(lookup) * lookup,
                                                                      const REAL *u, int64_t n,
                                                                      REAL *theta)
{
    struct NAMED(window) window;
    NAMED(window_load)(&lookup->window, NAMED(THETA_AT), 3, &window);
    for (int64_t i = 0; i < n; i += NAMED(LINE)) {
        if (NAMED(line_within)(u + i, window.from, window.to)) {
            NAMED(window_theta)(&window, u + i, theta + i);
        } else {
            struct NAMED(values) values;
            NAMED(lookup_line)(lookup, u + i, &values);
            memcpy(theta + i, values.theta, sizeof values.theta);
            NAMED(window_load)(&lookup->window, NAMED(THETA_AT), 3, &window);
        }
    }
}
