/* Several steps in one pass for every kind: each tile marches through z in blocks of planes, which
 * are copied to scratch memory in the cache, advanced there level by level by the rows of a single
 * step, and copied to the output. */
#include "kernels/cpu/schedule/pass.h"

#include <string.h>

#include "kernels/cpu/schedule/stream.h"
#include "kernels/cpu/schedule/tally.h"
#include "kernels/cpu/schedule/threads.h"
#include "kernels/cpu/schedule/tiling.h"

enum {
    BLOCK_PLANES = 8,
    BLOCK_BYTES = 2 << 20, /* of all levels of a thread, which stay in its caches */
    BLOCK_ROW_BYTES = 8192,
    BLOCK_ROWS_LEAST = 8,
    BLOCK_TILES = 4 /* of each thread, at least, where there are planes enough */
};

/* The pass of one thread. */
struct blocks {
    const struct steps_pass *pass;
    size_t cell_bytes;
    int64_t lag; /* see lag_of */
    bool summed; /* the tile has cells at a closed face with a sum */
    struct coefficients args[STEPS_MOST];
    struct box level[STEPS_MOST + 1]; /* cells that are known after l steps */
    struct layout window;             /* of the planes of a block in `memory` */
    struct tally (*tally)[FACE_COUNT];
    char *memory;
};

static int reach_of(const struct coefficients *args)
{
    return args->kind == KIND_HIGH_ORDER ? args->high_order.radius : 1;
}

/* The planes by which a level is behind the one before: at a closed face a stencil of high order
 * reads cells at most that far away. Twice as many planes of a level are kept for the next block.
 */
static int lag_of(const struct coefficients *args)
{
    return 2 * reach_of(args) - 1;
}

/* The division of a box into tiles. */
static struct tiling blocks_tiling(const struct steps_pass *pass, const struct box *box,
                                   const struct steps_choice *choice, int nthreads)
{
    const int64_t lag = lag_of(pass->args);
    const int64_t cell = (int64_t)precision_bytes(pass->layout->precision);
    const int64_t extent[AXIS_COUNT] = {box_extent(box, AXIS_X), box_extent(box, AXIS_Y),
                                        box_extent(box, AXIS_Z)};
    const int64_t nx = (extent[AXIS_X] * cell + BLOCK_ROW_BYTES - 1) / BLOCK_ROW_BYTES;
    const int64_t row_bytes = (extent[AXIS_X] / nx + 1) * cell;
    const int64_t most = BLOCK_PLANES + 2 * lag;
    const int64_t planes = extent[AXIS_Z] < most ? extent[AXIS_Z] : most;
    const int64_t beside = 2 * lag * (pass->nsteps - 1);
    const int64_t wish = BLOCK_BYTES / ((pass->nsteps + 1) * planes * row_bytes) - beside;
    const int64_t rows = wish > BLOCK_ROWS_LEAST ? wish : BLOCK_ROWS_LEAST;
    const int64_t ny = (extent[AXIS_Y] + rows - 1) / rows;
    const int64_t columns = (BLOCK_TILES * nthreads + nx * ny - 1) / (nx * ny);
    const int64_t longest = at_least_one(extent[AXIS_Z] / (4 * BLOCK_PLANES + beside));
    return (struct tiling){nx, ny, columns < longest ? columns : longest};
}

/* The memory of a level of a tile, with the planes kept for the next block. */
static struct layout window_of(const struct steps_pass *pass, const struct box *tile)
{
    const int64_t lag = lag_of(pass->args);
    const int64_t line = STREAM_LINE_BYTES / (int64_t)precision_bytes(pass->layout->precision);
    const int64_t beside = 2 * lag * pass->nsteps;
    struct layout window = *pass->layout;
    /* rows may be read one line beyond both ends */
    window.pitch_y = (box_extent(tile, AXIS_X) + beside + 4 * line) / line * line + line;
    window.pitch_z = window.pitch_y * (box_extent(tile, AXIS_Y) + beside + 1);
    window.elements = window.pitch_z * (BLOCK_PLANES + 2 * lag);
    return window;
}

