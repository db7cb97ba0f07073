/* The step kernel with a wider stencil: rows in tiles whose planes stay in the L2 cache. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/schedule/real.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

enum {
    END = WIDE_RADIUS_MOST, /* cells at a closed face of x that are computed together */
    CHUNK = 512,            /* fluxes of a row per sum */
    CACHE_BYTES = 1 << 19   /* of input of the planes of a tile */
};

#include "kernels/cpu/kind/high_order_rows.h"

struct step_scratch {
    char unused;
};
#include "kernels/cpu/schedule/pieces.h"

DEFINE_THREAD(radius, TILED, .stream = true)

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    call->tile_bytes = CACHE_BYTES / (2 * call->args->high_order.radius + 1);
    step_parallel(thread_radius, call);
}

const struct step_kind NAMED(step_high_order) = {step, step_part};
