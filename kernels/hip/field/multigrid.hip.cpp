/* Operations of the multigrid, one thread per cell. */
#include "kernels/hip/device/visit.h"

#include "kernels/cell/multigrid_cell.h"

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
DEFINE(relax, grid.layout)
MULTIGRID_OPERATIONS(DEFINE)

/* --- correct: a lane marches in z through two columns of cells ------------------ */

enum { CORRECT_V = 2, CORRECT_TALL = 4, CORRECT_DEPTH = 64 };
constexpr int CORRECT_LEAST = ARCH_WAVE == 64 ? 4 : 7; /* blocks, or waves: no spills */

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

/* Two cells per lane; lanes beyond the grid take part in shuffles only. */
template <bool CHANGES, bool READS>
static __global__ __launch_bounds__(ARCH_WAVE *CORRECT_TALL,
                                    CORRECT_LEAST) void correct_columns(const struct correct_args a,
                                                                        const unsigned across,
                                                                        const unsigned up)
{
    const int64_t *n = a.layout.cells;
    const int lane = (int)threadIdx.x % ARCH_WAVE;
    const unsigned wave = arch_first_lane_value(threadIdx.x / ARCH_WAVE);
    const int64_t i = ((int64_t)(blockIdx.x % across) * ARCH_WAVE + lane) * CORRECT_V;
    const int64_t j = (int64_t)(blockIdx.x / across % up) * CORRECT_TALL + wave;
    const int64_t begin = (int64_t)(blockIdx.x / across / up) * CORRECT_DEPTH;
    const int64_t end = begin + CORRECT_DEPTH < n[2] ? begin + CORRECT_DEPTH : n[2];
    const int wide = i >= n[0] || j >= n[1] ? 0 : i + 1 < n[0] ? 2 : 1;
    const int64_t first[AXIS_COUNT] = {i, j, begin};
    const int64_t last[AXIS_COUNT] = {i + wide - 1, j, begin};
    const bool starts = lane == 0; /* what is before, or after, my cells comes from memory */
    const bool ends = lane == ARCH_WAVE - 1 || i + CORRECT_V >= n[0];
    struct correct_side after = correct_side(&a, 1, last);
    after.x += wide - 1;
    after.e += wide - 1;
    const struct correct_side edge = starts ? correct_side(&a, 0, first) : after;
    const struct correct_side south = correct_side(&a, 2, first);
    const struct correct_side north = correct_side(&a, 3, first);
    const struct correct_side down = correct_side(&a, 4, first);
    int64_t x = element_at(a.layout, i, j, begin);
    int64_t e = element_at(a.grid.layout, i, j, begin);
    two_values below = {}, centre = {};
    uint32_t largest[2] = {0, 0};
    two_changes by = {}, other;
    if (wide > 0) {
        below = two_beside<CHANGES, READS>(a, down, x, e, other);
        centre = two_of<CHANGES, READS>(a, x, e, by);
    }
    for (int64_t k = begin; k < end; k++) {
        const int64_t here[AXIS_COUNT] = {i, j, k};
        const struct correct_side rise = correct_side(&a, 5, here);
        const double left = arch_shift_up(centre.v[1], 1);
        const double right = arch_shift_down(centre.v[0], 1);
        if (wide > 0) {
            two_changes next, change;
            const two_values above = two_beside<CHANGES, READS>(a, rise, x, e, next);
            const two_values front = two_beside<CHANGES, READS>(a, south, x, e, other);
            const two_values back = two_beside<CHANGES, READS>(a, north, x, e, other);
            const double outer = starts || ends ? correct_beside(&a, &edge, x, e) : 0;
            const double beyond = starts && ends ? correct_beside(&a, &after, x, e)
                                  : ends         ? outer
                                                 : right;
            const double west[] = {starts ? outer : left, centre.v[0]};
            const double east[] = {wide > 1 ? centre.v[1] : beyond, beyond};
#pragma unroll
            for (int m = 0; m < CORRECT_V; m++) {
                change.v[m] = (float)heat_cell_float64(
                    a.d_heat != nullptr ? a.d_heat[x + m] : 0, centre.v[m], west[m], east[m],
                    front.v[m], back.v[m], below.v[m], above.v[m], a.r[0], a.r[1], a.r[2]);
                see(largest[0], m < wide, by.v[m]);
                see(largest[1], m < wide, change.v[m]);
            }
            write_two<CHANGES>(a, x, e, wide, centre, change);
            below = centre;
            centre = above;
            by = next;
        }
        x += a.layout.pitch_z;
        e += a.grid.layout.pitch_z;
    }
    raise(&a.d_largest[0], largest[0]);
    raise(&a.d_largest[1], largest[1]);
}

enum status hip_correct(struct queue *queue, const struct correct_args *args)
{
    const int64_t *n = args->layout.cells;
    const int64_t wide = CORRECT_V * ARCH_WAVE;
    const unsigned across = (unsigned)((n[AXIS_X] + wide - 1) / wide);
    const unsigned up = (unsigned)((n[AXIS_Y] + CORRECT_TALL - 1) / CORRECT_TALL);
    const unsigned parts = (unsigned)((n[AXIS_Z] + CORRECT_DEPTH - 1) / CORRECT_DEPTH);
    auto *const kernel =
        args->d_in == nullptr
            ? (args->d_e != nullptr ? correct_columns<true, false> : correct_columns<false, false>)
            : (args->d_e != nullptr ? correct_columns<true, true> : correct_columns<false, true>);
    kernel<<<across * up * parts, ARCH_WAVE * CORRECT_TALL, 0, queue->stream>>>(*args, across, up);
    return hip_check(hipGetLastError(), "correct");
}
