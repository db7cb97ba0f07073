/* The step kernel: one set of row functions (step_lines.h, step_rows.h) for both precisions, and
 * schedules that differ in the order of the rows and in the stores. All give the same bits. */
#include <string.h>

#include <omp.h>

#include "base/clock.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/share.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tally.h"
#include "kernels/cpu/tile_tuner.h"
#include "kernels/heat_cell.h"

/* How a kernel goes through the cells of a thread. */
struct schedule {
    int64_t tile_bytes;         /* of input in a plane of a tile; 0: no tiles */
    int64_t tile_row_bytes;     /* about; length of its rows */
    int64_t column_bytes;       /* of input in a tile; limits its extent in z */
    enum stream_level ahead_to; /* prefetch into this cache, or leave it to the hardware */
    int64_t ahead_bytes;        /* prefetch distance */
    bool stream;                /* non-temporal stores */
    bool touch_pages;           /* prefetch the pages of the output */
    bool wide;                  /* vectors of a whole line */
    bool planes;                /* and of STEP_PLANES planes at once */
};

enum { STEP_PLANES = 3 };

/* The number of tiles of a box along each axis. */
struct tiling {
    int64_t nx, ny, nz;
};

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

static struct tiling tiling_of(const struct box *box, size_t cell_bytes, struct schedule schedule)
{
    const int64_t row_bytes = box_extent(box, AXIS_X) * (int64_t)cell_bytes;
    if (schedule.tile_bytes == 0) {
        return (struct tiling){1, 1, 1};
    }
    if (box_extent(box, AXIS_Z) == 1) { /* three rows are used, not three planes */
        return (struct tiling){at_least_one(row_bytes / schedule.tile_bytes), 1, 1};
    }
    const int64_t nx =
        at_least_one((row_bytes + schedule.tile_row_bytes / 2) / schedule.tile_row_bytes);
    const int64_t tile_rows = at_least_one(schedule.tile_bytes * nx / row_bytes);
    const int64_t ny = (box_extent(box, AXIS_Y) + tile_rows - 1) / tile_rows;
    const int64_t bytes = row_bytes * box_extent(box, AXIS_Y) * box_extent(box, AXIS_Z);
    return (struct tiling){nx, ny, at_least_one(bytes / (nx * ny) / schedule.column_bytes)};
}

/* Tile (x, y, z) of the box; divided in x at cache lines, in z between blocks of planes. */
static struct box tile_at(const struct box *box, const struct tiling *tiling, int64_t x, int64_t y,
                          int64_t z)
{
    const int64_t unit = 64;
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nz = box_extent(box, AXIS_Z);
    struct box tile = *box;
    tile.lo[AXIS_Y] = box->lo[AXIS_Y] + ny * y / tiling->ny;
    tile.hi[AXIS_Y] = box->lo[AXIS_Y] + ny * (y + 1) / tiling->ny;
    tile.lo[AXIS_Z] = box->lo[AXIS_Z] + nz * z / tiling->nz / STEP_PLANES * STEP_PLANES;
    if (z + 1 < tiling->nz) {
        tile.hi[AXIS_Z] = box->lo[AXIS_Z] + nz * (z + 1) / tiling->nz / STEP_PLANES * STEP_PLANES;
    }
    if (x > 0) {
        tile.lo[AXIS_X] = (box->lo[AXIS_X] + nx * x / tiling->nx) / unit * unit;
    }
    if (x + 1 < tiling->nx) {
        tile.hi[AXIS_X] = (box->lo[AXIS_X] + nx * (x + 1) / tiling->nx) / unit * unit;
    }
    return tile;
}

#define REAL double
#define NAMED(name) name##_float64
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_rows.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_float32
#include "kernels/cpu/step_lines.h"
#include "kernels/cpu/step_rows.h"
#undef REAL
#undef NAMED

typedef void thread_function(const struct layout *layout, const struct step_args *args, void *out,
                             const void *in, const struct box *boxes, int nboxes,
                             int64_t tile_bytes, struct tally tally[FACE_COUNT]);

/* All pieces of one thread. Inlined into each variant, where the schedule is a constant. */
KERNEL_INLINE void step_thread(const struct layout *layout, const struct step_args *args, void *out,
                               const void *in, const struct box *boxes, int nboxes,
                               struct schedule schedule, struct tally *tally)
{
    const struct stencil_float64 s64 = stencil_of_float64(layout, args, out, in, tally);
    const struct stencil_float32 s32 = stencil_of_float32(layout, args, out, in, tally);
    for (int b = 0; b < nboxes; b++) {
        struct box pieces[SHARE_PIECES];
        const int npieces =
            share_box(&boxes[b], omp_get_thread_num(), omp_get_num_threads(), pieces);
        for (int p = 0; p < npieces; p++) {
            if (layout->precision == PRECISION_FLOAT64) {
                step_piece_float64(&s64, &pieces[p], schedule);
            } else {
                step_piece_float32(&s32, &pieces[p], schedule);
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

static void step_parallel(thread_function *thread, const struct layout *layout,
                          const struct step_args *args, void *out, const void *in,
                          const struct box *boxes, int nboxes, int64_t tile_bytes)
{
#pragma omp parallel if (share_is_worthwhile(boxes, nboxes))
    {
        struct tally tally[FACE_COUNT];
        tally_begin(tally, args);
        thread(layout, args, out, in, boxes, nboxes, tile_bytes, tally);
#pragma omp critical(step_tally)
        tally_end(tally);
    }
}

/* Measured, see docs/kernels_cpu.md. The neighbours of a tile are still in the L3 cache when the
 * next tile reads them. */
enum { TILE_ROW_BYTES = 8192, COLUMN_PLANES = 64, AHEAD_BYTES = 8192 };
#define TILED                                                                                      \
    .tile_row_bytes = TILE_ROW_BYTES, .tile_bytes = tile_bytes,                                    \
    .column_bytes = COLUMN_PLANES * tile_bytes

/* CPU_STEP_VARIANTS, each with its schedule. */
#define DEFINE_STEP(name, ...)                                                                     \
    static void thread_##name(const struct layout *layout, const struct step_args *args,           \
                              void *out, const void *in, const struct box *boxes, int nboxes,      \
                              int64_t tile_bytes, struct tally tally[FACE_COUNT])                  \
    {                                                                                              \
        (void)tile_bytes;                                                                          \
        const struct schedule schedule = {__VA_ARGS__};                                            \
        step_thread(layout, args, out, in, boxes, nboxes, schedule, tally);                        \
    }                                                                                              \
    void cpu_step_##name(const struct layout *layout, const struct step_args *args, void *out,     \
                         const void *in, const struct box *boxes, int nboxes)                      \
    {                                                                                              \
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
                    const struct step_args *args, void *out, const void *in,
                    const struct box *boxes, int nboxes)
{
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
