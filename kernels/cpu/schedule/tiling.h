/* How a step kernel goes through the cells of a thread: tiles, stores and prefetching. */
#pragma once

#include "base/box.h"
#include "kernels/cpu/schedule/stream.h"

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
    bool corrects;              /* see struct coefficients; with ordinary stores */
};

/* How a vector of cells is written. */
enum step_writing { STEP_STORED, STEP_STREAMED, STEP_CORRECTED };

enum { STEP_PLANES = 3 };

/* The number of tiles of a box along each axis. */
struct tiling {
    int64_t nx, ny, nz;
};

static inline int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

static inline struct tiling tiling_of(const struct box *box, size_t cell_bytes,
                                      struct schedule schedule)
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

enum { TILE_UNIT = 64 }; /* cells of a row, at whose multiples it is divided */

/* Tile (x, y, z) of the box; divided in x at cache lines, in z between blocks of planes. */
static inline struct box tile_at(const struct box *box, const struct tiling *tiling, int64_t x,
                                 int64_t y, int64_t z)
{
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
        tile.lo[AXIS_X] = (box->lo[AXIS_X] + nx * x / tiling->nx) / TILE_UNIT * TILE_UNIT;
    }
    if (x + 1 < tiling->nx) {
        tile.hi[AXIS_X] = (box->lo[AXIS_X] + nx * (x + 1) / tiling->nx) / TILE_UNIT * TILE_UNIT;
    }
    return tile;
}

/* Measured, see docs/records/kernels_cpu.md. The neighbours of a tile are still in the L3 cache
 * when the next tile reads them. */
enum { TILE_ROW_BYTES = 8192, COLUMN_PLANES = 64, AHEAD_BYTES = 8192 };
#define TILED                                                                                      \
    .tile_row_bytes = TILE_ROW_BYTES, .tile_bytes = tile_bytes,                                    \
    .column_bytes = COLUMN_PLANES * tile_bytes
#define TILED_AHEAD                                                                                \
    TILED, .stream = true, .ahead_to = STREAM_FIRST_LEVEL, .ahead_bytes = AHEAD_BYTES,             \
           .touch_pages = true
#define TILED_WIDE                                                                                 \
    TILED, .stream = true, .ahead_to = STREAM_SECOND_LEVEL, .ahead_bytes = AHEAD_BYTES, .wide = true
