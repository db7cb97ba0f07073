/* One cell of a multigrid for div(k grad e) = -r: the expressions that every backend evaluates
 * (docs/reference/numerics.md#steady-states).
 *
 * A grid stores the conductance of the lower face of each cell per axis; that of a closed upper end
 * lies in the first layer of the halo. In a uniform medium all quantities are per volume instead,
 * and conductances and weights are tables along the axes. Values beyond closed faces are 0.
 * Divisions are those of IEEE 754. Included by C and by HIP sources. */
#pragma once

#include "base/box.h"
#include "kernels/cell/combine_cell.h"
#include "kernels/cell/inline.h"
#include "kernels/coefficients.h"

/* One grid on one rank. All arrays are float32 in device memory and of `layout`, which has one
 * layer of halo or two on each active axis, also beyond closed faces, where they hold 0. */
struct multigrid {
    struct layout layout;
    bool active[AXIS_COUNT];   /* the axis conducts heat */
    bool wraps[AXIS_COUNT];    /* periodic, and this rank has all its cells */
    bool closed[FACE_COUNT];   /* no cells beyond it, on no rank */
    int children[AXIS_COUNT];  /* cells of the next finer grid per cell, 1 or 2 */
    float *d_g[AXIS_COUNT];    /* conductance of the lower face */
    float *d_w[FACE_COUNT];    /* weight, for the children next to the face, of the cell beyond it;
                                  NULL: the finest grid */
    float *d_line[AXIS_COUNT]; /* of a uniform medium, in place of d_g and d_w: [LINES][cells of the
                                  axis]; else NULL */
    float
        *d_sink; /* NULL, or, times `sink`, a conductance of each cell to e = 0; not with d_line */
    float sink;
};

/* Of the cells of an axis: conductances of their faces, the weights that d_w has, and the share of
 * the lower child in the mean of both. Zero on an axis that does not conduct. */
enum line { LINE_LOW, LINE_HIGH, LINE_WEIGHT_LOW, LINE_WEIGHT_HIGH, LINE_SHARE, LINES };

KERNEL_INLINE float multigrid_line(const struct multigrid *m, int axis, int line, int64_t at)
{
    return m->d_line[axis][line * m->layout.cells[axis] + at];
}

KERNEL_INLINE int64_t multigrid_step(const struct multigrid *m, int axis)
{
    return axis == 0 ? 1 : axis == 1 ? m->layout.pitch_y : m->layout.pitch_z;
}

/* Elements from cell `at` of `axis` to the cell before (-1) or after it (+1). */
KERNEL_INLINE int64_t multigrid_beside(const struct multigrid *m, int axis, int64_t at, int toward)
{
    const int64_t n = m->layout.cells[axis];
    const bool around = m->wraps[axis] && (toward < 0 ? at == 0 : at == n - 1);
    return (around ? toward * (1 - n) : toward) * multigrid_step(m, axis);
}

/* Elements from a cell to its neighbours. */
struct multigrid_around {
    int64_t low[AXIS_COUNT], high[AXIS_COUNT];
};
KERNEL_INLINE struct multigrid_around multigrid_around(const struct multigrid *m,
                                                       const int64_t cell[AXIS_COUNT])
{
    struct multigrid_around around;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        around.low[axis] = multigrid_beside(m, axis, cell[axis], -1);
        around.high[axis] = multigrid_beside(m, axis, cell[axis], 1);
    }
    return around;
}

/* The heat that flows into a cell, and the sum of its conductances. e: NULL: 0. */
struct multigrid_flow {
    float heat, total;
};
KERNEL_INLINE struct multigrid_flow multigrid_flow(const struct multigrid *m, const float *e,
                                                   const struct multigrid_around *around,
                                                   const int64_t cell[AXIS_COUNT], int64_t element)
{
    const bool lines = m->d_line[0] != NULL;
    struct multigrid_flow flow = {0, 0};
    if (m->d_sink != NULL) {
        flow.total = m->sink * m->d_sink[element];
        flow.heat = e != NULL ? -flow.total * e[element] : 0;
    }
    for (int axis = AXIS_COUNT - 1; axis >= 0; axis--) {
        if (m->active[axis]) {
            const int64_t low = element + around->low[axis];
            const int64_t high = element + around->high[axis];
            const float g_low =
                lines ? multigrid_line(m, axis, LINE_LOW, cell[axis]) : m->d_g[axis][element];
            const float g_high =
                lines ? multigrid_line(m, axis, LINE_HIGH, cell[axis]) : m->d_g[axis][high];
            flow.total += g_low + g_high;
            if (e != NULL) {
                const float from_high = fmaf(g_high, e[high] - e[element], flow.heat);
                flow.heat = fmaf(g_low, e[low] - e[element], from_high);
            }
        }
    }
    return flow;
}

