/* The rows of the step kernel in a medium of classes.
 *
 * The lines of a row are streamed as in a uniform medium, but each has coefficients of its own.
 * Lines inside the region of a class, and along its surface where no class changes in x, share
 * them. Which line has which is kept in plans: most rows have the classes of an earlier one, and
 * their number says so.
 */

#include "kernels/cpu/schedule/lines.h"

#include "kernels/cpu/kind/classes_plans.h"

/* Cells of a row, and the values at its ends. */
struct strip {
    struct classes classes;
    struct row row;
    REAL *out;
    int64_t n;
    REAL first_xm, last_xp; /* the neighbours in x of the first and the last cell */
};

/* Cells [begin, end) of a strip. */
KERNEL_INLINE struct strip strip_part(const struct strip *strip, int64_t begin, int64_t end)
{
    const REAL *centre = strip->row.centre;
    return (struct strip){
        .classes = classes_from(&strip->classes, begin),
        .row = row_from(&strip->row, begin),
        .out = strip->out + begin,
        .n = end - begin,
        .first_xm = begin == 0 ? strip->first_xm : centre[begin - 1],
        .last_xp = end == strip->n ? strip->last_xp : centre[end],
    };
}

/* Fewer cells than a line, with ordinary stores. */
static void stored_few(const struct stencil *s, struct strip strip, bool corrects)
{
    struct line_numbers line;
    REAL minus[LINE];
    REAL plus[LINE];
    look_up(s, &strip.classes, strip.n, &line);
    for (int64_t i = 0; i < strip.n; i++) {
        minus[i] = i == 0 ? strip.first_xm : strip.row.centre[i - 1];
        plus[i] = i == strip.n - 1 ? strip.last_xp : strip.row.centre[i + 1];
    }
    strip.row.xm = minus;
    strip.row.xp = plus;
    const struct cell_numbers k = {.of = line.of[0]};
    cells(&k, &strip.row, strip.out, strip.n, corrects);
}

/* Store the cells before and after the complete lines of a strip, and return those. */
KERNEL_INLINE struct strip store_ends(const struct stencil *s, const struct strip *strip,
                                      bool corrects)
{
    const int64_t to_line = stream_cells_to_line(strip->out, sizeof(REAL));
    const int64_t head = to_line < strip->n ? to_line : strip->n;
    const int64_t tail = (strip->n - head) % LINE;
    if (head > 0) {
        stored_few(s, strip_part(strip, 0, head), corrects);
    }
    if (tail > 0) {
        stored_few(s, strip_part(strip, strip->n - tail, strip->n), corrects);
    }
    return strip_part(strip, head, strip->n - tail);
}

/* `n` cells in complete lines, as those of a uniform medium. */
KERNEL_INLINE void medium_lines(const struct plan *plan, const struct row *row, REAL *out,
                                int64_t n, REAL first_xm, REAL last_xp, enum stream_level level,
                                enum step_writing writing)
{
    const struct row first = *row;
    const REAL edge[PART] = {[PART - 1] = first_xm};
    const REAL end[PART] = {last_xp};
    struct stream_vector before = stream_load(edge);
    struct stream_vector here = stream_load(first.centre);
    for (int64_t i = 0; i < n; i += LINE) {
        const struct cell_numbers k = {plan->own[plan->line[i / LINE]].of[0]};
        const struct cell_numbers k_second = {k.of + PART};
        stream_fetch(level, first.ahead + i);
        stream_fetch(level, first.beside + i);
        const struct stream_vector second = stream_load(first.centre + i + PART);
        const struct stream_vector next = stream_load(i + LINE < n ? first.centre + i + LINE : end);
        step_vector(&k, &first, out, i, before, here, second, writing);
        step_vector(&k_second, &first, out, i + PART, here, second, next, writing);
        before = second;
        here = next;
    }
}

#if STREAM_HAS_WIDE
/* The same in vectors of a line, and prefetching the plane above into L1. The coefficients are in
 * registers, and loaded only where they change: those of an even line from nine numbers, since
 * eight vectors of each line would take much of L1. */
