/* The step kernel where each cell has conductances of its own, stored or in lines: parts of rows in
 * tiles. */
#include <string.h>

#include <omp.h>

#include "kernels/cell/faces_cell.h"
#include "kernels/cpu/schedule/real.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

enum { PART = 512 }; /* cells */
static const REAL zeros[PART];

struct stencil {
    const struct step_call *call;
    const struct device_medium *medium;
    struct tally *tally;                        /* of this thread, one per face */
    const REAL *line[AXIS_COUNT][GRADED_LINES]; /* from cell 0 on; NULL: none */
    bool graded;                                /* the faces have shares of these */
    REAL dt;                                    /* of graded ones 1 */
    struct step_scratch *scratch;
};

/* The shares of the lines for a part of a row, and ones. */
struct step_scratch {
    REAL g[FACE_COUNT][PART], sigma[PART];
};

/* The cells of a part of a row. */
struct part {
    int64_t cell[AXIS_COUNT]; /* the first */
    int64_t n;
    const REAL *in;
    const uint8_t *of_class;
    const REAL *g[FACE_COUNT]; /* of the first cell, not times dt unless graded */
    const REAL *sigma;
    const REAL *neighbour[FACE_COUNT]; /* on y and z */
};

static struct stencil stencil_of(const struct step_call *c, struct tally *tally, void *scratch)
{
    const struct device_medium *m = &c->args->medium;
    struct stencil s = {
        .call = c, .medium = m, .tally = tally, .dt = (REAL)m->dt, .scratch = scratch};
    for (int i = 0; i < AXIS_COUNT * GRADED_LINES && m->has_lines; i++) {
        const enum graded_line line = (enum graded_line)(i % GRADED_LINES);
        s.line[i / GRADED_LINES][line] =
            (const REAL *)m->d_sigma + medium_line(m, i / GRADED_LINES, line);
    }
    s.graded = medium_is_graded(m);
    s.dt = s.graded ? 1 : s.dt;
    return s;
}

/* The product of the other axes' numbers of a line at a cell. */
static REAL across(const struct stencil *s, enum axis axis, enum graded_line line,
                   const int64_t *cell)
{
    const int a = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const int b = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    return s->line[a][line][cell[a]] * s->line[b][line][cell[b]];
}

/* The conductance of a face on a closed end, and that of one with the area 1. */
static REAL conductance_of(const struct stencil *s, const struct part *p, enum face face,
                           const int64_t *cell, REAL *unit)
{
    const enum axis axis = face_axis(face);
    if (s->graded) {
        const int side = face_side(face) == SIDE_MIN ? 0 : 1;
        *unit = s->line[axis][GRADED_CONDUCTANCE][cell[axis] + side] * (REAL)s->medium->dt;
        return *unit * across(s, axis, GRADED_WIDTH, cell);
    }
    const REAL g = p->g[face][cell[AXIS_X] - p->cell[AXIS_X]] * s->dt;
    *unit = s->line[axis][GRADED_INVERSE] != NULL ? g * across(s, axis, GRADED_INVERSE, cell) : g;
    return g;
}

/* The values beyond a closed face of cells [begin, end) of a part. */
static void close_cells(const struct stencil *s, const struct part *p, enum face face,
                        int64_t begin, int64_t end, REAL *beyond)
{
    const struct device_medium *m = s->medium;
    const REAL *table = m->d_table;
    double term[PART];
    for (int64_t i = begin; i < end; i++) {
        const int64_t cell[AXIS_COUNT] = {p->cell[AXIS_X] + i, p->cell[AXIS_Y], p->cell[AXIS_Z]};
        const int closure =
            medium_closure(m->d_patch[face], m->patch_pitch[face], m->first_closure[face],
                           m->nclasses, face, cell, p->of_class[i] & m->mask);
        REAL unit;
        const REAL g = conductance_of(s, p, face, cell, &unit);
        beyond[i] = NAMED(faces_outside)(
            p->in[i], unit, table + medium_closure_at(m->nclasses, m->nclosures, face, closure));
        term[i] = (double)g * (double)(beyond[i] - p->in[i]);
    }
    if (s->tally[face].target != NULL) {
        tally_add_float64(&s->tally[face], term + begin, end - begin);
    }
}

static bool is_used(const struct stencil *s, enum axis axis)
{
    return s->graded ? s->line[axis][GRADED_CONDUCTANCE][1] > 0 : s->medium->d_g[axis] != NULL;
}

/* The shares of the faces of cell `i` of a line, times dt. */
static void shares_of(const struct stencil *s, enum axis axis, int64_t i, REAL *min, REAL *max)
{
    const REAL *g = s->line[axis][GRADED_CONDUCTANCE] + i;
    const REAL dt = (REAL)s->medium->dt;
    const REAL inverse = s->line[axis][GRADED_INVERSE][i];
    *min = (g[0] * dt) * inverse;
    *max = (g[1] * dt) * inverse;
}

/* The shares of a graded part. */
static void take_lines(const struct stencil *s, const int64_t *cell, int64_t n)
{
    struct step_scratch *to = s->scratch;
    REAL share[FACE_COUNT];
    shares_of(s, AXIS_Y, cell[AXIS_Y], &share[FACE_Y_MIN], &share[FACE_Y_MAX]);
    shares_of(s, AXIS_Z, cell[AXIS_Z], &share[FACE_Z_MIN], &share[FACE_Z_MAX]);
    for (int64_t i = 0; i < n; i++) {
        shares_of(s, AXIS_X, cell[AXIS_X] + i, &to->g[FACE_X_MIN][i], &to->g[FACE_X_MAX][i]);
        for (int f = FACE_Y_MIN; f < FACE_COUNT; f++) {
            to->g[f][i] = share[f];
        }
        to->sigma[i] = 1;
    }
}