KERNEL_INLINE float multigrid_inverse(float total)
{
    return total > 0 ? 1 / total : 0;
}

/* A step of Jacobi's method. */
KERNEL_INLINE float multigrid_relaxed(const struct multigrid *m, const float *e, const float *r,
                                      float weight, const struct multigrid_around *around,
                                      const int64_t cell[AXIS_COUNT], int64_t element)
{
    const struct multigrid_flow flow = multigrid_flow(m, e, around, cell, element);
    const float change = (r[element] + flow.heat) * multigrid_inverse(flow.total);
    return fmaf(weight, change, e != NULL ? e[element] : 0);
}

/* --- coarser grids ---------------------------------------------------------------------------- */

/* The children of a cell on one axis: [first, first + count). */
struct multigrid_children {
    int64_t first, count;
};
KERNEL_INLINE struct multigrid_children multigrid_children(const struct multigrid *fine,
                                                           const struct multigrid *coarse, int axis,
                                                           int64_t at)
{
    const int64_t first = at * coarse->children[axis];
    const int64_t left = fine->layout.cells[axis] - first;
    const bool inside = at >= 0 && at < coarse->layout.cells[axis];
    const int64_t count = coarse->children[axis];
    return (struct multigrid_children){first, inside && left < count ? left : count};
}

/* The sum of the fine conductances on `axis` at the fine index `at`, over the children of the cell
 * on the other axes. */
KERNEL_INLINE float multigrid_sum(const struct multigrid *fine, const struct multigrid *coarse,
                                  int axis, int64_t at, const int64_t cell[AXIS_COUNT])
{
    const int u = (axis + 1) % AXIS_COUNT;
    const int v = (axis + 2) % AXIS_COUNT;
    const struct multigrid_children cu = multigrid_children(fine, coarse, u, cell[u]);
    const struct multigrid_children cv = multigrid_children(fine, coarse, v, cell[v]);
    const int64_t begin = fine->layout.origin + at * multigrid_step(fine, axis) +
                          cu.first * multigrid_step(fine, u) + cv.first * multigrid_step(fine, v);
    float sum = 0;
    for (int64_t n = 0; n < cu.count * cv.count; n++) {
        sum += fine->d_g[axis][begin + n % cu.count * multigrid_step(fine, u) +
                               n / cu.count * multigrid_step(fine, v)];
    }
    return sum;
}

/* Half the resistance between the two children on `axis` of the cell that has the index `at` there
 * and else those of `cell`; 0: it has one child, or there is no such cell. */
KERNEL_INLINE float multigrid_half(const struct multigrid *fine, const struct multigrid *coarse,
                                   int axis, int64_t at, const int64_t cell[AXIS_COUNT])
{
    const int64_t n = coarse->layout.cells[axis];
    const int64_t around = !coarse->wraps[axis] ? at : at < 0 ? at + n : at >= n ? at - n : at;
    const bool is_outside = around < 0 ? coarse->closed[2 * axis] : coarse->closed[2 * axis + 1];
    const struct multigrid_children c = multigrid_children(fine, coarse, axis, around);
    if (c.count < 2 || ((around < 0 || around >= n) && is_outside)) {
        return 0;
    }
    return 1 / (2 * multigrid_sum(fine, coarse, axis, c.first + 1, cell));
}

/* The conductances of the faces of a coarse cell, and its weights: in each child's column in
 * parallel, then those of face and half cells in series. */
KERNEL_INLINE void multigrid_coarsen(const struct multigrid *fine, const struct multigrid *coarse,
                                     int axis, const int64_t cell[AXIS_COUNT], int64_t element)
{
    const int64_t n = coarse->layout.cells[axis];
    if (!coarse->active[axis]) {
        return;
    }
    const float own = multigrid_half(fine, coarse, axis, cell[axis], cell);
    for (int side = 0; side < 2; side++) {
        const int64_t face = cell[axis] + side;
        const int64_t first = face * coarse->children[axis];
        const int64_t end = fine->layout.cells[axis];
        const int64_t at = first < end ? first : coarse->wraps[axis] ? 0 : end;
        const float other = multigrid_half(fine, coarse, axis, cell[axis] + 2 * side - 1, cell);
        const float g = 1 / (1 / multigrid_sum(fine, coarse, axis, at, cell) + own + other);
        if (side == 0 || (face == n && coarse->closed[2 * axis + 1])) {
            coarse->d_g[axis][element + side * multigrid_step(coarse, axis)] = g;
        }
        coarse->d_w[2 * axis + side][element] = g > 0 ? g * own : 0;
    }
}

