/* Operations of the multigrid, row by row. */
#include <string.h>

#include "kernels/cell/multigrid_cell.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"

/* A grid with tables that conducts on all axes. */
static bool has_lines(const struct multigrid *m)
{
    return m->d_line[0] != NULL && m->active[AXIS_X] && m->active[AXIS_Y] && m->active[AXIS_Z];
}

/* relax_cell between the ends of a row of such a grid, from e. */
static void relax_inside(const struct relax_args *a, const struct multigrid_around *around,
                         int64_t j, int64_t k, int64_t first)
{
    const struct multigrid *m = &a->grid;
    const int64_t n = m->layout.cells[AXIS_X];
    const int64_t south = around->low[AXIS_Y], north = around->high[AXIS_Y];
    const int64_t down = around->low[AXIS_Z], up = around->high[AXIS_Z];
    const float y[2] = {multigrid_line(m, AXIS_Y, LINE_LOW, j),
                        multigrid_line(m, AXIS_Y, LINE_HIGH, j)};
    const float z[2] = {multigrid_line(m, AXIS_Z, LINE_LOW, k),
                        multigrid_line(m, AXIS_Z, LINE_HIGH, k)};
    const float yz = z[0] + z[1] + (y[0] + y[1]);
    const float *const low = m->d_line[AXIS_X] + LINE_LOW * n;
    const float *const high = m->d_line[AXIS_X] + LINE_HIGH * n;
    const float *const e = a->d_e + first;
    const float *const r = a->d_r + first;
    float *const out = a->d_out + first;
    const float weight = a->weight;
#pragma omp simd
    for (int64_t i = 1; i < n - 1; i++) {
        const float c = e[i];
        float heat = fmaf(z[1], e[i + up] - c, 0);
        heat = fmaf(z[0], e[i + down] - c, heat);
        heat = fmaf(y[1], e[i + north] - c, heat);
        heat = fmaf(y[0], e[i + south] - c, heat);
        heat = fmaf(high[i], e[i + 1] - c, heat);
        heat = fmaf(low[i], e[i - 1] - c, heat);
        const float total = yz + (low[i] + high[i]);
        const float inverse = total > 0 ? 1 / total : 0;
        out[i] = fmaf(weight, (r[i] + heat) * inverse, c);
    }
}

/* Most of the time: between the ends of a row neighbours are at the same distances, so that cells
 * are elements of vectors. */
static void relax_row(const void *of, int64_t j, int64_t k)
{
    const struct relax_args a = *(const struct relax_args *)of; /* which stores do not change */
    const int64_t n = a.grid.layout.cells[AXIS_X];
    const int64_t first = layout_index(&a.grid.layout, 0, j, k);
    const struct multigrid_around around =
        multigrid_around(&a.grid, (const int64_t[]){n > 2 ? 1 : 0, j, k});
    relax_cell(&a, (const int64_t[]){0, j, k}, first);
    relax_cell(&a, (const int64_t[]){n - 1, j, k}, first + n - 1);
    if (has_lines(&a.grid) && a.d_e != NULL) {
        relax_inside(&a, &around, j, k, first);
        return;
    }
#pragma omp simd
    for (int64_t i = first + 1; i < first + n - 1; i++) {
        a.d_out[i] = multigrid_relaxed(&a.grid, a.d_e, a.d_r, a.weight, &around,
                                       (const int64_t[]){i - first, j, k}, i);
    }
}

enum status cpu_relax(struct queue *queue, const struct relax_args *args)
{
    return share_rows(&args->grid.layout, args, relax_row);
}

