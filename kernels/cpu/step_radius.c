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

static void step_pieces(const struct layout *layout, const struct coefficients *args, void *out,
                        const void *in, const struct box *box, struct tally *tally)
{
    struct box pieces[SHARE_PIECES];
    const int npieces = share_box(box, omp_get_thread_num(), omp_get_num_threads(), pieces);
    for (int p = 0; p < npieces; p++) {
        if (layout->precision == PRECISION_FLOAT64) {
            const struct stencil_float64 s = stencil_of_float64(layout, args, out, in, tally);
            step_piece_float64(&s, &pieces[p]);
        } else {
            const struct stencil_float32 s = stencil_of_float32(layout, args, out, in, tally);
            step_piece_float32(&s, &pieces[p]);
        }
    }
}

void cpu_step_radius(const struct layout *layout, const struct coefficients *args, void *out,
                     const void *in, const struct box *boxes, int nboxes)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        for (int face = 0; face < FACE_COUNT; face++) {
            tally[face] = (struct tally){.target = args->d_face_sum[face]};
        }
        for (int b = 0; b < nboxes; b++) {
            step_pieces(layout, args, out, in, &boxes[b], tally);
        }
        stream_fence();
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}
