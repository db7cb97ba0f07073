/* The choice of tile height and prefetch level, by timing the steps of the run.
 *
 * The best height depends on what limits the machine at the moment, memory or caches, and the best
 * level on the chip (docs/records/kernels_cpu.md). So the choice is made while the steps run, and
 * revised now and then. It changes the order of the rows and never a bit of the result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/box.h"

enum {
    TILE_TUNER_CHOICES = 8,
    TILE_TUNER_SHAPES = 4,   /* shapes of boxes that are tuned separately */
    TILE_TUNER_ROUNDS = 2,   /* trials of every choice before one is taken */
    TILE_TUNER_RETRY = 64,   /* steps between later trials of another choice */
    TILE_TUNER_SELDOM = 8,   /* a slow choice gets only every n-th of these */
    TILE_TUNER_FEW = 1 << 20 /* boxes of fewer cells are not tuned */
};

/* The step kernels that are tried: cpu_step_ahead, cpu_step_wide and cpu_step_planes. */
enum tile_way { TILE_AHEAD, TILE_WIDE, TILE_PLANES, TILE_WAY_COUNT };

struct tile_choice {
    int64_t bytes; /* of input per plane of a tile */
    enum tile_way way;
};
extern const struct tile_choice tile_tuner_choice[TILE_TUNER_CHOICES];

/* The measurements for one shape of box. */
struct tile_record {
    int64_t extent[AXIS_COUNT]; /* cells; 0: unused */
    size_t cell_bytes;
    int64_t calls;
    int best;
    int trials[TILE_TUNER_CHOICES];     /* at most TILE_TUNER_ROUNDS */
    double seconds[TILE_TUNER_CHOICES]; /* of a step; 0: not tried yet */
    bool far[TILE_TUNER_CHOICES];       /* at least twice the best, when last tried */
};

/* Initially zeros. For one thread. */
struct tile_tuner {
    struct tile_record record[TILE_TUNER_SHAPES];
    int next; /* the record to reuse for a new shape */
};

/* The record for the shape of this box; NULL for a box that is too small to tune. */
struct tile_record *tile_tuner_find(struct tile_tuner *tuner, const struct box *box,
                                    size_t cell_bytes);
/* The choice for the next step, as an index of tile_tuner_choice; then record its time. */
int tile_record_choose(const struct tile_record *record);
void tile_record_tell(struct tile_record *record, int choice, double seconds);