/* The sum of the sinks of the children. */
KERNEL_INLINE float multigrid_sink(const struct multigrid *fine, const struct multigrid *coarse,
                                   const int64_t cell[AXIS_COUNT])
{
    const struct multigrid_children x = multigrid_children(fine, coarse, AXIS_X, cell[0]);
    const struct multigrid_children y = multigrid_children(fine, coarse, AXIS_Y, cell[1]);
    const struct multigrid_children z = multigrid_children(fine, coarse, AXIS_Z, cell[2]);
    const int64_t begin = fine->layout.origin + x.first + y.first * fine->layout.pitch_y +
                          z.first * fine->layout.pitch_z;
    float sum = 0;
    for (int64_t n = 0; n < x.count * y.count * z.count; n++) {
        sum += fine->d_sink[begin + n % x.count + n / x.count % y.count * fine->layout.pitch_y +
                            n / (x.count * y.count) * fine->layout.pitch_z];
    }
    return sum;
}

/* Where a fine cell lies in a coarse one, on one axis. */
struct multigrid_place {
    int64_t at;     /* index of the coarse cell */
    int side;       /* of the child in it */
    bool is_paired; /* a neighbour of the coarse cell has a weight */
};
KERNEL_INLINE struct multigrid_place multigrid_place(const struct multigrid *coarse, int axis,
                                                     int64_t fine)
{
    const int children = coarse->children[axis];
    const int64_t at = children == 2 ? fine >> 1 : fine;
    return (struct multigrid_place){at, (int)(fine - at * children),
                                    children == 2 && coarse->active[axis]};
}

/* The weight of the coarse cell beside. */
KERNEL_INLINE float multigrid_weight(const struct multigrid *coarse, int axis,
                                     const struct multigrid_place *place, int64_t element)
{
    return !place->is_paired ? 0
           : coarse->d_line[0] != NULL
               ? multigrid_line(coarse, axis, LINE_WEIGHT_LOW + place->side, place->at)
               : coarse->d_w[2 * axis + place->side][element];
}

/* The value of a fine cell, interpolated between those of coarse cells. */
KERNEL_INLINE float multigrid_interpolated(const struct multigrid *coarse, const float *e,
                                           const int64_t fine[AXIS_COUNT])
{
    struct multigrid_place place[AXIS_COUNT];
    int64_t element = coarse->layout.origin;
    float value[8];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        place[axis] = multigrid_place(coarse, axis, fine[axis]);
        element += place[axis].at * multigrid_step(coarse, axis);
    }
    int64_t away[AXIS_COUNT];
    float weight[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct multigrid_place *p = &place[axis];
        away[axis] = p->is_paired ? multigrid_beside(coarse, axis, p->at, 2 * p->side - 1) : 0;
        weight[axis] = multigrid_weight(coarse, axis, p, element);
    }
    for (int n = 0; n < 8; n++) {
        value[n] =
            e[element + (n & 1 ? away[0] : 0) + (n & 2 ? away[1] : 0) + (n & 4 ? away[2] : 0)];
    }
    for (int axis = 0, half = 4; axis < AXIS_COUNT; axis++, half /= 2) {
        for (int n = 0; n < half; n++) {
            value[n] = fmaf(weight[axis], value[2 * n + 1] - value[2 * n], value[2 * n]);
        }
    }
    return value[0];
}

/* The share of a coarse cell in the children, on one axis, of its neighbour `away` (-1 to 1). */
KERNEL_INLINE float multigrid_share(const struct multigrid *coarse, int axis, int away, int side,
                                    int64_t neighbour)
{
    const bool is_paired = coarse->children[axis] == 2 && coarse->active[axis];
    const float weight = is_paired ? coarse->d_w[2 * axis + side][neighbour] : 0;
    return away == 0 ? 1 - weight : weight;
}

/* A coarse cell or a neighbour of it on one axis: `away`, the elements from the cell to it; and its
 * children in which the cell has a share, on the sides [first, end). The child on side 0 is `begin`
 * elements from the first cell of the fine grid. */
