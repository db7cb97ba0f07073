/* The step kernel: one set of row functions (step_lines.h, step_rows.h) for both precisions, and
 * schedules that differ in the order of the rows and in the stores. All give the same bits. */
#include <string.h>

#include <omp.h>

#include "base/clock.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/step_schedule.h"
#include "kernels/cpu/step_uniform.h"
#include "kernels/cpu/tally.h"
#include "kernels/cpu/tile_tuner.h"

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_rows.h"
#include "kernels/cpu/step_tiles.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_rows.h"
#include "kernels/cpu/step_tiles.h"
#undef REAL
#undef NAMED

struct step_scratch {
    char unused;
};
#include "kernels/cpu/step_threads.h"

static void step_of_kind(struct tile_tuner *tuner, const struct layout *layout,
                         const struct coefficients *args, void *out, const void *in,
                         const struct box *boxes, int nboxes)
{
    if (args->kind == KIND_HIGH_ORDER) {
        cpu_step_radius(layout, args, out, in, boxes, nboxes);
    } else if (args->kind == KIND_ENTHALPY) {
        cpu_step_nonlinear(layout, args, out, in, boxes, nboxes);
    } else {
        cpu_step_medium(tuner, layout, args, out, in, boxes, nboxes);
    }
}

/* CPU_STEP_VARIANTS, each with its schedule. */
#define DEFINE_STEP(name, ...)                                                                     \
    static void thread_##name(const struct layout *layout, const struct coefficients *args,        \
                              void *out, const void *in, const struct box *boxes, int nboxes,      \
                              int64_t tile_bytes, struct tally tally[FACE_COUNT])                  \
    {                                                                                              \
        (void)tile_bytes;                                                                          \
        const struct schedule schedule = {__VA_ARGS__};                                            \
        step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);                        \
    }                                                                                              \
    void cpu_step_##name(const struct layout *layout, const struct coefficients *args, void *out,  \
                         const void *in, const struct box *boxes, int nboxes)                      \
    {                                                                                              \
        if (args->kind != KIND_UNIFORM) {                                                          \
            step_of_kind(NULL, layout, args, out, in, boxes, nboxes);                              \
            return;                                                                                \
        }                                                                                          \
        step_parallel(thread_##name, layout, args, out, in, boxes, nboxes,                         \
                      tile_tuner_choice[0].bytes);                                                 \
    }
DEFINE_STEP(plain, .stream = false)
DEFINE_STEP(streaming, .stream = true)
DEFINE_STEP(tiled, .stream = true, TILED)
DEFINE_STEP(ahead, .stream = true, TILED, .ahead_to = STREAM_FIRST_LEVEL,
            .ahead_bytes = AHEAD_BYTES, .touch_pages = true)
DEFINE_STEP(ahead_second, .stream = true, TILED, .ahead_to = STREAM_SECOND_LEVEL,
            .ahead_bytes = AHEAD_BYTES, .touch_pages = true)
DEFINE_STEP(wide, .stream = true, TILED, .ahead_to = STREAM_SECOND_LEVEL,
            .ahead_bytes = AHEAD_BYTES, .wide = true)
DEFINE_STEP(planes, .stream = true, TILED, .ahead_to = STREAM_FIRST_LEVEL,
            .ahead_bytes = AHEAD_BYTES, .planes = true)

void cpu_step_tuned(struct tile_tuner *tuner, const struct layout *layout,
                    const struct coefficients *args, void *out, const void *in,
                    const struct box *boxes, int nboxes)
{
    if (args->kind != KIND_UNIFORM) {
        step_of_kind(tuner, layout, args, out, in, boxes, nboxes);
        return;
    }
    struct tile_record *record =
        nboxes == 1 ? tile_tuner_find(tuner, boxes, precision_bytes(layout->precision)) : NULL;
    if (record == NULL) {
        cpu_step_ahead(layout, args, out, in, boxes, nboxes);
        return;
    }
    const int choice = tile_record_choose(record);
    static thread_function *const threads[TILE_WAY_COUNT] = {
        [TILE_AHEAD] = thread_ahead,
        [TILE_WIDE] = thread_wide,
        [TILE_PLANES] = thread_planes,
    };
    const struct tile_choice *tiles = &tile_tuner_choice[choice];
    const double start = clock_seconds();
    step_parallel(threads[tiles->way], layout, args, out, in, boxes, nboxes, tiles->bytes);
    tile_record_tell(record, choice, clock_seconds() - start);
}
