/* The sums over closed faces before each step of a pass, where the kernel that advances the box
 * does not take them. */
#include "kernels/hip/schedule/deep/steps_sums.h"

enum { THREADS = 256, WAVES = THREADS / ARCH_WAVE, BOXES_PER_LAUNCH = 8 };

template <int T> using sums_list = rectangle_list<T, BOXES_PER_LAUNCH * FACE_COUNT>;

/* At least 3 waves a SIMD (gfx90a), of which the shared memory of 4 steps leaves 1. */
template <typename REAL, int T>
static __global__ __launch_bounds__(THREADS, 2) void steps_sums(const grid_view<REAL> view,
                                                                const uniform<REAL, T> p,
                                                                struct hip_scratch *scratch,
                                                                const sums_list<T> list)
{
    typedef sums_memory<T, THREADS> of_block;
    __shared__ of_block memory;
    sum_strips(view, p, list, scratch, memory);
    if (is_last_block_of_all(scratch, &memory.is_last)) {
        normalise_sums<T>(list, scratch);
    }
}

template <typename REAL, int T> static hipError_t launch(const struct hip_step *step)
{
    const struct step_args *args = step->args;
    sums_list<T> list;
    list_sums(list, args->levels, T);
    for (int b = 0; b < step->nboxes; b++) {
        list_box(list, &args->layout, &step->boxes[b]);
        if (list.count > 0 && (b == step->nboxes - 1 || (b + 1) % BOXES_PER_LAUNCH == 0)) {
            list_strips(list, T);
            const unsigned blocks = (list.strips + WAVES - 1) / WAVES;
            steps_sums<REAL, T><<<blocks, THREADS, 0, step->stream>>>(
                view_of<REAL>(&args->layout, nullptr, args->d_in),
                uniform_of<REAL, T>(args->levels), step->d_scratch, list);
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
    return launch_steps_of(step->args, [&](auto cell, auto steps) {
        return launch<decltype(cell), decltype(steps)::value>(step);
    });
}
