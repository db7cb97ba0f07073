/* Which tiles, fetched ahead into which cache, are fastest here and now: found by timing the steps
 * themselves.
 *
 * The best height of a tile depends on what limits the machine at the moment: with memory to spare
 * the three planes of a tile must stay in the second-level cache; when the memory is the limit,
 * taller tiles win because fewer rows are read twice. The same machine moves between the two. The
 * cache to fetch into depends on the chip: on one the first level can wait for enough lines at a
 * time, on another only the second can, and on a third neither can wait for enough of them unless
 * three planes at once need fewer (docs/kernels_cpu.md). So the choice is made while the steps run,
 * and made again now and then. It changes the order of the rows and never a bit of the result. */
#ifndef ISOTHERM_KERNELS_CPU_TILE_TUNER_H
#define ISOTHERM_KERNELS_CPU_TILE_TUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/box.h"

enum {
    TILE_TUNER_CHOICES = 8,
    TILE_TUNER_SHAPES = 4,   /* boxes told apart: a block, and its interior with each overlap */
    TILE_TUNER_ROUNDS = 2,   /* times that every choice is tried before one is taken */
    TILE_TUNER_RETRY = 64,   /* so many steps apart, another choice is tried again */
    TILE_TUNER_SELDOM = 8,   /* and one that was far off only every so many times */
    TILE_TUNER_FEW = 1 << 20 /* boxes of fewer cells are not worth it */
};

/* The step kernels that are tried: cpu_step_ahead, cpu_step_wide and cpu_step_planes. */
enum tile_way { TILE_AHEAD, TILE_WIDE, TILE_PLANES, TILE_WAY_COUNT };

struct tile_choice {
    int64_t bytes; /* of input that a tile holds of one plane */
    enum tile_way way;
};
extern const struct tile_choice tile_tuner_choice[TILE_TUNER_CHOICES];

/* What is known of one shape of box. */
struct tile_record {
    int64_t extent[AXIS_COUNT]; /* cells; 0: unused */
    size_t cell_bytes;
    int64_t calls;
    int best;
    int trials[TILE_TUNER_CHOICES];     /* TILE_TUNER_ROUNDS: or more */
    double seconds[TILE_TUNER_CHOICES]; /* of a step; 0: not tried yet */
    bool far[TILE_TUNER_CHOICES];       /* when last tried, from the best of that time */
};

/* Starts as all zeros. One thread uses it. */
struct tile_tuner {
    struct tile_record record[TILE_TUNER_SHAPES];
    int next; /* the record to give up when a new shape comes */
};

/* The record for this box, with what is known of its shape so far; NULL for a small box, where
 * trying would cost more than it gives. */
struct tile_record *tile_tuner_find(struct tile_tuner *tuner, const struct box *box,
                                    size_t cell_bytes);
/* The choice for the next step, as an index of tile_tuner_choice; tell its time afterwards. */
int tile_record_choose(const struct tile_record *record);
void tile_record_tell(struct tile_record *record, int choice, double seconds);

#endif