/* All levels of a tile, and as many planes as the first one is ahead of the last. */
static size_t memory_of(const struct steps_pass *pass, const struct box *tile)
{
    const struct layout window = window_of(pass, tile);
    const int64_t ahead = (int64_t)lag_of(pass->args) * pass->nsteps;
    return (size_t)((pass->nsteps + 1) * window.elements + ahead * window.pitch_z) *
           precision_bytes(window.precision);
}

static size_t blocks_memory(const struct steps_pass *pass, const struct steps_choice *choice,
                            int nthreads)
{
    size_t most = 0;
    for (int b = 0; b < pass->nboxes; b++) {
        const struct tiling t = blocks_tiling(pass, &pass->boxes[b], choice, nthreads);
        for (int64_t n = 0; n < t.nx * t.ny; n++) {
            const struct box tile = tile_at(&pass->boxes[b], &t, n % t.nx, n / t.nx, 0);
            const size_t bytes = memory_of(pass, &tile);
            most = bytes > most ? bytes : most;
        }
    }
    return (most + STREAM_LINE_BYTES - 1) / STREAM_LINE_BYTES * STREAM_LINE_BYTES;
}

/* The cells of level `l`, as a field of layout `window`: its planes are ahead of those of the next
 * level by the lag, and lie where those would. */
static char *level_field(const struct blocks *b, int l)
{
    return b->memory +
           (size_t)(l * (b->window.elements + b->lag * b->window.pitch_z)) * b->cell_bytes;
}

static void copy_rows(const struct box *box, size_t cell_bytes, const struct layout *to_layout,
                      char *to, const struct layout *from_layout, const char *from)
{
    const size_t bytes = (size_t)box_extent(box, AXIS_X) * cell_bytes;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z]; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y]; j++) {
            memcpy(to + (size_t)layout_index(to_layout, box->lo[AXIS_X], j, k) * cell_bytes,
                   from + (size_t)layout_index(from_layout, box->lo[AXIS_X], j, k) * cell_bytes,
                   bytes);
        }
    }
}

/* The cells of level `l` in a block. */
static struct box block_of(const struct blocks *b, int l, int64_t block)
{
    struct box box = b->level[l];
    const int64_t first = b->level[0].lo[AXIS_Z] + block * BLOCK_PLANES - l * b->lag;
    box.lo[AXIS_Z] = first > box.lo[AXIS_Z] ? first : box.lo[AXIS_Z];
    box.hi[AXIS_Z] = first + BLOCK_PLANES < box.hi[AXIS_Z] ? first + BLOCK_PLANES : box.hi[AXIS_Z];
    return box;
}

/* Advance a block from level `l` to the next. Faces are summed in the cells of the tile only. */
static void advance_block(const struct blocks *b, int l, int64_t block)
{
    const struct box cells = block_of(b, l + 1, block);
    const struct box inner = box_intersect(&cells, &b->level[b->pass->nsteps]);
    const bool divided = b->summed && !box_is_empty(&inner);
    struct tally none[FACE_COUNT] = {{.target = NULL}};
    struct box pieces[FACE_COUNT];
    struct step_call call = {.layout = &b->window,
                             .args = &b->args[l],
                             .out = level_field(b, l + 1),
                             .in = level_field(b, l),
                             .boxes = &cells,
                             .nboxes = 1};
    thread_function *const part = step_kinds[b->window.precision][call.args->kind]->part;
    if (box_is_empty(&cells)) {
        return;
    }
    if (call.args->corrects) {
        copy_rows(&cells, b->cell_bytes, &b->window, level_field(b, l + 1), &b->window,
                  level_field(b, l - 1));
    }
    if (divided) {
        call.boxes = &inner;
        part(&call, b->tally[l]);
        call.boxes = pieces;
        call.nboxes = box_shell(&cells, &inner, pieces);
    }
    part(&call, none);
}

