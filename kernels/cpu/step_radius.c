/* The step kernel with a wider stencil: rows in tiles whose planes stay in the L2 cache. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/step_schedule.h"
#include "kernels/cpu/tally.h"

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
#include "kernels/cpu/step_threads.h"

static void thread_radius(const struct layout *layout, const struct coefficients *args, void *out,
                          const void *in, const struct box *boxes, int nboxes, int64_t tile_bytes,
                          struct tally tally[FACE_COUNT])
{
    const struct schedule schedule = {.stream = true, TILED};
    step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);
}

void cpu_step_radius(const struct layout *layout, const struct coefficients *args, void *out,
                     const void *in, const struct box *boxes, int nboxes)
{
    const int64_t tile_bytes = CACHE_BYTES / (2 * args->high_order.radius + 1);
    step_parallel(thread_radius, layout, args, out, in, boxes, nboxes, tile_bytes);
}

void cpu_part_radius(const struct layout *layout, const struct coefficients *args, void *out,
                     const void *in, const struct box *box, struct tally *tally)
{
    step_pieces(layout, args, out, in, box, 1, (struct schedule){.stream = false}, tally);
}
