/* The step kernel with a wider stencil: rows in tiles whose planes stay in the L2 cache. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/step_schedule.h"
#include "kernels/cpu/step_threads.h"

enum {
    END = WIDE_RADIUS_MOST, /* cells at a closed face of x that are computed together */
    CHUNK = 512,            /* fluxes of a row per sum */
    CACHE_BYTES = 1 << 19   /* of input of the planes of a tile */
};

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/step_radius_rows.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/step_radius_rows.h"
#undef REAL
#undef NAMED

struct step_scratch {
    char unused;
};
#include "kernels/cpu/step_pieces.h"

static void thread_radius(const struct step_call *c, struct tally *tally)
{
    const int64_t tile_bytes = c->tile_bytes;
    const struct schedule schedule = {.stream = true, TILED};
    step_thread(c, schedule, tally);
}

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    (void)tuner;
    call->tile_bytes = CACHE_BYTES / (2 * call->args->high_order.radius + 1);
    step_parallel(thread_radius, call);
}

const struct step_kind step_high_order = {step, step_part};
