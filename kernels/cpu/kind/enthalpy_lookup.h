/* The values of a line of cells of one curve.
 *
 * Neighbouring cells have neighbouring segments: those of a line are sought in a window of a few
 * segments, which are compared one after another, and which moves when a cell lies outside. */

enum { LINE = STREAM_LINE_BYTES / sizeof(REAL), WINDOW = 4 };

/* Segments in sequence, for cells with from <= u < to: their beginnings, and their numbers. */
struct window {
    REAL from, to;
    int first; /* segment */
    REAL begin[WINDOW], of[NONLINEAR_SEGMENT][WINDOW];
};

/* The segments of a class. */
struct lookup {
    const REAL *segments; /* in the table; NULL: none */
    int count;
    struct window window;
};

/* Where the numbers of T and of theta are in those of a segment. */
enum { T_AT = 0, THETA_AT = 4, THETA_END = 7 };

/* Let the window begin at segment `first`. */
static void lookup_from(struct lookup *lookup, int first)
{
    struct window *window = &lookup->window;
    const int end = first + WINDOW;
    window->first = first;
    window->from = first == 0 ? -(REAL)INFINITY : lookup->segments[first];
    window->to = end < lookup->count ? lookup->segments[end] : (REAL)INFINITY;
    for (int s = 0; s < WINDOW; s++) {
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
KERNEL_INLINE void window_load(const struct window *from, int first, int n, struct window *window)
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
KERNEL_INLINE void window_select(const REAL *begin, const REAL *numbers, const REAL *u, REAL *to)
{
    const REAL at[WINDOW] = {begin[0], begin[1], begin[2], begin[3]};
    const REAL of[WINDOW] = {numbers[0], numbers[1], numbers[2], numbers[3]};
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        const REAL x = u[c];
        const REAL first = x >= at[1] ? of[1] : of[0];
        const REAL second = x >= at[2] ? of[2] : first;
        to[c] = x >= at[3] ? of[3] : second;
    }
}
#endif

/* Set one cell of a line, in registers: a load of the line would wait long for the store of a cell.
 * at = LINE: none. */
KERNEL_INLINE void line_set(REAL *line, int at, REAL cell)
{
#if STREAM_HAS_WIDE
    stream_line_store(stream_line_with(stream_line_load(line), at, cell), line);
#else
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        line[c] = c == at ? cell : line[c];
    }
#endif
}

/* How far each cell of a line is beyond the beginning of its segment, and numbers of that. */
KERNEL_INLINE void window_pick(const struct window *window, const REAL *u, int first, int n,
                               REAL *beyond, REAL of[][LINE])
{
    REAL begin[LINE];
#if STREAM_HAS_WIDE
    const struct stream_line at = stream_line_find(stream_line_load(u), window->begin);
    stream_line_store(stream_line_choose(at, window->begin), begin);
    for (int i = 0; i < n; i++) {
        stream_line_store(stream_line_choose(at, window->of[first + i]), of[i]);
    }
#else
    window_select(window->begin, window->begin, u, begin);
    for (int i = 0; i < n; i++) {
        window_select(window->begin, window->of[first + i], u, of[i]);
    }
#endif
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        beyond[c] = u[c] - begin[c];
    }
}

/* theta of a line that the window covers. */
KERNEL_INLINE void window_theta(const struct window *window, const REAL *u, REAL *theta)
{
    REAL beyond[LINE];
    REAL of[3][LINE];
    window_pick(window, u, THETA_AT, 3, beyond, of);
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        theta[c] = NAMED(nonlinear_theta_of)(beyond[c], of[0][c], of[1][c], of[2][c]);
    }
}

KERNEL_INLINE void window_temperature(const struct window *window, const REAL *u, REAL *temperature)
{
    REAL beyond[LINE];
    REAL of[2][LINE];
    window_pick(window, u, T_AT, 2, beyond, of);
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
    }
}

KERNEL_INLINE void window_conduct(const struct window *window, const REAL *u, REAL *temperature,
                                  REAL *conductivity)
{
    REAL beyond[LINE];
    REAL of[4][LINE];
    window_pick(window, u, T_AT, 4, beyond, of);
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
        conductivity[c] = FMA(of[3][c], beyond[c], of[2][c]);
    }
}

/* Move the window to the cells of a line, with room on both sides if there is any. Returns whether
 * it covers them. */