KERNEL_INLINE void medium_wide(const struct plan *plan, const struct row *row, REAL *out, int64_t n,
                               REAL first_xm, REAL last_xp, enum step_writing writing)
{
    enum { NEAR = 1024 / sizeof(REAL) };
    const struct row first = *row;
    const struct stream_line end = stream_line_of(last_xp);
    struct stream_line before = stream_line_of(first_xm);
    struct stream_line here = stream_line_load(first.centre);
    int loaded = INT_MIN;
    struct stream_line k[COEFFICIENTS] = {here, here, here, here, here, here, here, here};
    for (int64_t i = 0; i < n; i += LINE) {
        REAL of[COEFFICIENTS * LINE]; /* the compiler keeps these in registers */
        if (plan->line[i / LINE] != loaded) {
            loaded = plan->line[i / LINE];
            if (loaded < 0) {
                const struct even *even = &plan->even[-1 - loaded];
                for (int c = 1; c < COEFFICIENTS; c++) {
                    k[c] = stream_line_of(even->of[c]);
                }
                k[0] = stream_line_with(k[1], 0, even->of[0]);
                k[1] = stream_line_with(k[1], LINE - 1, even->last_xp);
            } else {
                for (int c = 0; c < COEFFICIENTS; c++) {
                    k[c] = stream_line_load(plan->own[loaded].of[c]);
                }
            }
        }
        for (int c = 0; c < COEFFICIENTS; c++) {
            stream_line_store(k[c], of + c * LINE);
        }
        const struct cell_numbers here_k = {of};
        stream_fetch(STREAM_SECOND_LEVEL, first.ahead + i);
        stream_fetch(STREAM_SECOND_LEVEL, first.beside + i);
        stream_fetch(STREAM_FIRST_LEVEL, first.zp + i + NEAR);
        const struct stream_line next =
            i + LINE < n ? stream_line_load(first.centre + i + LINE) : end;
        step_line(&here_k, row_from(&first, i), out + i, before, here, next, writing);
        before = here;
        here = next;
    }
}
#else
KERNEL_INLINE void medium_wide(const struct plan *plan, const struct row *row, REAL *out, int64_t n,
                               REAL first_xm, REAL last_xp, enum step_writing writing)
{
    medium_lines(plan, row, out, n, first_xm, last_xp, STREAM_SECOND_LEVEL, writing);
}
#endif

/* Not inlined: the pointers of a row need all registers. */
#define MEDIUM_LINES(name, call, ...)                                                              \
    static STREAM_WIDE __attribute__((noinline)) void name(const struct plan *plan,                \
                                                           const struct row *row, REAL *out,       \
                                                           int64_t n, REAL first_xm, REAL last_xp) \
    {                                                                                              \
        call(plan, row, out, n, first_xm, last_xp, __VA_ARGS__);                                   \
    }
MEDIUM_LINES(lines_ahead, medium_lines, STREAM_FIRST_LEVEL, STEP_STREAMED)
MEDIUM_LINES(lines_wide, medium_wide, STEP_STREAMED)
MEDIUM_LINES(lines_stored, medium_wide, STEP_STORED)
MEDIUM_LINES(lines_corrected, medium_wide, STEP_CORRECTED)
#undef MEDIUM_LINES

/* A strip that does not lie on closed faces in y or z, or whose row has the values beyond. Inlined:
 * a strip that was stored a moment ago cannot be loaded in vectors at once. */
KERNEL_INLINE void open_strip(const struct stencil *s, const struct strip *strip,
                              struct schedule schedule)
{
    const struct strip lines = store_ends(s, strip, schedule.corrects);
    int64_t end = 0;
    for (int64_t begin = 0; begin < lines.n; begin = end) {
        end = lines.n - begin < PIECE ? lines.n : begin + PIECE;
        const struct strip at = strip_part(&lines, begin, end);
        const struct plan *plan = plan_for(s, &at.classes, at.n, schedule.wide && STREAM_HAS_WIDE);
        if (schedule.corrects) {
            lines_corrected(plan, &at.row, at.out, at.n, at.first_xm, at.last_xp);
        } else if (!schedule.stream) {
            lines_stored(plan, &at.row, at.out, at.n, at.first_xm, at.last_xp);
        } else if (schedule.wide) {
            lines_wide(plan, &at.row, at.out, at.n, at.first_xm, at.last_xp);
        } else {
            lines_ahead(plan, &at.row, at.out, at.n, at.first_xm, at.last_xp);
        }
    }
}

/* The closure of the cell (i, j, k) on a face. */
KERNEL_INLINE int closure_of(const struct stencil *s, enum face face, int of_class, int64_t i,
                             int64_t j, int64_t k)
{
    const struct device_medium *m = s->medium;
    const int64_t cell[AXIS_COUNT] = {i, j, k};
    return medium_closure(m->d_patch[face], m->patch_pitch[face], m->first_closure[face],
                          m->nclasses, face, cell, of_class);
}

