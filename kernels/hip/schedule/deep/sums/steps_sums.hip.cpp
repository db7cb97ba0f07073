/* The sums over closed faces before each step of a pass, where the kernel that advances the box
 * does not take them. */
#include "kernels/hip/schedule/deep/sums/strips.h"

enum { THREADS = 256, WAVES = THREADS / ARCH_WAVE, BOXES_PER_LAUNCH = 8 };

template <int T> using sums_list = rectangle_list<T, BOXES_PER_LAUNCH * FACE_COUNT>;

/* At least 3 waves a SIMD (gfx90a), of which the shared memory of 4 steps leaves 1. */
template <typename REAL, int T, typename KIND>
static __global__ __launch_bounds__(THREADS, 2) void steps_sums(const grid_view<REAL> view,
                                                                const KIND p,
                                                                struct hip_scratch *scratch,
                                                                const sums_list<T> list)
{
    typedef sums_memory<T, THREADS> of_block;
    __shared__ of_block memory;
    sum_strips<REAL>(view, p, list, scratch, memory);
    if (is_last_block_of_all(scratch, &memory.is_last)) {
        normalise_sums<T>(list, scratch);
    }
}

template <typename REAL, int T, typename KIND>
static hipError_t launch(const struct hip_step *step, const KIND &kind)
{
    const struct step_args *args = step->args;
    sums_list<T> list;
    list_sums(list, args->levels, T);
    for (int b = 0; b < step->nboxes; b++) {
        list_box(list, &args->layout, &step->boxes[b]);
        if (list.count > 0 && (b == step->nboxes - 1 || (b + 1) % BOXES_PER_LAUNCH == 0)) {
            list_strips(list, T);
            const unsigned blocks = (list.strips + WAVES - 1) / WAVES;
            steps_sums<REAL, T, KIND><<<blocks, THREADS, 0, step->stream>>>(
                view_of<REAL>(&args->layout, nullptr, args->d_in), kind, step->d_scratch, list);
            const hipError_t error = hipGetLastError();
            if (error != hipSuccess) {
                return error;
            }
            list.count = 0;
        }
    }
    return hipSuccess;
}

hipError_t hip_launch_steps_sums(struct hip_step *step)
{
    const struct coefficients *args = step->args->levels;
    return launch_steps_of(step->args, [&](auto cell, auto steps) -> hipError_t {
        typedef decltype(cell) REAL;
        constexpr int T = decltype(steps)::value;
        if constexpr (ARCH_HAS_TILE_COPY && T <= HIP_STEPS_OF_CLASSES) {
            if (args->kind == KIND_CLASSES) {
                return launch<REAL, T>(step, classes_of<REAL, T>(args));
            }
        }
        return share_a(args, T)
                   ? launch<REAL, T>(step, uniform_of<REAL, T>(args))
                   : launch<REAL, T>(step, uniform_of<REAL, T, T, a_of_steps<T>>(args));
    });
}
