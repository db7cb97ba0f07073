/* The tiles of enthalpy.c. */

#include "kernels/cpu/kind/enthalpy_lookup.h"

#include "kernels/cpu/kind/enthalpy_cells.h"

#include "kernels/cpu/kind/enthalpy_lines.h"

#include "kernels/cpu/kind/enthalpy_rows.h"

#include "kernels/cpu/kind/enthalpy_faces.h"

/* The cells before and after row (j, k) of the tile. */
static void evaluate_ends(const struct stencil *s, const struct box *tile, int64_t j, int64_t k)
{
    REAL *theta = &s->scratch->theta[k & 1][j - tile->lo[AXIS_Y] + 1][PAD];
    for (int side = 0; side < SIDE_COUNT; side++) {
        const int64_t i = side == SIDE_MIN ? tile->lo[AXIS_X] - 1 : tile->hi[AXIS_X];
        const bool inside = i >= 0 && i < s->layout->cells[AXIS_X];
        if (inside || !s->closed[FACE_X_MIN + side]) {
            theta[i - tile->lo[AXIS_X]] = cell_at(s, i, j, k).is.theta;
        }
    }
}

/* Evaluate row (j, k). `fetch`: from a cell to the one whose line is fetched. Rows beyond closed
 * faces are not needed, nor are the edges of the tile's outline. */