static __attribute__((noinline)) bool lookup_move(struct lookup *lookup, const REAL *u)
{
    int least = lookup->count - 1;
    int most = 0;
    for (int i = 0; i < LINE; i++) {
        const int s = NAMED(nonlinear_segment)(lookup->segments, lookup->count, u[i]);
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    const int room = WINDOW - (most - least + 1);
    const int first = room > 0 ? least - room / 2 : least;
    lookup_from(lookup, first > 0 ? first : 0);
    return room >= 0;
}

/* Let the window cover the cells of a line, if one can. Returns whether it does. */
KERNEL_INLINE bool lookup_reach(struct lookup *lookup, const REAL *u)
{
    return line_within(u, lookup->window.from, lookup->window.to) || lookup_move(lookup, u);
}

/* A single cell, in the window or not. */
KERNEL_INLINE struct NAMED(nonlinear) lookup_cell(const struct lookup *lookup, REAL u)
{
    const struct window *window = &lookup->window;
    int s = window->first;
    if (!(u >= window->from && u < window->to)) {
        return NAMED(nonlinear_at)(lookup->segments, lookup->count, u);
    }
    for (int n = 1; n < WINDOW; n++) {
        s += u >= window->begin[n];
    }
    return NAMED(nonlinear_in)(lookup->segments, lookup->count, s, u);
}

struct values {
    REAL temperature[LINE], conductivity[LINE], theta[LINE];
} __attribute__((aligned(STREAM_LINE_BYTES)));

/* Those of a line of one curve, wherever its cells are. */
static STREAM_WIDE __attribute__((noinline)) void lookup_line(struct lookup *lookup, const REAL *u,
                                                              struct values *values)
{
    REAL beyond[LINE];
    REAL of[THETA_END][LINE];
    if (!lookup_reach(lookup, u)) {
        for (int c = 0; c < LINE; c++) {
            const struct NAMED(nonlinear) at =
                NAMED(nonlinear_at)(lookup->segments, lookup->count, u[c]);
            values->temperature[c] = at.temperature;
            values->conductivity[c] = at.conductivity;
            values->theta[c] = at.theta;
        }
        return;
    }
    window_pick(&lookup->window, u, 0, THETA_END, beyond, of);
#pragma omp simd
    for (int c = 0; c < LINE; c++) {
        values->temperature[c] = FMA(of[1][c], beyond[c], of[0][c]);
        values->conductivity[c] = FMA(of[3][c], beyond[c], of[2][c]);
        values->theta[c] = NAMED(nonlinear_theta_of)(beyond[c], of[4][c], of[5][c], of[6][c]);
    }
}

/* T and k of n cells of one curve, whole lines, wherever they are; or theta. */
static STREAM_WIDE __attribute__((noinline)) void lookup_conduct(struct lookup *lookup,
                                                                 const REAL *u, int64_t n,
                                                                 REAL *temperature,
                                                                 REAL *conductivity)
{
    struct window window;
    window_load(&lookup->window, 0, THETA_AT, &window);
    for (int64_t i = 0; i < n; i += LINE) {
        if (line_within(u + i, window.from, window.to)) {
            window_conduct(&window, u + i, temperature + i, conductivity + i);
        } else {
            struct values values;
            lookup_line(lookup, u + i, &values);
            memcpy(temperature + i, values.temperature, sizeof values.temperature);
            memcpy(conductivity + i, values.conductivity, sizeof values.conductivity);
            window_load(&lookup->window, 0, THETA_AT, &window);
        }
    }
}

/* fetch: from a cell to the one whose line is fetched. */
static STREAM_WIDE __attribute__((noinline)) void lookup_theta(struct lookup *lookup, const REAL *u,
                                                               int64_t fetch, int64_t n,
                                                               REAL *theta)
{
    struct window window;
    window_load(&lookup->window, THETA_AT, 3, &window);
    for (int64_t i = 0; i < n; i += LINE) {
        stream_fetch(STREAM_SECOND_LEVEL, u + fetch + i);
        if (line_within(u + i, window.from, window.to)) {
            window_theta(&window, u + i, theta + i);
        } else {
            struct values values;
            lookup_line(lookup, u + i, &values);
            memcpy(theta + i, values.theta, sizeof values.theta);
            window_load(&lookup->window, THETA_AT, 3, &window);
        }
    }
}
