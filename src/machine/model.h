/* Another machine as numbers with their sources, and the time of a pass on it: for `plan`. */
#pragma once

#include "config/read/settings_tree.h"
#include "machine/placement.h"
#include "model/problem.h"

enum { MACHINE_RATES_MOST = 128 };

/* A range, both ends equal where one number is known. The source begins with "measured",
 * "published", "predicted" or "assumed". */
struct machine_value {
    double low, high;
    const char *source;
};

/* In units of SI, per rank; the keys of the file have theirs. */
enum machine_number {
    MACHINE_RANKS_PER_NODE,
    MACHINE_RANKS_PER_MODULE,
    MACHINE_RANKS_PER_NIC, /* that share a network card */
    MACHINE_MEMORY,        /* B */
    MACHINE_COPY,          /* B/s, reading and writing: packing */
    MACHINE_MODULE,        /* B/s in one direction, inside a module */
    MACHINE_NODE,          /* B/s, on the slowest link inside a node */
    MACHINE_NETWORK,       /* B/s, of a network card */
    MACHINE_LAUNCH,        /* s, from a kernel to the next */
    MACHINE_WAIT,          /* s, of the host for a packed message */
    MACHINE_LATENCY,       /* s, of the first message */
    MACHINE_MESSAGE,       /* s, of each further one */
    MACHINE_SHELL,         /* the time of a cell beside a cut, in those of an inner one */
    MACHINE_JITTER,        /* the share of a pass lost at each doubling of the nodes */
    MACHINE_POWER,         /* W; it and what follows may be unknown */
    MACHINE_TILE_ROWS,     /* rows of a tile in y, in passes of several steps */
    MACHINE_TILE_IDLE,     /* the share of a full tile's time that an empty one takes */
    MACHINE_NUMBERS
};

/* Cell updates per second of a kernel without neighbours. */
struct machine_rate {
    const char *medium; /* "uniform", "classes", "faces", "enthalpy", or "order_4" to "order_8" */
    enum precision precision;
    int steps; /* per pass */
    double cells;
    double planes; /* in z; 0: any */
    struct machine_value per_s;
};

struct machine_model {
    char title[512];
    struct machine_value number[MACHINE_NUMBERS]; /* no source: unknown */
    struct machine_rate rate[MACHINE_RATES_MOST];
    int nrates;
    struct settings_origin *origin; /* owns the texts */
};

/* Add the values of a file, which replace those of earlier ones. `bytes` of `name`, which must live
 * as long as the machine, are YAML: a file of jobscripts/machines, or what `bench kernels --json`
 * or `bench halo --json` wrote. STATUS_INPUT with file, line and key. Destroy it, on failure too;
 * it starts zeroed. */
enum status machine_model_read(const char *name, const char *bytes, size_t nbytes,
                               struct machine_model *machine);
/* STATUS_INPUT names a number that no file has. */
enum status machine_model_complete(const struct machine_model *machine);
void machine_model_destroy(struct machine_model *machine);

/* The rate for a block, between those of the file by the logarithm of the cells, of equal ones
 * those with the most similar number of planes; measured ones only, where there are any. False: the
 * file has none of this kind and number of steps. */
bool machine_rate_of(const struct machine_model *machine, const struct problem *problem, int steps,
                     const struct box *block, struct machine_value *per_s);

enum { MACHINE_FAST, MACHINE_SLOW, MACHINE_ENDS };

/* One pass of the rank that takes longest, at both ends of the range, in s. */
struct machine_pass {
    int steps;
    const char *source; /* from the machine's rate */
    double rate[MACHINE_ENDS];
    double kernel[MACHINE_ENDS];   /* with the cells of the halo that are computed again */
    double exchange[MACHINE_ENDS]; /* with packing; 0: one rank */
    double network[MACHINE_ENDS];  /* the transfer alone */
    double total[MACHINE_ENDS];    /* the faster of with and without overlap */
};

/* `steps` of a pass on the blocks of `decomp`, with ranks that fill the nodes in order.
 * STATUS_INPUT when the machine has no rate for it. Not collective. */
enum status machine_predict(const struct machine_model *machine, const struct problem *problem,
                            const struct decomp *decomp, int steps, struct machine_pass *pass);