struct multigrid_part {
    int64_t away, begin;
    int first, end;
};
struct multigrid_reach {
    struct multigrid_part low, own, high;
};
KERNEL_INLINE struct multigrid_part multigrid_part(const struct multigrid *fine,
                                                   const struct multigrid *coarse, int axis,
                                                   int64_t cell, int toward)
{
    const int64_t n = coarse->layout.cells[axis];
    const bool is_paired = coarse->children[axis] == 2 && coarse->active[axis];
    const bool is_last = toward < 0 ? cell == 0 : cell == n - 1;
    const bool is_outside = is_last && coarse->closed[toward < 0 ? 2 * axis : 2 * axis + 1];
    struct multigrid_part part = {0, 0, 0, 0};
    int64_t at = cell;
    if (toward != 0 && (!is_paired || is_outside)) {
        return part;
    }
    if (toward != 0) {
        part.away = multigrid_beside(coarse, axis, cell, toward);
        at = !is_last || !coarse->wraps[axis] ? cell + toward : toward < 0 ? n - 1 : 0;
    }
    const struct multigrid_children c = multigrid_children(fine, coarse, axis, at);
    part.begin = c.first * multigrid_step(fine, axis);
    part.first = toward < 0 ? 1 : 0; /* the one next to the cell */
    part.end = toward > 0 ? 1 : (int)c.count;
    return part;
}
KERNEL_INLINE struct multigrid_reach multigrid_reach(const struct multigrid *fine,
                                                     const struct multigrid *coarse, int axis,
                                                     int64_t cell)
{
    return (struct multigrid_reach){multigrid_part(fine, coarse, axis, cell, -1),
                                    multigrid_part(fine, coarse, axis, cell, 0),
                                    multigrid_part(fine, coarse, axis, cell, 1)};
}
KERNEL_INLINE struct multigrid_part multigrid_part_at(const struct multigrid_reach *reach, int away)
{
    return away < 0 ? reach->low : away > 0 ? reach->high : reach->own;
}

/* The sum over the children of a coarse cell's neighbour at `away` of their r times the shares of
 * the cell; `part`: of that neighbour on each axis. */
KERNEL_INLINE float multigrid_gathered_from(const struct multigrid *fine,
                                            const struct multigrid *coarse, const float *r,
                                            int64_t element, const int away[AXIS_COUNT],
                                            const struct multigrid_part part[AXIS_COUNT])
{
    const int64_t neighbour = element + part[0].away + part[1].away + part[2].away;
    const int64_t begin = fine->layout.origin + part[0].begin + part[1].begin + part[2].begin;
    float sum = 0;
    for (int z = part[2].first; z < part[2].end; z++) {
        const float share_z = multigrid_share(coarse, 2, away[2], z, neighbour);
        for (int y = part[1].first; y < part[1].end; y++) {
            const float share_y = multigrid_share(coarse, 1, away[1], y, neighbour);
            for (int x = part[0].first; x < part[0].end; x++) {
                const float share = multigrid_share(coarse, 0, away[0], x, neighbour);
                sum = fmaf(share * share_y * share_z,
                           r[begin + x + y * fine->layout.pitch_y + z * fine->layout.pitch_z], sum);
            }
        }
    }
    return sum;
}

/* The r of a coarse cell: the transpose of the interpolation. */
KERNEL_INLINE float multigrid_gathered(const struct multigrid *fine, const struct multigrid *coarse,
                                       const float *r, const int64_t cell[AXIS_COUNT],
                                       int64_t element)
{
    const struct multigrid_reach reach_x = multigrid_reach(fine, coarse, AXIS_X, cell[0]);
    const struct multigrid_reach reach_y = multigrid_reach(fine, coarse, AXIS_Y, cell[1]);
    const struct multigrid_reach reach_z = multigrid_reach(fine, coarse, AXIS_Z, cell[2]);
    float sum = 0;
    for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++) {
                const int away[AXIS_COUNT] = {x, y, z};
                const struct multigrid_part part[AXIS_COUNT] = {multigrid_part_at(&reach_x, x),
                                                                multigrid_part_at(&reach_y, y),
                                                                multigrid_part_at(&reach_z, z)};
                sum += multigrid_gathered_from(fine, coarse, r, element, away, part);
            }
        }
    }
    return sum;
}

/* The mean r of the children of a coarse cell. */
KERNEL_INLINE float multigrid_mean(const struct multigrid *fine, const struct multigrid *coarse,
                                   const float *r, const int64_t cell[AXIS_COUNT])
{
    float share[AXIS_COUNT][2];
    int64_t step[AXIS_COUNT]; /* to the upper child; one that is alone has all of the mean */
    int64_t begin = fine->layout.origin;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const struct multigrid_children c = multigrid_children(fine, coarse, axis, cell[axis]);
        share[axis][0] = multigrid_line(coarse, axis, LINE_SHARE, cell[axis]);
        share[axis][1] = 1 - share[axis][0];
        step[axis] = c.count > 1 ? multigrid_step(fine, axis) : 0;
        begin += c.first * multigrid_step(fine, axis);
    }
    float sum = 0;
    for (int n = 0; n < 8; n++) {
        const int x = n & 1;
        const int y = n >> 1 & 1;
        const int z = n >> 2;
        sum = fmaf(share[0][x] * share[1][y] * share[2][z],
                   r[begin + x * step[0] + y * step[1] + z * step[2]], sum);
    }
    return sum;
}

