/* One step of the tiles that may change, each by one thread. */
#include <string.h>

#include "kernels/cpu/schedule/pass.h"
#include "kernels/cpu/schedule/threads.h"

static bool differ(const struct step_args *args, const struct box *box)
{
    const size_t cell = precision_bytes(args->layout.precision);
    const size_t bytes = (size_t)box_extent(box, AXIS_X) * cell;
    bool any = false;
    for (int64_t k = box->lo[AXIS_Z]; k < box->hi[AXIS_Z] && !any; k++) {
        for (int64_t j = box->lo[AXIS_Y]; j < box->hi[AXIS_Y] && !any; j++) {
            const size_t at = (size_t)layout_index(&args->layout, box->lo[AXIS_X], j, k) * cell;
            any = memcmp((const char *)args->d_out + at, (const char *)args->d_in + at, bytes) != 0;
        }
    }
    return any;
}

/* The sums of a tile are kept, for steps that leave it out. */
static void advance_tile(const struct step_args *args, int64_t tile)
{
    const struct tiles *tiles = args->tiles;
    const struct box box = tiles_box(tiles, tile);
    struct coefficients own = *args->levels;
    struct tally tally[FACE_COUNT];
    const struct step_call call = {.layout = &args->layout,
                                   .args = &own,
                                   .out = args->d_out,
                                   .in = args->d_in,
                                   .boxes = &box,
                                   .nboxes = 1};
    for (int face = 0; face < FACE_COUNT; face++) {
        if (own.d_face_sum[face] != NULL) {
            own.d_face_sum[face] = &tiles->d_sums[tile * FACE_COUNT + face];
            *own.d_face_sum[face] = (struct exact_sum){{0}};
        }
    }
    tally_begin(tally, &own);
    step_kinds[args->layout.precision][own.kind]->part(&call, tally);
    tally_end(tally);
    if (differ(args, &box)) {
        tiles->d_changed[tile] = tiles->step;
    }
    if (args->d_bits != NULL) {
        const struct add_bits_args bits = {
            .layout = args->layout, .d_plus = args->d_out, .d_minus = args->d_in};
        const uint32_t sum = cpu_bits_of(&bits, &box);
#pragma omp atomic
        *args->d_bits += sum;
    }
}

/* Of tiles that are not on the face they are 0. */
static void add_sums(const struct step_args *args)
{
    for (int64_t n = 0; n < tiles_total(args->tiles) * FACE_COUNT; n++) {
        struct exact_sum *sum = args->levels->d_face_sum[n % FACE_COUNT];
        if (sum != NULL) {
            exact_sum_add(sum, &args->tiles->d_sums[n]);
        }
    }
}

void cpu_step_awake(const struct step_args *args)
{
    const struct tiles *tiles = args->tiles;
    const int64_t total = tiles_total(tiles);
    int64_t n = 0;
    for (int64_t tile = 0; tile < total; tile++) {
        if (tiles_wake(tiles, tile)) {
            tiles->d_list[n++] = (uint32_t)tile;
        }
    }
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < n; i++) {
        advance_tile(args, tiles->d_list[i]);
    }
    add_sums(args);
    tiles->d_awake->count[tiles->step % 2] = (uint32_t)n;
    tiles->d_awake->advanced += (uint64_t)n;
}