/* Its a, b and e. */
KERNEL_INLINE const REAL *closure_from(const struct stencil *s, enum face face, int closure)
{
    const struct device_medium *m = s->medium;
    return s->table + medium_closure_at(m->nclasses, m->nclosures, face, closure);
}

/* The heat through a closed face into a cell, in K, for the heat ledger. */
KERNEL_INLINE double face_term(REAL g, REAL outside, REAL inside)
{
    return (double)g * (double)(outside - inside);
}

/* One cell on the closed face x_min or x_max. */
static REAL close_end(const struct stencil *s, enum face face, int of_class, int64_t i, int64_t j,
                      int64_t k, REAL inside)
{
    const REAL *abe = closure_from(s, face, closure_of(s, face, of_class, i, j, k));
    const REAL outside = NAMED(medium_outside)(inside, abe[0], abe[1], abe[2]);
    if (s->tally[face].target != NULL) {
        const REAL g = g_from(s, AXIS_X, of_class)[of_class];
        tally_add_one(&s->tally[face], face_term(g, outside, inside));
    }
    return outside;
}

/* The values beyond a closed face of `n` cells with one closure and one g, and the heat. */
KERNEL_INLINE void close_cells(const REAL abe[3], REAL g, const REAL *centre, int64_t n,
                               REAL *restrict beyond, double *restrict term)
{
    if (abe[2] == 0) {
        const REAL a = abe[0];
        const REAL b = abe[1];
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            beyond[i] = NAMED(medium_outside)(centre[i], a, b, 0);
        }
    } else { /* radiation */
        for (int64_t i = 0; i < n; i++) {
            beyond[i] = NAMED(medium_outside)(centre[i], abe[0], abe[1], abe[2]);
        }
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        term[i] = face_term(g, beyond[i], centre[i]);
    }
}

/* Point `neighbour` at the values beyond a closed face in y or z of at most CHUNK cells from
 * (i, j, k) on, computed into `beyond`. */
static void close_face(const struct stencil *s, enum face face, const uint8_t *of_class, int64_t i,
                       int64_t j, int64_t k, const REAL *centre, int64_t n, REAL *restrict beyond,
                       const REAL **neighbour)
{
    const int mask = s->medium->mask;
    double term[CHUNK];
    int64_t end = 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        const int own = of_class[begin] & mask;
        const int closure = closure_of(s, face, own, i + begin, j, k);
        end = begin + 1;
        while (end < n && closure_of(s, face, of_class[end] & mask, i + end, j, k) ==
                              closure) { /* so the class is the same too */
            end++;
        }
        close_cells(closure_from(s, face, closure), g_from(s, face_axis(face), own)[own],
                    centre + begin, end - begin, beyond + begin, term + begin);
    }
    if (s->tally[face].target != NULL) {
        tally_add_float64(&s->tally[face], term, n);
    }
    *neighbour = beyond;
}

/* A strip from (lo, j, k) on, of a row on closed faces in y or z. */
static __attribute__((noinline)) void boundary_strip(const struct stencil *s,
                                                     const bool on[FACE_COUNT],
                                                     const struct strip *strip, int64_t lo,
                                                     int64_t j, int64_t k, struct schedule schedule)
{
    REAL beyond[FACE_COUNT][CHUNK] __attribute__((aligned(STREAM_LINE_BYTES)));
    const int64_t n = strip->n;
    /* chunks end at lines, so that all but the ends of the row are streamed */
    const int64_t head = stream_cells_to_line(strip->out, sizeof(REAL));
    int64_t end = head > 0 && head < n ? head : 0;
    for (int64_t begin = 0; begin < n; begin = end) {
        if (begin > 0 || end == 0) {
            end = n - begin < CHUNK ? n : begin + CHUNK;
        }
        struct strip at = strip_part(strip, begin, end);
        const REAL **const neighbour[FACE_COUNT] = {[FACE_Y_MIN] = &at.row.ym,
                                                    [FACE_Y_MAX] = &at.row.yp,
                                                    [FACE_Z_MIN] = &at.row.zm,
                                                    [FACE_Z_MAX] = &at.row.zp};
        for (int face = FACE_Y_MIN; face < FACE_COUNT; face++) {
            if (on[face] && !s->mirrored[face]) {
                close_face(s, (enum face)face, at.classes.centre, lo + begin, j, k, at.row.centre,
                           at.n, beyond[face], neighbour[face]);
            }
        }
        open_strip(s, &at, schedule);
    }
}