static void evaluate_row(const struct stencil *s, const struct box *tile, int64_t j, int64_t k,
                         int64_t fetch)
{
    const struct layout *l = s->layout;
    const int64_t at[AXIS_COUNT] = {tile->lo[AXIS_X], s->alone[AXIS_Y] ? 0 : j,
                                    s->alone[AXIS_Z] ? 0 : k};
    /* of the tile, in y and z */
    const bool inside = j >= tile->lo[AXIS_Y] && j < tile->hi[AXIS_Y] && k >= tile->lo[AXIS_Z];
    for (int axis = AXIS_Y; axis < AXIS_COUNT; axis++) {
        if ((at[axis] < 0 && s->closed[2 * axis]) ||
            (at[axis] >= l->cells[axis] && s->closed[2 * axis + 1])) {
            return;
        }
    }
    const int64_t n = box_extent(tile, AXIS_X);
    const REAL *u = s->in + layout_index(l, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
    const uint8_t *classes =
        s->medium->d_class + layout_index(&s->medium->layout, at[AXIS_X], at[AXIS_Y], at[AXIS_Z]);
    const int64_t row = j - tile->lo[AXIS_Y] + 1;
    REAL *theta = &s->scratch->theta[k & 1][row][PAD];
    REAL *temperature = s->medium->perfused ? &s->scratch->temperature[row][PAD] : NULL;
    for (int64_t i = 0, end; i < n; i = end) {
        const struct alike alike = alike_cells(s, classes + i);
        end = temperature == NULL ? alike_until(classes, i, n - n % LINE, &alike) : i;
        if (end > i) {
            lookup_theta(alike.lookup, u + i, fetch, end - i, theta + i);
            continue;
        }
        struct values values;
        evaluate_line(s, classes + i, u + i, n - i < LINE ? n - i : LINE, &values);
        memcpy(theta + i, values.theta, sizeof values.theta);
        if (temperature != NULL) {
            memcpy(temperature + i, values.temperature, sizeof values.temperature);
        }
        end = i + LINE;
    }
    if (inside) {
        evaluate_ends(s, tile, j, k);
    }
}

/* g and d of the closed faces in x of all rows of the tile in plane k, which overlap: by itself
 * each is a long chain. */
static STREAM_WIDE void close_rows(const struct stencil *s, const struct box *tile, int side,
                                   int64_t k)
{
    enum { ROWS = TILE_Y + LINE };
    const struct device_medium *m = s->medium;
    const int face = FACE_X_MIN + side;
    const int64_t i = side == SIDE_MIN ? tile->lo[AXIS_X] : tile->hi[AXIS_X] - 1;
    const int64_t j = tile->lo[AXIS_Y];
    const int64_t nrows = box_extent(tile, AXIS_Y);
    const REAL *cells = s->in + layout_index(s->layout, i, j, k);
    const uint8_t *classes = m->d_class + layout_index(&m->layout, i, j, k);
    if (!s->closed[face] || i != (side == SIDE_MIN ? 0 : s->layout->cells[AXIS_X] - 1)) {
        return;
    }
    for (int64_t begin = 0, n; begin < nrows; begin += n) { /* rows of one class */
        const int own = m->nclasses == 1 ? 0 : classes[begin * m->layout.pitch_y] & m->mask;
        const REAL w = s->numbers[NONLINEAR_NUMBERS * own + NONLINEAR_W];
        const REAL *of = s->table + medium_closure_at(m->nclasses, m->nclosures, face, own);
        const REAL closure[4] = {of[0], of[1], 0, of[3]};
        REAL *g = &s->scratch->g[side][begin];
        REAL *d = &s->scratch->d[side][begin];
        REAL u[ROWS], temperature[ROWS], conductivity[ROWS];
        for (n = 0; begin + n < nrows; n++) {
            if (m->nclasses > 1 && (classes[(begin + n) * m->layout.pitch_y] & m->mask) != own) {
                break;
            }
            u[n] = cells[(begin + n) * s->layout->pitch_y];
        }
        if (m->d_patch[face] != NULL || of[2] != 0) { /* patched or radiating */
            for (int64_t r = 0; r < n; r++) {
                const struct cell cell = cell_at(s, i, j + begin + r, k);
                g[r] = cross(s, &cell, face, &d[r]);
            }
            continue;
        }
        const int64_t whole = (n + LINE - 1) / LINE * LINE;
        for (int64_t r = n; r < whole; r++) {
            u[r] = u[0];
        }
        lookup_conduct(lookup_of(s, own), u, whole, temperature, conductivity);
#pragma omp simd
        for (int64_t r = 0; r < whole; r++) {
            g[r] = conductivity[r] / w;
            d[r] = NAMED(nonlinear_face)(closure, g[r], temperature[r]);
        }
    }
}

static void step_row(const struct stencil *s, const struct box *tile, int64_t j, int64_t k,
                     bool stream)
{
    const struct layout *l = s->layout;
    const struct layout *of_class = &s->medium->layout;
    const int64_t at = layout_index(l, tile->lo[AXIS_X], j, k);
    const int64_t step[AXIS_COUNT] = {1, l->pitch_y, l->pitch_z};
    const int64_t class_step[AXIS_COUNT] = {1, of_class->pitch_y, of_class->pitch_z};
    const int64_t r = j - tile->lo[AXIS_Y] + 1;
    const int64_t beside = s->alone[AXIS_Y] ? 0 : 1;
    struct row row = {
        .first = {tile->lo[AXIS_X], j, k},
        .n = box_extent(tile, AXIS_X),
        .of_tile = j - tile->lo[AXIS_Y],
        .u = s->in + at,
        .out = s->out + at,
        .base = (s->corrects ? s->out : s->in) + at,
        .classes = s->medium->d_class + layout_index(of_class, tile->lo[AXIS_X], j, k),
        .theta = &s->scratch->theta[k & 1][r][PAD],
        .ym = &s->scratch->theta[k & 1][r - beside][PAD],
        .yp = &s->scratch->theta[k & 1][r + beside][PAD],
        .z = &s->scratch->theta[(k + 1) & 1][r][PAD],
        .temperature = s->medium->perfused ? &s->scratch->temperature[r][PAD] : NULL,
        .fetch = l->pitch_y * (j + FETCH_ROWS <= tile->hi[AXIS_Y]
                                   ? FETCH_ROWS
                                   : tile->lo[AXIS_Y] - 1 - j)}; /* evaluated after all */
    row.streamed = stream && stream_cells_to_line(row.out, sizeof(REAL)) == 0;
    for (int face = 0; face < FACE_COUNT; face++) {
        const int axis = face / 2;
        const int sign = s->alone[axis] ? 0 : face % 2 == 0 ? -1 : 1;
        const int64_t ends[AXIS_COUNT] = {sign < 0 ? tile->lo[AXIS_X] : tile->hi[AXIS_X] - 1, j, k};
        row.step[face] = sign * step[axis];
        row.to_class[face] = sign * class_step[axis];
        row.on[face] =
            sign != 0 && s->closed[face] && ends[axis] == (sign < 0 ? 0 : l->cells[axis] - 1);
        row.on_any = row.on_any || (axis != AXIS_X && row.on[face]);
    }
    if (row.fetch > 0) { /* what that row reads besides the cells above */
        const REAL *next = row.u + row.step[FACE_Z_MAX] + row.fetch;
        const uint8_t *classes = row.classes + FETCH_ROWS * of_class->pitch_y;
        if (!row.on[FACE_X_MIN]) {
            stream_fetch(STREAM_SECOND_LEVEL, next - 1);
        }
        if (!row.on[FACE_X_MAX]) {
            stream_fetch(STREAM_SECOND_LEVEL, next + row.n);
        }
        for (int64_t i = 0; s->medium->nclasses > 1 && i < row.n; i += STREAM_LINE_BYTES) {
            stream_fetch(STREAM_SECOND_LEVEL, classes + row.to_class[FACE_Z_MAX] + i);
        }
    }
    step_lines(s, &row);
}

static void step_tile(const struct stencil *s, const struct box *tile, struct schedule schedule)
{
    const int64_t *lo = tile->lo;
    const int64_t *hi = tile->hi;
    const struct layout *l = s->layout;
    for (int64_t j = lo[AXIS_Y]; j < hi[AXIS_Y]; j++) {
        evaluate_row(s, tile, j, lo[AXIS_Z] - 1, 0);
    }
    for (int64_t j = lo[AXIS_Y] - 1; j <= hi[AXIS_Y]; j++) {
        evaluate_row(s, tile, j, lo[AXIS_Z], 0);
    }
    for (int64_t k = lo[AXIS_Z]; k < hi[AXIS_Z]; k++) {
        for (int side = 0; side < SIDE_COUNT; side++) {
            close_rows(s, tile, side, k);
        }
        for (int64_t j = lo[AXIS_Y]; j < hi[AXIS_Y]; j++) {
            step_row(s, tile, j, k, schedule.stream);
            if (k + 1 < hi[AXIS_Z]) {
                evaluate_ends(s, tile, j, k + 1);
            }
        }
        if (k + 1 < hi[AXIS_Z]) {
            /* meanwhile the first rows of the plane after that are fetched */
            const int64_t first = k + 2 < hi[AXIS_Z] ? l->pitch_z + l->pitch_y : 0;
            const int64_t second =
                k + 2 < hi[AXIS_Z] ? l->pitch_z - (hi[AXIS_Y] - lo[AXIS_Y] - 1) * l->pitch_y : 0;
            evaluate_row(s, tile, lo[AXIS_Y] - 1, k + 1, first);
            evaluate_row(s, tile, hi[AXIS_Y], k + 1, second);
        }
    }
}

/* For single cells. */
static struct stencil cells_of(const struct layout *layout, const struct device_medium *m,
                               const bool *closed, void *out, const void *in)
{
    const REAL *table = m->d_table;
    return (struct stencil){
        .layout = layout,
        .medium = m,
        .closed = closed,
        .alone = {false, m->layout.pitch_y == 0, m->layout.pitch_z == 0},
        .table = table,
        .numbers = table + nonlinear_class_at(m->nclasses, m->nclosures, 0),
        .segments = table + nonlinear_segments_at(m->nclasses, m->nclosures, m->nsegments, 0),
        .out = out,
        .in = in};
}

static struct stencil stencil_of(const struct step_call *c, struct tally *tally,
                                 struct step_scratch *scratch)
{
    const struct device_medium *m = &c->args->medium;
    struct stencil s = cells_of(c->layout, m, c->args->closed, c->out, c->in);
    s.corrects = c->args->corrects;
    s.tally = tally;
    s.scratch = scratch;
    s.lookup = scratch->lookup;
    s.reads_classes = !m->one_curve || m->perfused;
    for (int of = 1; of < m->nclasses; of++) {
        s.reads_classes =
            s.reads_classes || s.table[medium_cell_at(of) + 1] != s.table[medium_cell_at(0) + 1];
    }
    for (int n = 0; n < LOOKUPS; n++) {
        s.lookup[n].segments = NULL;
    }
    return s;
}
