/* Marks on tiles (kernels/tiles.h). */
#include "kernels/hip/device/visit.h"

struct mark_tile {
    struct tiles tiles;
    __device__ void operator()(int64_t x, int64_t y, int64_t z) const
    {
        tiles.d_changed[tiles_number(&tiles, x, y, z)] = tiles.step;
    }
};

enum status hip_mark_tiles(struct queue *queue, const struct mark_tiles_args *args)
{
    for (int b = 0; b < args->nboxes; b++) {
        TRY(visit(queue, tiles_meet(args->tiles, &args->boxes[b]), mark_tile{*args->tiles},
                  "mark_tiles"));
    }
    return STATUS_OK;
}
