/* The step kernel in a medium of classes: the lines, tiles and threads of uniform.c, with rows and
 * an expression of their own. */
#include <limits.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/medium_cell.h"
#include "kernels/cpu/schedule/real.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

/* Of each cell of a line or of half of one, in the order of medium_cell's arguments. */
struct cell_numbers {
    const REAL *of;
};
#define VALUE(k, c, i) (k.of[(c)*LINE + (i)])
#define STEP_MEMBERS                                                                               \
    const struct device_medium *medium;                                                            \
    const REAL *table;                                                                             \
    struct plans *plans;
#define CELL(base, row, i, k)                                                                      \
    NAMED(medium_cell)                                                                             \
    (base, row.centre[i], row.xm[i], row.xp[i], row.ym[i], row.yp[i], row.zm[i], row.zp[i],        \
     VALUE(k, 0, i), VALUE(k, 1, i), VALUE(k, 2, i), VALUE(k, 3, i), VALUE(k, 4, i),               \
     VALUE(k, 5, i), VALUE(k, 6, i), VALUE(k, 7, i))

#include "kernels/cpu/kind/classes_rows.h"

struct step_scratch {
    struct plans plans;
};
#include "kernels/cpu/schedule/pieces.h"

DEFINE_THREAD(ahead, TILED_AHEAD)
DEFINE_THREAD(wide, TILED_WIDE)
DEFINE_THREAD(corrects, TILED, .wide = true, .corrects = true)

static void step(struct tile_tuner *tuner, struct step_call *call)
{
    static thread_function *const threads[TILE_WAY_COUNT] = {
        [TILE_AHEAD] = thread_ahead, [TILE_WIDE] = thread_wide, [TILE_PLANES] = thread_wide};
    if (call->args->corrects) {
        step_parallel(thread_corrects, call);
        return;
    }
    /* a record of its own: a cell has one byte more */
    step_tuned(tuner, threads, sizeof(REAL) + 1, call);
}

const struct step_kind NAMED(step_classes) = {step, step_part};