/* Cells [lo, hi) of row (j, k). */
static inline struct strip strip_of(const struct stencil *s, const bool on[FACE_COUNT], int64_t lo,
                                    int64_t hi, int64_t j, int64_t k, const struct aim *aim)
{
    const struct layout *l = &s->medium->layout;
    const int64_t at = layout_index(s->layout, lo, j, k);
    const struct row row = row_at(s, on, at, aim);
    const uint8_t *begin = s->medium->d_class + layout_index(l, 0, j, k);
    const uint8_t *own = begin + lo;
    if (aim->j <= l->cells[AXIS_Y] && aim->k <= l->cells[AXIS_Z]) {
        const uint8_t *ahead = s->medium->d_class + layout_index(l, 0, aim->j, aim->k);
        stream_fetch(STREAM_SECOND_LEVEL, ahead - 1);
        for (int64_t i = lo; s->plans->made && i < hi; i += STREAM_LINE_BYTES) {
            stream_fetch(STREAM_SECOND_LEVEL, ahead + i);
        }
    }
    const int64_t last = hi - lo - 1;
    const int64_t number =
        s->medium->numbered ? classes_row_number(begin) : -(begin - s->medium->d_class);
    const bool on_end = on[FACE_X_MIN] || on[FACE_X_MAX];
    const int *ends = on_end ? ends_of(s, begin, number) : NULL;
    return (struct strip){
        .classes = {.centre = own,
                    .ym = own - l->pitch_y,
                    .yp = own + l->pitch_y,
                    .zm = own - l->pitch_z,
                    .zp = own + l->pitch_z,
                    .x = lo,
                    .number = number},
        .row = row,
        .out = s->out + at,
        .n = hi - lo,
        .first_xm = on[FACE_X_MIN]
                        ? close_end(s, FACE_X_MIN, ends[SIDE_MIN], lo, j, k, row.centre[0])
                        : row.centre[-1],
        .last_xp = on[FACE_X_MAX]
                       ? close_end(s, FACE_X_MAX, ends[SIDE_MAX], hi - 1, j, k, row.centre[last])
                       : row.centre[last + 1],
    };
}

/* Cells [lo, hi) of row (j, k). */
KERNEL_INLINE void step_row(const struct stencil *s, int64_t lo, int64_t hi, int64_t j, int64_t k,
                            const struct aim *aim, struct schedule schedule)
{
    const struct where where = where_of(s, lo, hi, j, k);
    const struct strip strip = strip_of(s, where.on, lo, hi, j, k, aim);
    if (where.values_beyond) {
        boundary_strip(s, where.on, &strip, lo, j, k, schedule);
    } else {
        open_strip(s, &strip, schedule);
    }
}

#if STREAM_HAS_WIDE
/* Row j of STEP_PLANES planes, one after another. */
KERNEL_INLINE void step_block(const struct stencil *s, int64_t lo, int64_t hi, int64_t j, int64_t k,
                              const REAL *ahead, struct schedule schedule)
{
    const int64_t dz = s->layout->pitch_z;
    for (int p = 0; p < STEP_PLANES; p++) {
        const struct aim aim = {ahead + p * dz, ahead + p * dz, j, k + p};
        step_row(s, lo, hi, j, k + p, &aim, schedule);
    }
}
#endif

static struct stencil stencil_of(const struct step_call *c, struct tally *tally, void *scratch)
{
    const struct device_medium *medium = &c->args->medium;
    struct stencil s = {.layout = c->layout,
                        .closed = c->args->closed,
                        .tally = tally,
                        .out = c->out,
                        .in = c->in,
                        .medium = medium,
                        .table = medium->d_table,
                        .plans = scratch};
    s.plans->calls = 0;
    s.plans->last = 0;
    s.plans->made = true;
    s.plans->number = 0;
    memset(s.plans->key, 0, sizeof s.plans->key);
    memset(s.plans->used, 0, sizeof s.plans->used);
    for (int side = 0; side < SIDE_COUNT; side++) { /* axes that are not used */
        s.mirrored[face_of(AXIS_Y, (enum side)side)] = medium->layout.pitch_y == 0;
        s.mirrored[face_of(AXIS_Z, (enum side)side)] = medium->layout.pitch_z == 0;
    }
    return s;
}

#include "kernels/cpu/schedule/tiles.h"