/* Let the planes that the next block needs be the first ones. */
static void next_block(struct blocks *b)
{
    const size_t plane = (size_t)b->window.pitch_z * b->cell_bytes;
    const size_t bytes = 2 * (size_t)b->lag * plane;
    for (int l = 0; l < b->pass->nsteps; l++) {
        char *const first = b->memory + (size_t)(b->lag * b->pass->nsteps) * plane +
                            (size_t)(l * b->window.elements) * b->cell_bytes;
        memmove(first, first + BLOCK_PLANES * plane, bytes);
    }
    b->window.origin -= BLOCK_PLANES * b->window.pitch_z;
}

/* The cells that a step to `level` reads. Next to a closed face a stencil of high order reads those
 * from the face on. */
static struct box level_before(const struct steps_pass *pass, const struct box *level)
{
    const int64_t reach = reach_of(pass->args);
    struct box before = steps_level(pass, level, (int)reach);
    for (int axis = 0; axis < AXIS_COUNT && reach > 1; axis++) {
        const int64_t n = pass->layout->cells[axis];
        if (pass->args->high_order.used[axis] && pass->args->closed[2 * axis] &&
            level->lo[axis] < reach && before.hi[axis] < 2 * reach) {
            before.hi[axis] = 2 * reach;
        }
        if (pass->args->high_order.used[axis] && pass->args->closed[2 * axis + 1] &&
            level->hi[axis] > n - reach && before.lo[axis] > n - 2 * reach) {
            before.lo[axis] = n - 2 * reach;
        }
    }
    return before;
}

/* The levels of a tile, and what their steps take. */
static void prepare(struct blocks *b, const struct box *tile)
{
    const struct steps_pass *pass = b->pass;
    const struct box owned = layout_owned(pass->layout);
    const int64_t line = STREAM_LINE_BYTES / (int64_t)b->cell_bytes;
    b->level[pass->nsteps] = *tile;
    for (int l = pass->nsteps - 1; l >= 0; l--) {
        b->level[l] = level_before(pass, &b->level[l + 1]);
    }
    for (int l = 0; l < pass->nsteps; l++) {
        b->args[l] = pass->args[l];
        /* rows outside the subdomain have no numbers */
        b->args[l].medium.numbered =
            pass->args[l].medium.numbered && box_contains(&owned, &b->level[1]);
        for (int face = 0; face < FACE_COUNT; face++) {
            const struct box layer = box_inside(&owned, (enum face)face, 1);
            const struct box cells = box_intersect(&layer, tile);
            b->summed = b->summed || (pass->args[l].closed[face] && !box_is_empty(&cells) &&
                                      pass->args[l].d_face_sum[face] != NULL);
        }
    }
    /* rows begin at lines, and with room for one before them */
    const int64_t *first = b->level[0].lo;
    const int64_t x = (first[AXIS_X] & -line) - line;
    const int64_t z = first[AXIS_Z] - b->lag * (pass->nsteps + 2);
    b->window = window_of(pass, tile);
    b->window.origin = -(x + first[AXIS_Y] * b->window.pitch_y + z * b->window.pitch_z);
}

static void blocks_tile(const struct steps_pass *pass, const struct box *tile,
                        const struct steps_choice *choice, void *memory,
                        struct tally (*tally)[FACE_COUNT])
{
    const int nsteps = pass->nsteps;
    struct blocks b = {.pass = pass,
                       .cell_bytes = precision_bytes(pass->layout->precision),
                       .lag = lag_of(pass->args),
                       .tally = tally,
                       .memory = memory};
    prepare(&b, tile);
    const int64_t planes = b.level[nsteps].hi[AXIS_Z] - b.level[0].lo[AXIS_Z] + nsteps * b.lag;
    for (int64_t block = 0; block * BLOCK_PLANES < planes; block++) {
        const struct box first = block_of(&b, 0, block);
        copy_rows(&first, b.cell_bytes, &b.window, level_field(&b, 0), pass->layout, pass->in);
        for (int l = 0; l < nsteps; l++) {
            advance_block(&b, l, block);
        }
        const struct box last = block_of(&b, nsteps, block);
        copy_rows(&last, b.cell_bytes, pass->layout, pass->out, &b.window, level_field(&b, nsteps));
        next_block(&b);
    }
}

const struct steps_schedule steps_blocks = {blocks_tiling, blocks_memory, blocks_tile};
