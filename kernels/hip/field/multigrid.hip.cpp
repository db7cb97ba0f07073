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

/* --- correct: a thread marches in z through the cells of some rows ------------------------------
 */

enum { CORRECT_WIDE = 64, CORRECT_TALL = 4, CORRECT_DEPTH = 32 };
constexpr int CORRECT_ROWS = ARCH_WAVE == 64 ? 2 : 4; /* as registers allow */

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

static __global__ __launch_bounds__(CORRECT_WIDE *CORRECT_TALL) void correct_column(
    const struct correct_args a, const unsigned across, const unsigned up)
{
    const int64_t *n = a.layout.cells;
    const unsigned lane = threadIdx.x % CORRECT_WIDE;
    const int64_t i = (int64_t)(blockIdx.x % across) * CORRECT_WIDE + lane;
    const int64_t j =
        ((int64_t)(blockIdx.x / across % up) * CORRECT_TALL + threadIdx.x / CORRECT_WIDE) *
        CORRECT_ROWS;
    const int64_t begin = (int64_t)(blockIdx.x / across / up) * CORRECT_DEPTH;
    const int64_t end = begin + CORRECT_DEPTH < n[2] ? begin + CORRECT_DEPTH : n[2];
    uint32_t largest[2] = {0, 0};
    const int rows = i >= n[0] ? 0 : (int)(n[1] - j < CORRECT_ROWS ? n[1] - j : CORRECT_ROWS);
    if (rows > 0) {
        const int64_t first[AXIS_COUNT] = {i, j, begin};
        const int64_t last[AXIS_COUNT] = {i, j + rows - 1, begin};
        const struct correct_side west = correct_side(&a, 0, first);
        const struct correct_side east = correct_side(&a, 1, first);
        const struct correct_side south = correct_side(&a, 2, first);
        const struct correct_side north = correct_side(&a, 3, last);
        double below[CORRECT_ROWS] = {};
        double centre[CORRECT_ROWS] = {};
        int64_t x = element_at(a.layout, i, j, begin);
        int64_t e = element_at(a.grid.layout, i, j, begin);
        const struct correct_side down = correct_side(&a, 4, first);
#pragma unroll
        for (int r = 0; r < CORRECT_ROWS; r++) {
            if (r < rows) {
                const int64_t xr = x + r * a.layout.pitch_y;
                const int64_t er = e + r * a.grid.layout.pitch_y;
                below[r] = correct_beside(&a, &down, xr, er);
                centre[r] = correct_value(&a, xr, er);
            }
        }
        for (int64_t k = begin; k < end; k++) {
            const int64_t here[AXIS_COUNT] = {i, j, k};
            const struct correct_side rise = correct_side(&a, 5, here);
            double above[CORRECT_ROWS] = {};
            float change[CORRECT_ROWS] = {};
            float by[CORRECT_ROWS] = {};
#pragma unroll /* all loads before the stores, which they might follow else */
            for (int r = 0; r < CORRECT_ROWS; r++) {
                if (r < rows) {
                    const int64_t xr = x + r * a.layout.pitch_y;
                    const int64_t er = e + r * a.grid.layout.pitch_y;
                    above[r] = correct_beside(&a, &rise, xr, er);
                    const double ym =
                        r == 0 ? correct_beside(&a, &south, xr, er) : centre[r > 0 ? r - 1 : 0];
                    const double yp = r == rows - 1 ? correct_beside(&a, &north, xr, er)
                                                    : centre[r + 1 < CORRECT_ROWS ? r + 1 : r];
                    change[r] = (float)heat_cell_float64(
                        a.d_heat != nullptr ? a.d_heat[xr] : 0, centre[r],
                        correct_beside(&a, &west, xr, er), correct_beside(&a, &east, xr, er), ym,
                        yp, below[r], above[r], a.r[0], a.r[1], a.r[2]);
                    by[r] = a.d_e != nullptr ? a.d_e[er] : 0;
                }
            }
#pragma unroll
            for (int r = 0; r < CORRECT_ROWS; r++) {
                const uint32_t bits[2] = {correct_bits(by[r]), correct_bits(change[r])};
                largest[0] = bits[0] > largest[0] ? bits[0] : largest[0];
                largest[1] = bits[1] > largest[1] ? bits[1] : largest[1];
                if (r < rows) {
                    a.d_r[e + r * a.grid.layout.pitch_y] = change[r];
                    if (a.d_e != nullptr) {
                        a.d_out[x + r * a.layout.pitch_y] = centre[r];
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < CORRECT_ROWS; r++) {
                if (r < rows) {
                    below[r] = centre[r];
                    centre[r] = above[r];
                }
            }
            x += a.layout.pitch_z;
            e += a.grid.layout.pitch_z;
        }
    }
    raise(&a.d_largest[0], largest[0]);
    raise(&a.d_largest[1], largest[1]);
}

enum status hip_correct(struct queue *queue, const struct correct_args *args)
{
    const int64_t *n = args->layout.cells;
    const int64_t tall = CORRECT_TALL * CORRECT_ROWS;
    const unsigned across = (unsigned)((n[AXIS_X] + CORRECT_WIDE - 1) / CORRECT_WIDE);
    const unsigned up = (unsigned)((n[AXIS_Y] + tall - 1) / tall);
    const unsigned parts = (unsigned)((n[AXIS_Z] + CORRECT_DEPTH - 1) / CORRECT_DEPTH);
    correct_column<<<across * up * parts, CORRECT_WIDE * CORRECT_TALL, 0, queue->stream>>>(
        *args, across, up);
    return hip_check(hipGetLastError(), "correct");
}
