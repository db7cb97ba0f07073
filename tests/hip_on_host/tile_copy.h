/* What sm_90 has and HIP has no name for, on the host: arrivals that are counted in shared memory
 * (mbarriers), tiles that an engine copies there, and shared memory with addresses of its own.
 *
 * A copy ends as late as possible: when no thread of the block can run; or, in a random order of
 * threads, at any time. From its begin to its end its tile holds NaN. Not seen: a fence that is
 * missing. */
#pragma once

#include "hip/hip_runtime.h"

namespace hip_on_host
{
/* Cells outside [0, cells) are zeros in a tile. */
struct tile_map {
    const char *first;
    int64_t cells[3];
    int64_t pitch_bytes[2]; /* of rows, of planes */
    int tile[2];            /* cells in x and y */
    int cell_bytes;
};
/* What cuTensorMapEncodeTiled asks for. */
bool tile_map_fits(const tile_map &map);
void tile_copy(void *tile, const tile_map &map, uint64_t *arrivals, int64_t x, int64_t y,
               int64_t z);

void arrivals_init(uint64_t *arrivals, int threads);
void arrive(uint64_t *arrivals, int64_t bytes);
/* May wait for a while. */
bool arrivals_ended(uint64_t *arrivals, unsigned parity);

uint32_t shared_address(const void *shared);
/* Ends the program unless all bytes are in the launch's shared memory, aligned to their number. */
void *shared_at(uint32_t address, size_t bytes);

/* What all lanes of a wave have; else the program ends. */
int same_in_wave(const char *operation, int value);
} /* namespace hip_on_host */
