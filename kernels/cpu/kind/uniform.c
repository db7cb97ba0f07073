/* The step kernel: one set of row functions (lines.h, uniform_rows.h), and schedules that differ in
 * the order of the rows and in the stores. All give the same bits. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kind/uniform.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

#include "kernels/cpu/kind/uniform_rows.h"

struct step_scratch {
    char unused;
};
#include "kernels/cpu/schedule/pieces.h"

/* CPU_STEP_VARIANTS, each with its schedule. */
#define DEFINE_STEP(name, ...)                                                                     \
    DEFINE_THREAD(name, __VA_ARGS__)                                                               \
    thread_function *const NAMED(step_##name) = thread_##name;
DEFINE_STEP(ahead, TILED_AHEAD)
DEFINE_STEP(wide, TILED_WIDE)
DEFINE_STEP(planes, .stream = true, TILED, .ahead_to = STREAM_FIRST_LEVEL,
            .ahead_bytes = AHEAD_BYTES, .planes = true)

/* One of many steps: without a choice of ways. */
DEFINE_THREAD(corrects, TILED, .corrects = true)

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    static thread_function *const threads[TILE_WAY_COUNT] = {
        [TILE_AHEAD] = thread_ahead,
        [TILE_WIDE] = thread_wide,
        [TILE_PLANES] = thread_planes,
    };
    if (call->args->corrects) {
        step_parallel(thread_corrects, call);
        return;
    }
    step_tuned(tuner, threads, sizeof(REAL), call);
}

const struct step_kind NAMED(step_uniform) = {step, step_part};
