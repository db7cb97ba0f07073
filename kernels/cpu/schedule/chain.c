/* Several uniform steps in one pass: tiles that march through the box, with the values of all steps
 * in registers (chain_march.h). */

#include "kernels/cpu/kind/uniform.h"
#include "kernels/cpu/schedule/pass.h"

enum {
    STEPS_CHAIN = 4,   /* levels whose values stay in registers */
    STEPS_BETWEEN = 4, /* rows between two chains */
    STEPS_PLANE_MOST = 256 * 1024,
    /* From plane to plane: room for tiles that end at multiples of 64 cells. With this and the
     * pitch of a row, no level's loads have the low 12 bits of another's stores. */
    STEPS_PLANE_BYTES = 2 * STEPS_PLANE_MOST + 8 * STREAM_LINE_BYTES,
    STEPS_PIECE_MOST = 8192,
    STEPS_ROW_BYTES = 4096 /* of a tile, at most */
};

/* Is z not in use? */
static bool steps_are_flat(const struct steps_pass *pass)
{
    bool flat = pass->layout->cells[AXIS_Z] == 1;
    for (int face = FACE_Z_MIN; face <= FACE_Z_MAX; face++) {
        for (int s = 0; s < pass->nsteps; s++) {
            const struct coefficients *args = &pass->args[s];
            flat = flat && args->closed[face] && args->a[face] == 1 && args->b[face] == 0;
        }
    }
    return flat;
}

/* The widest vectors. */
#if STREAM_HAS_WIDE
#define STEPS_VECTOR stream_line
#define STEPS(name) stream_line_##name
#define STEPS_TARGET STREAM_WIDE
#define STEPS_SHIFT 1 /* neighbours in x by shifting registers; there are enough */
KERNEL_INLINE void stream_line_store_streaming(struct stream_line line, void *to)
{
    stream_part(to, &line);
    stream_part((char *)to + STREAM_PART_BYTES, (const char *)&line + STREAM_PART_BYTES);
}
#else
#define STEPS_VECTOR stream_vector
#define STEPS(name) stream_##name
#define STEPS_TARGET
#define STEPS_SHIFT 0
KERNEL_INLINE void stream_store_streaming(struct stream_vector vector, void *to)
{
    stream_part(to, &vector);
}
#endif

/* Would loads of the rows next to a line have the low 12 bits of a store, of that or of another
 * level, with rows that far apart? */
static bool steps_alias(int64_t pitch)
{
    enum { PAGE = 4096, LAG = sizeof(struct STEPS_VECTOR) };
    const int64_t plane = STEPS_PLANE_BYTES % PAGE;
    for (int apart = 1 - STEPS_CHAIN; apart < STEPS_CHAIN; apart++) {
        for (int side = -1; side <= 1; side += 2) {
            const int64_t level = apart * (2 * plane - LAG);
            const int64_t up = (level + side * plane + pitch) & (PAGE - 1);
            const int64_t down = (level + side * plane - pitch) & (PAGE - 1);
            if (up < LAG || up > PAGE - LAG || down < LAG || down > PAGE - LAG) {
                return true;
            }
        }
    }
    return false;
}

/* Bytes from row to row of a level that has `bytes` of cells; see STEPS_PLANE_BYTES. */
static int64_t steps_pitch(int64_t bytes)
{
    const int64_t line = STREAM_LINE_BYTES;
    int64_t pitch = (bytes + line - 1) / line * line + 2 * line;
    while (steps_alias(pitch)) {
        pitch += line;
    }
    return pitch;
}

#include "kernels/cpu/schedule/chain_march.h"

/* The division of a box into tiles for `nthreads`: the one that computes the fewest cells. */
static struct tiling chain_tiling(const struct steps_pass *pass, const struct box *box,
                                  const struct steps_choice *choice, int nthreads)
{
    const int nsteps = pass->nsteps;
    const int64_t wish = choice->level_bytes / (2 * nsteps);
    const int64_t plane_bytes = wish < STEPS_PLANE_MOST ? wish : STEPS_PLANE_MOST;
    const int64_t cell = sizeof(REAL);
    const int64_t line = STREAM_LINE_BYTES;
    const int64_t nx = box_extent(box, AXIS_X);
    const int64_t ny = box_extent(box, AXIS_Y);
    const int64_t nz = box_extent(box, AXIS_Z);
    const bool flat = steps_are_flat(pass);
    struct tiling best = {1, 1, 1};
    double least = -1;
    const int64_t fewest = (nx * cell + STEPS_ROW_BYTES - 1) / STEPS_ROW_BYTES;
    const int64_t most = 4 * fewest + 4;
    for (int64_t tx = fewest; tx <= most; tx += at_least_one(fewest / 8)) {
        const int64_t width = (nx + tx - 1) / tx;
        const int64_t pitch = steps_pitch(width * cell + (tx > 1 ? 2 : 0) * line);
        const int64_t room = plane_bytes / pitch - 2;
        const int64_t rows = flat ? 1 : room - 2 * nsteps;
        if (rows < 1 || room < 1 || (tx > 1 && width * cell < 512)) {
            continue;
        }
        const int64_t ty = flat ? 1 : (ny + rows - 1) / rows;
        for (int64_t tz = 1; tz == 1 || tz <= (flat ? ny : nz) / 16; tz++) {
            const int64_t ntiles = tx * ty * tz;
            const int64_t rounds = (ntiles + nthreads - 1) / nthreads;
            const int64_t extra_x = tx > 1 ? 2 * line / cell : 0;
            const double extra_y = flat || ty == 1 ? 0.0 : (double)(nsteps - 1);
            const double cost =
                (double)(width + extra_x) * ((double)(flat ? 1 : ny) / (double)ty + extra_y) *
                ((double)(flat ? ny : nz) / (double)tz + (double)nsteps - 1) * (double)rounds;
            if (least < 0 || cost < least) {
                least = cost;
                best = flat ? (struct tiling){tx, tz, 1} : (struct tiling){tx, ty, tz};
            }
            if (tz > 4 * nthreads) {
                break;
            }
        }
    }
    return best;
}

static size_t chain_memory(const struct steps_pass *pass, const struct steps_choice *choice,
                           int nthreads)
{
    return (size_t)STEPS_PLANE_BYTES * 2 * (size_t)pass->nsteps;
}

static void chain_tile(const struct steps_pass *pass, const struct box *tile,
                       const struct steps_choice *choice, void *memory,
                       struct tally (*tally)[FACE_COUNT])
{
    steps_tile(pass, tile, choice->piece_bytes, memory, tally);
}

const struct steps_schedule NAMED(steps_chain) = {chain_tiling, chain_memory, chain_tile};
