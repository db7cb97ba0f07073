/* The step kernel in a medium of classes: the lines, tiles and threads of step_cpu.c, with rows and
 * an expression of their own. */
#include <limits.h>
#include <string.h>

#include <omp.h>

#include "base/clock.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/step_schedule.h"
#include "kernels/cpu/tally.h"
#include "kernels/cpu/tile_tuner.h"
#include "kernels/medium_cell.h"

/* Of each cell of a line or of half of one, in the order of medium_cell's arguments. */
#define STEP_COEFFICIENTS(REAL) const REAL *of;
#define VALUE(k, c, i) (k.of[(c)*NAMED(LINE) + (i)])
#define STEP_MEMBERS(REAL, NAMED)                                                                  \
    const struct device_medium *medium;                                                            \
    const REAL *table;                                                                             \
    struct NAMED(plans) * plans;
#define CELL(row, i, k)                                                                            \
    NAMED(medium_cell)                                                                             \
    (row.centre[i], row.xm[i], row.xp[i], row.ym[i], row.yp[i], row.zm[i], row.zp[i],              \
     VALUE(k, 0, i), VALUE(k, 1, i), VALUE(k, 2, i), VALUE(k, 3, i), VALUE(k, 4, i),               \
     VALUE(k, 5, i), VALUE(k, 6, i), VALUE(k, 7, i))

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_medium_plans.h"
#include "kernels/cpu/step_medium_rows.h"
#include "kernels/cpu/step_tiles.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_medium_plans.h"
#include "kernels/cpu/step_medium_rows.h"
#include "kernels/cpu/step_tiles.h"
#undef REAL
#undef NAMED

struct step_scratch {
    union { /* of the field's precision */
        struct plans_float64 of_float64;
        struct plans_float32 of_float32;
    } plans;
};
#include "kernels/cpu/step_threads.h"

#define DEFINE_THREAD(name, ...)                                                                   \
    static void thread_##name(const struct layout *layout, const struct coefficients *args,        \
                              void *out, const void *in, const struct box *boxes, int nboxes,      \
                              int64_t tile_bytes, struct tally tally[FACE_COUNT])                  \
    {                                                                                              \
        const struct schedule schedule = {__VA_ARGS__};                                            \
        step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);                        \
    }
DEFINE_THREAD(ahead, .stream = true, TILED, .ahead_to = STREAM_FIRST_LEVEL,
              .ahead_bytes = AHEAD_BYTES, .touch_pages = true)
DEFINE_THREAD(wide, .stream = true, TILED, .ahead_to = STREAM_SECOND_LEVEL,
              .ahead_bytes = AHEAD_BYTES, .wide = true)

void cpu_step_medium(struct tile_tuner *tuner, const struct layout *layout,
                     const struct coefficients *args, void *out, const void *in,
                     const struct box *boxes, int nboxes)
{
    /* a record of its own: a cell has one byte more */
    const size_t cell_bytes = precision_bytes(layout->precision) + 1;
    struct tile_record *record =
        tuner != NULL && nboxes == 1 ? tile_tuner_find(tuner, boxes, cell_bytes) : NULL;
    const int choice = record != NULL ? tile_record_choose(record) : 0;
    const struct tile_choice *tiles = &tile_tuner_choice[choice];
    const double start = clock_seconds();
    step_parallel(tiles->way == TILE_AHEAD ? thread_ahead : thread_wide, layout, args, out, in,
                  boxes, nboxes, tiles->bytes);
    if (record != NULL) {
        tile_record_tell(record, choice, clock_seconds() - start);
    }
}

void cpu_part_medium(const struct layout *layout, const struct coefficients *args, void *out,
                     const void *in, const struct box *box, struct tally *tally)
{
    step_pieces(layout, args, out, in, box, 1, (struct schedule){.wide = true}, tally);
}