static struct part part_of(const struct stencil *s, int64_t i, int64_t n, int64_t j, int64_t k)
{
    const struct device_medium *m = s->medium;
    const struct layout *layout = s->call->layout;
    const struct layout *l = &m->layout;
    const int64_t at = layout_index(l, i, j, k);
    const int64_t step[AXIS_COUNT] = {1, l->pitch_y, l->pitch_z};
    const int64_t pitch[AXIS_COUNT] = {1, layout->pitch_y, layout->pitch_z};
    struct part p = {.cell = {i, j, k},
                     .n = n,
                     .in = (const REAL *)s->call->in + layout_index(layout, i, j, k),
                     .of_class = m->d_class + at,
                     .sigma = s->graded ? s->scratch->sigma : (const REAL *)m->d_sigma + at};
    if (s->graded) {
        take_lines(s, p.cell, n);
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum axis axis = face_axis((enum face)f);
        const int side = face_side((enum face)f) == SIDE_MIN ? 0 : 1;
        const REAL *g = m->d_g[axis];
        const bool used = is_used(s, axis);
        p.g[f] = s->graded ? s->scratch->g[f] : used ? g + at + side * step[axis] : zeros;
        p.neighbour[f] = used && axis != AXIS_X ? p.in + (2 * side - 1) * pitch[axis] : p.in;
    }
    return p;
}

static bool is_closed(const struct stencil *s, enum face face, int64_t at)
{
    const enum axis axis = face_axis(face);
    const int64_t last = face_side(face) == SIDE_MIN ? 0 : s->call->layout->cells[axis] - 1;
    return s->call->args->closed[face] && at == last && is_used(s, axis);
}

static __attribute__((noinline)) void step_part_of_row(const struct stencil *s, int64_t first,
                                                       int64_t n, int64_t j, int64_t k)
{
    const struct device_medium *m = s->medium;
    struct part p = part_of(s, first, n, j, k);
    REAL row[PART + 2]; /* with its neighbours in x */
    REAL beyond[FACE_COUNT][PART];
    REAL q[PART];
    REAL added[PART];
    const bool x_used = is_used(s, AXIS_X);
    const bool on_min = is_closed(s, FACE_X_MIN, first);
    const bool on_max = is_closed(s, FACE_X_MAX, first + n - 1);
    memcpy(row + 1, p.in, (size_t)n * sizeof *row);
    row[0] = x_used && !on_min ? p.in[-1] : p.in[0];
    row[n + 1] = x_used && !on_max ? p.in[n] : p.in[n - 1];
    if (on_min) {
        close_cells(s, &p, FACE_X_MIN, 0, 1, beyond[FACE_X_MIN]);
        row[0] = beyond[FACE_X_MIN][0];
    }
    if (on_max) {
        close_cells(s, &p, FACE_X_MAX, n - 1, n, beyond[FACE_X_MAX]);
        row[n + 1] = beyond[FACE_X_MAX][n - 1];
    }
    for (int f = FACE_Y_MIN; f < FACE_COUNT; f++) {
        if (is_closed(s, (enum face)f, p.cell[face_axis((enum face)f)])) {
            close_cells(s, &p, (enum face)f, 0, n, beyond[f]);
            p.neighbour[f] = beyond[f];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const REAL *of = (const REAL *)m->d_table + medium_cell_at(p.of_class[i] & m->mask);
        added[i] = of[0];
        q[i] = s->graded ? 0 : of[1];
    }
    const REAL *const *g = p.g;
    const REAL *const *beside = p.neighbour;
    const REAL *sigma = p.sigma;
    const REAL dt = s->dt;
    REAL *out = (REAL *)s->call->out + layout_index(s->call->layout, first, j, k);
    const REAL *base = s->call->args->corrects ? out : p.in;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = NAMED(medium_cell)(
            base[i] + added[i], row[i + 1], row[i], row[i + 2], beside[FACE_Y_MIN][i],
            beside[FACE_Y_MAX][i], beside[FACE_Z_MIN][i], beside[FACE_Z_MAX][i],
            g[FACE_X_MIN][i] * dt, g[FACE_X_MAX][i] * dt, g[FACE_Y_MIN][i] * dt,
            g[FACE_Y_MAX][i] * dt, g[FACE_Z_MIN][i] * dt, g[FACE_Z_MAX][i] * dt, sigma[i], q[i]);
    }
}

static void step_tile(const struct stencil *s, const struct box *tile, struct schedule schedule)
{
    (void)schedule;
    for (int64_t k = tile->lo[AXIS_Z]; k < tile->hi[AXIS_Z]; k++) {
        for (int64_t j = tile->lo[AXIS_Y]; j < tile->hi[AXIS_Y]; j++) {
            for (int64_t i = tile->lo[AXIS_X]; i < tile->hi[AXIS_X]; i += PART) {
                const int64_t left = tile->hi[AXIS_X] - i;
                step_part_of_row(s, i, left < PART ? left : PART, j, k);
            }
        }
    }
}

#include "kernels/cpu/schedule/pieces.h"

DEFINE_THREAD(tiles, TILED)

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    (void)tuner;
    step_parallel(thread_tiles, call);
}

const struct step_kind NAMED(step_faces) = {step, step_part};
