/* The input of gcd_sim: the operations of waves, and one or two launches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORIES = 8, LAUNCHES = 2, WAVES = 16 /* of a block */, SETS = 3 };

struct piece {
    int64_t first, length;
};
struct op {
    char kind;
    int a, b; /* the numbers of the line; of L and S the memory and the hint */
    int npieces;
    struct piece *pieces;
};
extern struct op *ops;
struct slot {      /* of a block of a compute unit */
    int left, met; /* waves that have not ended; that wait at a barrier */
    double met_at;
};
struct programs { /* of the waves of a block */
    int begin[WAVES + 1], count;
};
struct launch {
    struct programs programs[SETS]; /* of inner blocks, the last in y, others at edges */
    int nsets;                      /* after the first one */
    int64_t blocks[3], edge;
    int64_t base[MEMORIES], stride[MEMORIES][3], wave_offset[WAVES][MEMORIES];
    int nmemories, waves_per_block;
    int64_t needs[2], after; /* LDS, registers; ns */
    int resident, first_wave;
    int64_t all, next, done; /* blocks */
    struct slot *slots;
    double end;
};
extern struct launch launches[LAUNCHES];
extern int nlaunches;

/* Zeros; ends the program where there is no memory. */
void *allocate(size_t n, size_t size);
/* From standard input; ends the program with a message where a line is wrong. */
void read_input(void);