/* --- operations ------------------------------------------------------------------------------- */

/* X(name, layout of its cells): operations of operations.h but relax, ascend and gather_up, each
 * with its arguments and, in NAME_cell, the work of one owned cell. d_out is another array than the
 * inputs. The halo of e must be complete with edges and corners, for gather_up that of r and of the
 * coarse weights, for `coarsen` that of the fine conductances, two layers. */
#define MULTIGRID_OPERATIONS(X)                                                                    \
    X(interpolate, fine.layout)                                                                    \
    X(flow_out, grid.layout)                                                                       \
    MULTIGRID_PLAIN(X)
#define MULTIGRID_PLAIN(X) /* without other kernels */                                             \
    X(coarsen, coarse.layout)                                                                      \
    X(average, coarse.layout)

/* A step of Jacobi's method: e + weight (r + heat that flows in) / (sum of conductances and sink).
 */
struct relax_args {
    struct multigrid grid;
    float weight;
    const float *d_r;
    const float *d_e; /* NULL: 0 */
    float *d_out;
};
KERNEL_INLINE void relax_cell(const struct relax_args *a, const int64_t cell[AXIS_COUNT],
                              int64_t at)
{
    const struct multigrid_around around = multigrid_around(&a->grid, cell);
    a->d_out[at] = multigrid_relaxed(&a->grid, a->d_e, a->d_r, a->weight, &around, cell, at);
}

/* The heat that flows out of each cell; or what it then still lacks of d_b. */
struct flow_out_args {
    struct multigrid grid;
    const float *d_e, *d_b; /* d_b: NULL: none */
    float *d_out;
};
KERNEL_INLINE void flow_out_cell(const struct flow_out_args *a, const int64_t cell[AXIS_COUNT],
                                 int64_t at)
{
    const struct multigrid_around around = multigrid_around(&a->grid, cell);
    const float heat = multigrid_flow(&a->grid, a->d_e, &around, cell, at).heat;
    a->d_out[at] = a->d_b != NULL ? a->d_b[at] + heat : -heat;
}

/* Conductances, weights and sinks of the coarse grid. */
struct coarsen_args {
    struct multigrid fine, coarse;
};
KERNEL_INLINE void coarsen_cell(const struct coarsen_args *a, const int64_t cell[AXIS_COUNT],
                                int64_t at)
{
    /* not a loop: with constant axes gfx90a keeps the grids out of scratch memory */
    multigrid_coarsen(&a->fine, &a->coarse, AXIS_X, cell, at);
    multigrid_coarsen(&a->fine, &a->coarse, AXIS_Y, cell, at);
    multigrid_coarsen(&a->fine, &a->coarse, AXIS_Z, cell, at);
    if (a->coarse.d_sink != NULL) {
        a->coarse.d_sink[at] = multigrid_sink(&a->fine, &a->coarse, cell);
    }
}

/* r of the coarse grid from that of the fine one. */
struct gather_up_args {
    struct multigrid fine, coarse;
    const float *d_r;
    float *d_out;
};
KERNEL_INLINE void gather_up_cell(const struct gather_up_args *a, const int64_t cell[AXIS_COUNT],
                                  int64_t at)
{
    a->d_out[at] = multigrid_gathered(&a->fine, &a->coarse, a->d_r, cell, at);
}

/* The same in a uniform medium. */
struct average_args {
    struct multigrid fine, coarse;
    const float *d_r;
    float *d_out;
};
KERNEL_INLINE void average_cell(const struct average_args *a, const int64_t cell[AXIS_COUNT],
                                int64_t at)
{
    a->d_out[at] = multigrid_mean(&a->fine, &a->coarse, a->d_r, cell);
}

/* e of the fine grid: `factor` times that of the coarse one. */
struct interpolate_args {
    struct multigrid fine, coarse;
    float factor;
    const float *d_e;
    float *d_out;
};
KERNEL_INLINE void interpolate_cell(const struct interpolate_args *a,
                                    const int64_t cell[AXIS_COUNT], int64_t at)
{
    a->d_out[at] = a->factor * multigrid_interpolated(&a->coarse, a->d_e, cell);
}
