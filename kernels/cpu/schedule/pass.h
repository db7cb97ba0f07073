/* A pass of several steps of a uniform medium, and the schedule that divides it into tiles. */
#pragma once

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/tally.h"
#include "kernels/cpu/schedule/tile_tuner.h"
#include "kernels/cpu/schedule/tiling.h"

/* A queue of the backend `cpu`: what its passes need; initially zeros. */
struct queue {
    struct tile_tuner tuner[STEPS_MOST + 1]; /* of passes of that many steps */
    void *memory;
    size_t bytes;
};

/* The arguments of a pass of several steps. */
struct steps_pass {
    const struct layout *layout;
    const struct coefficients *args; /* of each step */
    int nsteps;
    void *out;
    const void *in;
    const struct box *boxes;
    int nboxes;
};

/* How a box is divided: one of the tuner's choices (tile_tuner.h). */
struct steps_choice {
    int64_t level_bytes; /* of the planes of all levels of a tile, in the L2 cache */
    int64_t piece_bytes; /* of a row, of which a few stay in the L1 cache */
};

struct steps_schedule {
    struct tiling (*tiling)(const struct steps_pass *pass, const struct box *box,
                            const struct steps_choice *choice, int nthreads);
    /* Of one thread, in bytes: a multiple of a line. */
    size_t (*memory)(const struct steps_pass *pass, const struct steps_choice *choice,
                     int nthreads);
    void (*tile)(const struct steps_pass *pass, const struct box *tile,
                 const struct steps_choice *choice, void *memory,
                 struct tally (*tally)[FACE_COUNT]);
};
extern const struct steps_schedule steps_chain_float64, steps_chain_float32;

/* The cells that are known `rest` cells around `box`: not those beyond closed faces. */
struct box steps_level(const struct steps_pass *pass, const struct box *box, int rest);

/* One step of args->tiles. */
void cpu_step_awake(const struct step_args *args);
