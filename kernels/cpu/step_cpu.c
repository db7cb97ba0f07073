/* The step kernel: one set of row functions (step_rows.h) for both precisions, and schedules that
 * differ in the order of the rows and in how they are stored. All give the same bits. */
#include <string.h>

#include <omp.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tally.h"
#include "kernels/heat_cell.h"

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/step_rows.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/step_rows.h"
#undef REAL
#undef NAMED

/* How a kernel goes through the rows of a thread. */
struct schedule {
    int64_t block_bytes; /* of input that a block's plane may take; 0: whole planes */
    bool stream;         /* non-temporal stores */
};

static int64_t rows_in_block(const struct layout *layout, const struct box *piece,
                             int64_t block_bytes)
{
    const int64_t row_bytes =
        box_extent(piece, AXIS_X) * (int64_t)precision_bytes(layout->precision);
    const int64_t rows = block_bytes == 0 ? INT64_MAX / 2 : block_bytes / row_bytes;
    return rows > 4 ? rows : 4;
}

/* All pieces of one thread. Inlined into each variant, so that the schedule is a constant. */
static inline __attribute__((always_inline)) void step_thread(
    const struct layout *layout, const struct step_args *args, void *out, const void *in,
    const struct box *boxes, int nboxes, struct schedule schedule, struct tally *tally)
{
    const struct stencil_float64 s64 = stencil_of_float64(layout, args, out, in, tally);
    const struct stencil_float32 s32 = stencil_of_float32(layout, args, out, in, tally);
    for (int b = 0; b < nboxes; b++) {
        struct box pieces[SHARE_PIECES];
        const int npieces =
            share_box(&boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            const int64_t rows = rows_in_block(layout, &pieces[p], schedule.block_bytes);
            if (layout->precision == PRECISION_FLOAT64) {
                step_piece_float64(&s64, &pieces[p], rows, schedule.stream);
            } else {
                step_piece_float32(&s32, &pieces[p], rows, schedule.stream);
            }
        }
    }
    stream_fence();
}

static void tally_begin(struct tally tally[FACE_COUNT], const struct step_args *args)
{
    for (int face = 0; face < FACE_COUNT; face++) {
        tally[face] = (struct tally){.target = args->d_face_sum[face]};
    }
}

/* One thread at a time. */
static void tally_end(struct tally tally[FACE_COUNT])
{
    for (int face = 0; face < FACE_COUNT; face++) {
        if (tally[face].target != NULL) {
            tally_flush(&tally[face]);
            exact_sum_add(tally[face].target, &tally[face].sum);
        }
    }
}

static inline __attribute__((always_inline)) void step_scheduled(
    const struct layout *layout, const struct step_args *args, void *out, const void *in,
    const struct box *boxes, int nboxes, struct schedule schedule)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, args);
        step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}

/* a block's three planes of input, and the one that comes in, stay in a second-level cache of
 * 512 KiB and more */
enum { BLOCK_BYTES = 128 * 1024 };

/* CPU_STEP_VARIANTS, each with its schedule. */
#define DEFINE_STEP(name, ...)                                                                     \
    void cpu_step_##name(const struct layout *layout, const struct step_args *args, void *out,     \
                         const void *in, const struct box *boxes, int nboxes)                      \
    {                                                                                              \
        const struct schedule schedule = {__VA_ARGS__};                                            \
        step_scheduled(layout, args, out, in, boxes, nboxes, schedule);                            \
    }
DEFINE_STEP(plain, .block_bytes = 0, .stream = false)
DEFINE_STEP(streaming, .block_bytes = 0, .stream = true)
DEFINE_STEP(production, .block_bytes = BLOCK_BYTES, .stream = true)