#define DEFINE(name, layout_of)                                                                    \
    static void name##_row(const void *of, int64_t j, int64_t k)                                   \
    {                                                                                              \
        const struct name##_args *args = of;                                                       \
        const struct layout *layout = &args->layout_of;                                            \
        for (int64_t i = 0; i < layout->cells[AXIS_X]; i++) {                                      \
            name##_cell(args, (const int64_t[]){i, j, k}, layout_index(layout, i, j, k));          \
        }                                                                                          \
    }                                                                                              \
    enum status cpu_##name(struct queue *queue, const struct name##_args *args)                    \
    {                                                                                              \
        return share_rows(&args->layout_of, args, name##_row);                                     \
    }
MULTIGRID_OPERATIONS(DEFINE)

/* --- combine: a part of a row at a time, whose operands become vectors of float64 ------------- */

enum { COMBINE_CELLS = 64 };

static void combine_load(const struct operand *operand, int64_t at, int n, double otherwise,
                         double *to)
{
    const struct operand of = *operand;
    const float *const narrow = (const float *)of.d_values + at;
    if (of.d_values != NULL && of.layout.precision == PRECISION_FLOAT64) {
        memcpy(to, (const double *)of.d_values + at, (size_t)n * sizeof *to);
        return;
    }
#pragma omp simd
    for (int i = 0; i < n; i++) {
        to[i] = of.d_values == NULL ? otherwise : (double)narrow[i];
    }
}

static void combine_cells(const void *of, int64_t j, int64_t k)
{
    const struct combine_args *a = of;
    const struct combine_row row = combine_row(a, j, k);
    for (int64_t first = 0; first < a->layout.cells[AXIS_X]; first += COMBINE_CELLS) {
        const int64_t left = a->layout.cells[AXIS_X] - first;
        const int n = left < COMBINE_CELLS ? (int)left : COMBINE_CELLS;
        double x[COMBINE_CELLS], y[COMBINE_CELLS], z[COMBINE_CELLS];
        combine_load(&a->x, row.x + first, n, 1, x);
        combine_load(&a->y, row.y + first, n, 1, y);
        combine_load(&a->z, row.z + first, n, 0, z);
        for (int i = 0; i < n && a->medium.nclasses > 0; i++) {
            y[i] = combine_y(a, &row, first + i);
        }
#pragma omp simd
        for (int i = 0; i < n; i++) {
            z[i] = fma(a->factor * x[i], y[i], z[i]);
        }
        for (int i = 0; i < n; i++) {
            combine_write(a, row.out + first + i, z[i]);
        }
    }
}

enum status cpu_combine(struct queue *queue, const struct combine_args *args)
{
    return share_rows(&args->layout, args, combine_cells);
}

/* --- gather_up: between the ends of a row cells are elements of vectors ---------------------- */

enum { GATHER_CELLS = 64 };

/* multigrid_share of the cells of a row: one + factor weight, which has one rounding at most. */
struct gather_share {
    float one, factor;
    const float *weight; /* of the first cell */
};
static struct gather_share gather_share(const struct multigrid *coarse, int axis, int away,
                                        int side, int64_t first)
{
    static const float none[GATHER_CELLS];
    const bool is_paired = coarse->children[axis] == 2 && coarse->active[axis];
    return (struct gather_share){away == 0 ? 1 : 0, away == 0 ? -1 : 1,
                                 is_paired ? coarse->d_w[2 * axis + side] + first : none};
}

/* Add the products of the shares with r of one child of each of n cells, which are `stride` apart,
 * a constant, to their sums. */
KERNEL_INLINE void gather_child(const struct gather_share share[AXIS_COUNT], const float *r,
                                int stride, int n, float *sum)
{
    const struct gather_share x = share[0], y = share[1], z = share[2];
#pragma omp simd
    for (int i = 0; i < n; i++) {
        const float of_x = fmaf(x.factor, x.weight[i], x.one);
        const float of_y = fmaf(y.factor, y.weight[i], y.one);
        const float of_z = fmaf(z.factor, z.weight[i], z.one);
        sum[i] = fmaf(of_x * of_y * of_z, r[stride * i], sum[i]);
    }
}

/* Add what n cells from `first` on, element `at`, have of their neighbours at `away`. */
static void gather_neighbour(const struct gather_up_args *a, const struct multigrid_part *part,
                             const int away[AXIS_COUNT], int64_t at, int n, float *total)
{
    const struct multigrid *coarse = &a->coarse;
    const int64_t neighbour = at + part[0].away + part[1].away + part[2].away;
    const float *const r =
        a->d_r + a->fine.layout.origin + part[0].begin + part[1].begin + part[2].begin;
    struct gather_share share[AXIS_COUNT];
    float sum[GATHER_CELLS] = {0};
    for (int z = part[2].first; z < part[2].end; z++) {
        share[2] = gather_share(coarse, 2, away[2], z, neighbour);
        for (int y = part[1].first; y < part[1].end; y++) {
            share[1] = gather_share(coarse, 1, away[1], y, neighbour);
            for (int x = part[0].first; x < part[0].end; x++) {
                share[0] = gather_share(coarse, 0, away[0], x, neighbour);
                const float *const child =
                    r + x + y * a->fine.layout.pitch_y + z * a->fine.layout.pitch_z;
                if (coarse->children[0] == 2) {
                    gather_child(share, child, 2, n, sum);
                } else {
                    gather_child(share, child, 1, n, sum);
                }
            }
        }
    }
#pragma omp simd
    for (int i = 0; i < n; i++) {
        total[i] += sum[i];
    }
}

static void gather_up_row(const void *of, int64_t j, int64_t k)
{
    const struct gather_up_args *a = of;
    const int64_t last = a->coarse.layout.cells[AXIS_X] - 1;
    const int64_t row = layout_index(&a->coarse.layout, 0, j, k);
    const struct multigrid_reach y = multigrid_reach(&a->fine, &a->coarse, AXIS_Y, j);
    const struct multigrid_reach z = multigrid_reach(&a->fine, &a->coarse, AXIS_Z, k);
    gather_up_cell(a, (const int64_t[]){0, j, k}, row);
    gather_up_cell(a, (const int64_t[]){last, j, k}, row + last);
    for (int64_t i = 1; i < last; i += GATHER_CELLS) {
        const struct multigrid_reach x = multigrid_reach(&a->fine, &a->coarse, AXIS_X, i);
        const int n = last - i < GATHER_CELLS ? (int)(last - i) : GATHER_CELLS;
        float sum[GATHER_CELLS] = {0};
        for (int at = 0; at < 27; at++) { /* x first, as multigrid_gathered */
            const int away[AXIS_COUNT] = {at % 3 - 1, at / 3 % 3 - 1, at / 9 - 1};
            const struct multigrid_part part[AXIS_COUNT] = {multigrid_part_at(&x, away[0]),
                                                            multigrid_part_at(&y, away[1]),
                                                            multigrid_part_at(&z, away[2])};
            gather_neighbour(a, part, away, row + i, n, sum);
        }
        memcpy(a->d_out + row + i, sum, (size_t)n * sizeof *sum);
    }
}

enum status cpu_gather_up(struct queue *queue, const struct gather_up_args *args)
{
    return share_rows(&args->coarse.layout, args, gather_up_row);
}

/* On one axis: weights of coarse cells beside, the elements to them, and those to the own one. */
struct between {
    float weight;
    int64_t own, away;
};
static struct between between(const struct multigrid *coarse, int axis, int64_t fine)
{
    const struct multigrid_place p = multigrid_place(coarse, axis, fine);
    return (struct between){
        .weight = multigrid_weight(coarse, axis, &p, 0),
        .own = p.at * multigrid_step(coarse, axis),
        .away = p.is_paired ? multigrid_beside(coarse, axis, p.at, 2 * p.side - 1) : 0};
}

/* interpolate_cell of a row where has_lines, and coarse cells have two children in x. */
static void interpolate_lines(const void *of, int64_t j, int64_t k)
{
    const struct interpolate_args a = *(const struct interpolate_args *)of;
    const int64_t last = a.coarse.layout.cells[AXIS_X] - 1;
    const int64_t n = a.fine.layout.cells[AXIS_X];
    const struct between y = between(&a.coarse, AXIS_Y, j);
    const struct between z = between(&a.coarse, AXIS_Z, k);
    const float *const e = a.d_e + a.coarse.layout.origin + y.own + z.own;
    const float *const low = a.coarse.d_line[AXIS_X] + LINE_WEIGHT_LOW * (last + 1);
    const float *const high = a.coarse.d_line[AXIS_X] + LINE_WEIGHT_HIGH * (last + 1);
    float *const out = a.d_out + layout_index(&a.fine.layout, 0, j, k);
    for (int64_t i = 0; i < n; i = i == 1 && last > 1 ? 2 * last : i + 1) {
        const int64_t cell[AXIS_COUNT] = {i, j, k};
        interpolate_cell(&a, cell, out + i - a.d_out);
    }
#pragma omp simd
    for (int64_t at = 1; at < last; at++) {
        float v[2][4]; /* of the children, in the coarse rows around */
        for (int row = 0; row < 4; row++) {
            const float *const c = e + at + (row & 1 ? y.away : 0) + (row & 2 ? z.away : 0);
            v[0][row] = fmaf(low[at], c[-1] - c[0], c[0]);
            v[1][row] = fmaf(high[at], c[1] - c[0], c[0]);
        }
        for (int child = 0; child < 2; child++) {
            const float near = fmaf(y.weight, v[child][1] - v[child][0], v[child][0]);
            const float far = fmaf(y.weight, v[child][3] - v[child][2], v[child][2]);
            out[2 * at + child] = a.factor * fmaf(z.weight, far - near, near);
        }
    }
}

enum status cpu_ascend(struct queue *queue, const struct ascend_args *args)
{
    const struct interpolate_args start = {args->fine, args->coarse, args->factor, args->d_e,
                                           args->d_out};
    const bool lines = has_lines(&args->coarse) && args->coarse.children[AXIS_X] == 2;
    struct relax_args step = {.grid = args->fine, .d_r = args->d_r};
    TRY(lines ? share_rows(&args->fine.layout, &start, interpolate_lines)
              : cpu_interpolate(queue, &start));
    for (int n = 0; n < args->nsteps; n++) {
        step.weight = args->weight[n];
        step.d_e = n % 2 == 0 ? args->d_out : args->d_other;
        step.d_out = n % 2 == 0 ? args->d_other : args->d_out;
        TRY(cpu_relax(queue, &step));
    }
    return STATUS_OK;
}

enum status cpu_cycle(struct queue *queue, const struct cycle_args *args)
{
    const struct cycle_grid *grid = args->grid;
    const int last = args->count - 1;
    for (int n = 0; n < last; n++) {
        const struct average_args down = {grid[n].m, grid[n + 1].m, grid[n].d_r, grid[n + 1].d_r};
        TRY(cpu_average(queue, &down));
    }
    TRY(cpu_relax(queue, &(struct relax_args){.grid = grid[last].m,
                                              .weight = 1,
                                              .d_r = grid[last].d_r,
                                              .d_out = grid[last].d_e}));
    for (int n = last - 1; n >= 0; n--) {
        struct ascend_args up = {.fine = grid[n].m,
                                 .coarse = grid[n + 1].m,
                                 .factor = 1,
                                 .nsteps = sizeof args->weight / sizeof *args->weight,
                                 .d_r = grid[n].d_r,
                                 .d_e = grid[n + 1].d_e,
                                 .d_out = grid[n].d_e,
                                 .d_other = grid[n].d_other};
        memcpy(up.weight, args->weight, sizeof args->weight);
        TRY(cpu_ascend(queue, &up));
    }
    return STATUS_OK;
}

/* The corrections and residuals of the cells [begin, end) of a row between its ends, whose first
 * elements are x0 and e0; without heat of sources. */
static void correct_inside(const struct correct_args *a, const struct correct_side side[FACE_COUNT],
                           int64_t x0, int64_t e0, int64_t begin, int64_t end, uint32_t most[2])
{
    const double *const x = a->d_in + x0;
    const float *const e = a->d_e + e0;
    double *const out = a->d_out + x0;
    float *const r = a->d_r + e0;
    const double rx = a->r[0], ry = a->r[1], rz = a->r[2];
    const struct correct_side south = side[2], north = side[3], down = side[4], up = side[5];
    uint32_t most_e = most[0];
    uint32_t most_r = most[1];
#define BESIDE(s) heat_outside_float64(x[i + (s).x] + (double)e[i + (s).e], (s).a, (s).b)
#pragma omp simd reduction(max : most_e, most_r)
    for (int64_t i = begin; i < end; i++) {
        const double c = x[i] + (double)e[i];
        const double west = x[i - 1] + (double)e[i - 1];
        const double east = x[i + 1] + (double)e[i + 1];
        const float change = (float)heat_cell_float64(
            0, c, west, east, BESIDE(south), BESIDE(north), BESIDE(down), BESIDE(up), rx, ry, rz);
        const uint32_t of_r = correct_bits(change);
        const uint32_t of_e = correct_bits(e[i]);
        most_r = of_r > most_r ? of_r : most_r;
        most_e = of_e > most_e ? of_e : most_e;
        out[i] = c;
        r[i] = change;
    }
#undef BESIDE
    most[0] = most_e;
    most[1] = most_r;
}

static void correct_row(const struct correct_args *args, int64_t j, int64_t k, uint32_t largest[2])
{
    const struct correct_args a = *args; /* which stores do not change */
    const int64_t n = a.layout.cells[AXIS_X];
    const int64_t x0 = layout_index(&a.layout, 0, j, k);
    const int64_t e0 = layout_index(&a.grid.layout, 0, j, k);
    uint32_t most_e = 0;
    uint32_t most_r = 0;
    for (int64_t begin = 0; begin < n;) { /* the ends, and the cells between them */
        const int64_t end = begin == 0 || begin == n - 1 ? begin + 1 : n - 1;
        struct correct_side side[FACE_COUNT];
        for (int f = 0; f < FACE_COUNT; f++) {
            side[f] = correct_side(&a, f, (const int64_t[]){begin, j, k});
        }
        if (begin > 0 && end < n && a.d_in != NULL && a.d_e != NULL && a.d_heat == NULL) {
            correct_inside(&a, side, x0, e0, begin, end, largest);
            begin = end;
            continue;
        }
#pragma omp simd reduction(max : most_e, most_r)
        for (int64_t i = begin; i < end; i++) {
            const double c = correct_value(&a, x0 + i, e0 + i);
            const double change = heat_cell_float64(a.d_heat != NULL ? a.d_heat[x0 + i] : 0, c,
                                                    correct_beside(&a, &side[0], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[1], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[2], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[3], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[4], x0 + i, e0 + i),
                                                    correct_beside(&a, &side[5], x0 + i, e0 + i),
                                                    a.r[0], a.r[1], a.r[2]);
            const uint32_t r = correct_bits(a.d_r[e0 + i] = (float)change);
            most_r = r > most_r ? r : most_r;
            if (a.d_e != NULL) {
                const uint32_t e = correct_bits(a.d_e[e0 + i]);
                most_e = e > most_e ? e : most_e;
                a.d_out[x0 + i] = c;
            }
        }
        begin = end;
    }
    largest[0] = most_e > largest[0] ? most_e : largest[0];
    largest[1] = most_r > largest[1] ? most_r : largest[1];
}

enum status cpu_correct(struct queue *queue, const struct correct_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    const int64_t ny = args->layout.cells[AXIS_Y];
    const int64_t nrows = ny * args->layout.cells[AXIS_Z];
    uint32_t most_e = args->d_largest[0];
    uint32_t most_r = args->d_largest[1];
#pragma omp parallel for schedule(static)                                                          \
    reduction(max                                                                                  \
              : most_e, most_r) if (share_is_worthwhile(&owned, 1))
    for (int64_t row = 0; row < nrows; row++) {
        uint32_t largest[2] = {most_e, most_r};
        correct_row(args, row % ny, row / ny, largest);
        most_e = largest[0];
        most_r = largest[1];
    }
    args->d_largest[0] = most_e;
    args->d_largest[1] = most_r;
    const struct average_args means = {args->grid, args->coarse, args->d_r, args->d_mean};
    return args->d_mean == NULL ? STATUS_OK : cpu_average(queue, &means);
}
