/* Operations of the multigrid on one grid, and those that need no speed; see transfers.hip.cpp. */
#include "kernels/hip/device/visit.h"

#include "kernels/cell/multigrid_cell.h"
#include "kernels/hip/multigrid/smooth.h"

#define DEFINE(name, layout_of)                                                                    \
    struct name##_body {                                                                           \
        struct name##_args args;                                                                   \
        __device__ void operator()(int64_t i, int64_t j, int64_t k) const                          \
        {                                                                                          \
            const int64_t cell[AXIS_COUNT] = {i, j, k};                                            \
            name##_cell(&args, cell, element_at(args.layout_of, i, j, k));                         \
        }                                                                                          \
    };                                                                                             \
    enum status hip_##name(struct queue *queue, const struct name##_args *args)                    \
    {                                                                                              \
        return visit(queue, layout_owned(&args->layout_of), name##_body{*args}, #name);            \
    }
MULTIGRID_PLAIN(DEFINE)

/* --- combine: a thread reads its cells of a row before it writes --- */

enum { COMBINE_CELLS = 4 };

/* combine_operand of a thread's cells: the loads of one kind are under way at the same time. */
template <typename VALUE>
static __device__ __forceinline__ void load_kind(const cell_sweep &s, int64_t i, const void *values,
                                                 int64_t row, double (&to)[COMBINE_CELLS])
{
    const VALUE *const from = static_cast<const VALUE *>(values) + row;
    for_part<COMBINE_CELLS>(s, i, [&](int c, int64_t at) { to[c] = (double)from[at]; });
}
static __device__ __forceinline__ void load_operand(const cell_sweep &s, int64_t i,
                                                    const operand &of, int64_t row,
                                                    double otherwise, double (&to)[COMBINE_CELLS])
{
    if (of.d_values == nullptr) {
        for_part<COMBINE_CELLS>(s, i, [&](int c, int64_t) { to[c] = otherwise; });
    } else if (of.layout.precision == PRECISION_FLOAT64) {
        load_kind<double>(s, i, of.d_values, row, to);
    } else {
        load_kind<float>(s, i, of.d_values, row, to);
    }
}

static __global__ __launch_bounds__(VISIT_THREADS) void combine_parts(const cell_sweep s,
                                                                      const combine_args a)
{
    visit_rows<COMBINE_CELLS>(s, [&](int64_t i, int64_t j, int64_t k) {
        const struct combine_row row = combine_row(&a, j, k);
        double x[COMBINE_CELLS], y[COMBINE_CELLS], z[COMBINE_CELLS];
        load_operand(s, i, a.x, row.x, 1, x);
        load_operand(s, i, a.z, row.z, 0, z);
        if (a.medium.nclasses > 0) {
            int of_class[COMBINE_CELLS];
            for_part<COMBINE_CELLS>(s, i, [&](int c, int64_t at) {
                of_class[c] = a.medium.d_class[row.of_class + at] & a.medium.mask;
            });
            for_part<COMBINE_CELLS>(s, i,
                                    [&](int c, int64_t) { y[c] = a.medium.d_weight[of_class[c]]; });
        } else {
            load_operand(s, i, a.y, row.y, 1, y);
        }
        for_part<COMBINE_CELLS>(s, i, [&](int c, int64_t at) {
            combine_write(&a, row.out + at, fma(a.factor * x[c], y[c], z[c]));
        });
    });
}

/* Zeros to memory without gaps: the runtime writes them three times as fast as the kernel. */
static bool clears_memory(const struct combine_args *a)
{
    return a->factor == 0 && a->x.d_values == nullptr && a->y.d_values == nullptr &&
           a->z.d_values == nullptr && a->medium.nclasses == 0 && a->layout.cells[AXIS_Z] == 1 &&
           a->layout.cells[AXIS_X] == a->layout.pitch_y;
}

enum status hip_combine(struct queue *queue, const struct combine_args *args)
{
    const struct box cells = layout_owned(&args->layout);
    const cell_sweep s = sweep_of(&cells, VISIT_BLOCKS_MOST, COMBINE_CELLS);
    if (box_is_empty(&cells)) {
        return STATUS_OK;
    }
    if (clears_memory(args)) {
        const size_t bytes = precision_bytes(args->layout.precision);
        return hip_check(
            hipMemsetAsync(static_cast<char *>(args->d_out) + args->layout.origin * bytes, 0,
                           bytes * args->layout.pitch_y * args->layout.cells[AXIS_Y],
                           queue->stream),
            "combine");
    }
    combine_parts<<<s.nblocks, VISIT_THREADS, 0, queue->stream>>>(s, *args);
    return hip_check(hipGetLastError(), "combine");
}

/* --- correct: a lane marches in z through four columns of cells ---------------------------- */

enum { CORRECT_V = 2, CORRECT_ROWS = 2, CORRECT_TALL = 4, CORRECT_DEPTH = 64 };
constexpr int CORRECT_LEAST = ARCH_WAVE == 64 ? 3 : 4; /* waves, or blocks: no spills */

static __device__ __forceinline__ void raise(uint32_t *to, uint32_t value)
{
    for (int lanes = ARCH_WAVE / 2; lanes > 0; lanes /= 2) {
        const uint32_t other = arch_shift_down(value, lanes);
        value = other > value ? other : value;
    }
    if (arch_is_first_lane() && value > *(volatile uint32_t *)to) {
        atomicMax(to, value);
    }
}

struct alignas(16) two_values {
    double v[CORRECT_V];
};
struct alignas(8) two_changes {
    float v[CORRECT_V];
};

/* correct_value of two cells, and the change of x in them. */
template <bool CHANGES, bool READS>
static __device__ __forceinline__ two_values two_of(const correct_args &a, int64_t x, int64_t e,
                                                    two_changes &by)
{
    two_values value = {{a.constant, a.constant}};
    if (READS) {
        value = *reinterpret_cast<const two_values *>(a.d_in + x);
    }
    by = {{0, 0}};
    if (CHANGES) {
        by = *reinterpret_cast<const two_changes *>(a.d_e + e);
        value.v[0] += (double)by.v[0];
        value.v[1] += (double)by.v[1];
    }
    return value;
}

template <bool CHANGES, bool READS>
static __device__ __forceinline__ two_values two_beside(const correct_args &a,
                                                        const struct correct_side &side, int64_t x,
                                                        int64_t e, two_changes &by)
{
    two_values value = two_of<CHANGES, READS>(a, x + side.x, e + side.e, by);
    value.v[0] = heat_outside_float64(value.v[0], side.a, side.b);
    value.v[1] = heat_outside_float64(value.v[1], side.a, side.b);
    return value;
}

template <bool CHANGES>
static __device__ __forceinline__ void write_two(const correct_args &a, int64_t x, int64_t e,
                                                 int wide, const two_values &value,
                                                 const two_changes &change)
{
    if (wide > 1) {
        *reinterpret_cast<two_changes *>(a.d_r + e) = change;
    } else {
        a.d_r[e] = change.v[0];
    }
    if (CHANGES && wide > 1) {
        *reinterpret_cast<two_values *>(a.d_out + x) = value;
    } else if (CHANGES) {
        a.d_out[x] = value.v[0];
    }
}

static __device__ __forceinline__ void see(uint32_t &largest, bool on, float value)
{
    const uint32_t bits = on ? correct_bits(value) : 0;
    largest = bits > largest ? bits : largest;
}

/* Adds the cells of a plane to the mean of the children of a coarse cell, as multigrid_mean. */
struct correct_mean {
    float weight[CORRECT_ROWS][CORRECT_V], share[2], sum;

    __device__ __forceinline__ void begin(const multigrid &coarse, int64_t i, int64_t j)
    {
        const float x = multigrid_line(&coarse, AXIS_X, LINE_SHARE, i / 2);
        const float y = multigrid_line(&coarse, AXIS_Y, LINE_SHARE, j / 2);
        weight[0][0] = x * y;
        weight[0][1] = (1 - x) * y;
        weight[1][0] = x * (1 - y);
        weight[1][1] = (1 - x) * (1 - y);
    }
    __device__ __forceinline__ void add(const two_changes (&change)[CORRECT_ROWS], float z)
    {
#pragma unroll
        for (int row = 0; row < CORRECT_ROWS; row++) {
            sum = fmaf(weight[row][0] * z, change[row].v[0], sum);
            sum = fmaf(weight[row][1] * z, change[row].v[1], sum);
        }
    }
    __device__ __forceinline__ void take(const correct_args &a, int64_t i, int64_t j, int64_t k,
                                         const two_changes (&change)[CORRECT_ROWS])
    {
        const int children = a.coarse.children[AXIS_Z];
        const int64_t at = children == 2 ? k / 2 : k;
        const bool first = k == at * children;
        const bool last = k + 1 == (at + 1) * children || k + 1 == a.layout.cells[AXIS_Z];
        const float z = multigrid_line(&a.coarse, AXIS_Z, LINE_SHARE, at);
        sum = first ? 0 : sum;
        add(change, first ? z : 1 - z);
        if (first && last) { /* a child alone */
            add(change, 1 - z);
        }
        if (last) {
            a.d_mean[element_at(a.coarse.layout, i / 2, j / 2, at)] = sum;
        }
    }
};

/* The cells of a lane, and what is around them. */
struct correct_place {
    int64_t i, j, row_x, row_e; /* elements to the second row */
    int wide, tall;             /* cells and rows; of one row the second is the first again */
    bool starts, ends;          /* what is before, or after, the cells in x comes from memory */
    struct correct_side after, edge, south, north;

    __device__ __forceinline__ correct_place(const correct_args &a, unsigned across, unsigned up)
    {
        const int64_t *n = a.layout.cells;
        const int lane = (int)threadIdx.x % ARCH_WAVE;
        const unsigned wave = arch_first_lane_value(threadIdx.x / ARCH_WAVE);
        i = ((int64_t)(blockIdx.x % across) * ARCH_WAVE + lane) * CORRECT_V;
        j = ((int64_t)(blockIdx.x / across % up) * CORRECT_TALL + wave) * CORRECT_ROWS;
        wide = i >= n[0] || j >= n[1] ? 0 : i + 1 < n[0] ? 2 : 1;
        tall = j + 1 < n[1] ? 2 : 1;
        row_x = tall > 1 ? a.layout.pitch_y : 0;
        row_e = tall > 1 ? a.grid.layout.pitch_y : 0;
        starts = lane == 0;
        ends = lane == ARCH_WAVE - 1 || i + CORRECT_V >= n[0];
        const int64_t first[AXIS_COUNT] = {i, j, 0};
        const int64_t last[AXIS_COUNT] = {i + wide - 1, j + tall - 1, 0};
        after = correct_side(&a, 1, last);
        after.x += wide - 1;
        after.e += wide - 1;
        edge = starts ? correct_side(&a, 0, first) : after;
        south = correct_side(&a, 2, first);
        north = correct_side(&a, 3, last);
    }
};

/* The neighbours in x of two cells; left, right: those of other lanes. */
static __device__ __forceinline__ void beside_x(const correct_args &a, const correct_place &p,
                                                int64_t x, int64_t e, const two_values &c,
                                                double left, double right,
                                                double (&west)[CORRECT_V],
                                                double (&east)[CORRECT_V])
{
    const double outer = p.starts || p.ends ? correct_beside(&a, &p.edge, x, e) : 0;
    const double beyond = p.starts && p.ends ? correct_beside(&a, &p.after, x, e)
                          : p.ends           ? outer
                                             : right;
    west[0] = p.starts ? outer : left;
    west[1] = c.v[0];
    east[0] = p.wide > 1 ? c.v[1] : beyond;
    east[1] = beyond;
}

/* From the lanes beside this one, which all take part. */
static __device__ __forceinline__ void shift(const two_values (&centre)[CORRECT_ROWS],
                                             double (&left)[CORRECT_ROWS],
                                             double (&right)[CORRECT_ROWS])
{
#pragma unroll
    for (int row = 0; row < CORRECT_ROWS; row++) {
        left[row] = arch_shift_up(centre[row].v[1], 1);
        right[row] = arch_shift_down(centre[row].v[0], 1);
    }
}

/* Two cells of two rows per lane; lanes beyond the grid take part in shuffles only. */
template <bool CHANGES, bool READS, bool MEANS>
static __global__ __launch_bounds__(ARCH_WAVE *CORRECT_TALL, CORRECT_LEAST) void correct_columns(
    const struct correct_args a, const unsigned across, const unsigned up, const int depth)
{
    const correct_place p(a, across, up);
    const int wide = p.wide;
    const int64_t begin = (int64_t)(blockIdx.x / across / up) * depth;
    const int64_t nz = a.layout.cells[AXIS_Z], end = begin + depth < nz ? begin + depth : nz;
    const int64_t first[AXIS_COUNT] = {p.i, p.j, begin};
    const struct correct_side down = correct_side(&a, 4, first);
    int64_t x = element_at(a.layout, p.i, p.j, begin);
    int64_t e = element_at(a.grid.layout, p.i, p.j, begin);
    two_values below[CORRECT_ROWS] = {}, centre[CORRECT_ROWS] = {};
    two_changes by[CORRECT_ROWS] = {}, other;
    uint32_t largest[2] = {0, 0};
    correct_mean mean = {};
    if (wide > 0) {
#pragma unroll
        for (int row = 0; row < CORRECT_ROWS; row++) {
            below[row] =
                two_beside<CHANGES, READS>(a, down, x + row * p.row_x, e + row * p.row_e, other);
            centre[row] = two_of<CHANGES, READS>(a, x + row * p.row_x, e + row * p.row_e, by[row]);
        }
        if constexpr (MEANS) {
            mean.begin(a.coarse, p.i, p.j);
        }
    }
    for (int64_t k = begin; k < end; k++, x += a.layout.pitch_z, e += a.grid.layout.pitch_z) {
        const int64_t here[AXIS_COUNT] = {p.i, p.j, k};
        const struct correct_side rise = correct_side(&a, 5, here);
        double left[CORRECT_ROWS], right[CORRECT_ROWS];
        shift(centre, left, right);
        if (wide > 0) {
            two_changes next[CORRECT_ROWS], change[CORRECT_ROWS];
            two_values above[CORRECT_ROWS];
#pragma unroll
            for (int row = 0; row < CORRECT_ROWS; row++) {
                above[row] = two_beside<CHANGES, READS>(a, rise, x + row * p.row_x,
                                                        e + row * p.row_e, next[row]);
            }
            const two_values before = two_beside<CHANGES, READS>(a, p.south, x, e, other);
            const two_values behind =
                two_beside<CHANGES, READS>(a, p.north, x + p.row_x, e + p.row_e, other);
#pragma unroll
            for (int row = 0; row < CORRECT_ROWS; row++) {
                const int64_t at_x = x + row * p.row_x, at_e = e + row * p.row_e;
                const two_values &c = centre[row];
                const two_values &front = row > 0 ? centre[0] : before;
                double west[CORRECT_V], east[CORRECT_V];
                beside_x(a, p, at_x, at_e, c, left[row], right[row], west, east);
#pragma unroll
                for (int m = 0; m < CORRECT_V; m++) {
                    const double back = row == 0 && p.tall > 1 ? centre[1].v[m] : behind.v[m];
                    change[row].v[m] = (float)heat_cell_float64(
                        a.d_heat != nullptr ? a.d_heat[at_x + m] : 0, c.v[m], west[m], east[m],
                        front.v[m], back, below[row].v[m], above[row].v[m], a.r[0], a.r[1], a.r[2]);
                    see(largest[0], m < wide && row < p.tall, by[row].v[m]);
                    see(largest[1], m < wide && row < p.tall, change[row].v[m]);
                }
                if (row < p.tall) {
                    write_two<CHANGES>(a, at_x, at_e, wide, c, change[row]);
                }
                change[row].v[1] = wide > 1 ? change[row].v[1] : change[row].v[0];
            }
            if constexpr (MEANS) {
                change[1] = p.tall > 1 ? change[1] : change[0];
                mean.take(a, p.i, p.j, k, change);
            }
#pragma unroll
            for (int row = 0; row < CORRECT_ROWS; row++) {
                below[row] = centre[row];
                centre[row] = above[row];
                by[row] = next[row];
            }
        }
    }
    raise(&a.d_largest[0], largest[0]);
    raise(&a.d_largest[1], largest[1]);
}

typedef void correct_kernel(const struct correct_args, const unsigned, const unsigned, const int);

template <bool CHANGES, bool READS> static correct_kernel *kernel_of(bool means)
{
    return means ? correct_columns<CHANGES, READS, true> : correct_columns<CHANGES, READS, false>;
}

enum status hip_correct(struct queue *queue, const struct correct_args *args)
{
    const int64_t *n = args->layout.cells;
    const int *children = args->coarse.children;
    const int64_t wide = CORRECT_V * ARCH_WAVE, high = CORRECT_ROWS * CORRECT_TALL;
    const unsigned across = (unsigned)((n[AXIS_X] + wide - 1) / wide);
    const unsigned up = (unsigned)((n[AXIS_Y] + high - 1) / high);
    int processors = 0;
    TRY(hip_count_processors(&processors));
    int depth = CORRECT_DEPTH; /* even; less where blocks would be few */
    while (depth > CORRECT_DEPTH / 8 &&
           across * up * (n[AXIS_Z] / depth) < (int64_t)CORRECT_LEAST * processors) {
        depth /= 2;
    }
    const unsigned parts = (unsigned)((n[AXIS_Z] + depth - 1) / depth);
    const bool means = args->d_mean != nullptr && children[AXIS_X] == 2 && children[AXIS_Y] == 2;
    correct_kernel *const kernel = args->d_in == nullptr  ? kernel_of<true, false>(means)
                                   : args->d_e == nullptr ? kernel_of<false, true>(means)
                                                          : kernel_of<true, true>(means);
    kernel<<<across * up * parts, ARCH_WAVE * CORRECT_TALL, 0, queue->stream>>>(*args, across, up,
                                                                                depth);
    TRY(hip_check(hipGetLastError(), "correct"));
    const struct average_args rest = {args->grid, args->coarse, args->d_r, args->d_mean};
    return args->d_mean == nullptr || means ? STATUS_OK : hip_average(queue, &rest);
}

#define LOAD_PLAIN(name, layout_of) LOAD(0, visit_box<name##_body>);

enum status hip_load_multigrid(void)
{
    MULTIGRID_PLAIN(LOAD_PLAIN)
    LOAD(0, combine_parts);
    LOAD(0, kernel_of<true, true>(true));
    LOAD(0, kernel_of<true, true>(false));
    LOAD(0, kernel_of<true, false>(true));
    LOAD(0, kernel_of<true, false>(false));
    LOAD(0, kernel_of<false, true>(true));
    LOAD(0, kernel_of<false, true>(false));
    TRY(hip_load_transfers());
    TRY(hip_load_smooth());
    TRY(hip_load_smooth_faces());
    TRY(hip_load_smooth_staged());
    return hip_load_cycle();
}
