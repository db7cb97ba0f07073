/* The faults that the self-check finds: whose they are, and where. */
#pragma once

#include "solve/observe/self_check_flips.h"

/* Device memory that steps read and never write: the classes of cells, unless materials change,
 * the numbers of patches, and fields of sources. */
struct kept {
    void *d_memory, *d_copy;
    size_t bytes;
    uint32_t bits; /* the sum of its words */
};

struct self_check {
    struct stepper *stepper;
    struct flips flips;
    int64_t next;     /* the step from which steps are computed twice */
    int64_t verified; /* the step at which all that is kept was right */
    /* The last state before steps that were computed twice. */
    bool begun;
    struct state start;
    void *d_start;
    void *d_other;     /* the field of the first result */
    struct kept *kept; /* [nkept]: the classes first, if there are any */
    int nkept;
    uint32_t *d_bits; /* the sum of the passes (level.h), and others */
    int *faults;      /* [nranks] */
    int last_rank;    /* of the last fault; -1: unknown */
};

enum {
    DEVICE_TEXT = 320,
    FAULTS_MOST = 2 /* of one device: it then ends the run */
};

/* Rank 0 names the device of a rank; -1: unknown. */
void self_check_name_device(const struct stepper *stepper, int rank, char text[DEVICE_TEXT]);

/* Collective. Let *wrong hold on all ranks if it holds on any, and then count a fault of the
 * highest of these: `device` is its name, for messages of rank 0. */
enum status self_check_agree(struct self_check *check, bool *wrong, char device[DEVICE_TEXT]);

/* Collective. Say where the field of the first result, in d_other, and the present one differ, and
 * unless the fault `is_counted`, count it: it is that of the rank with the largest difference,
 * which decays with the distance. `after`: the state at the end of the steps. */
enum status self_check_locate(struct self_check *check, const struct state *after, bool is_counted);

/* Collective. Whether cells of a pass can be computed on the host: of forward Euler, without
 * sources and without enthalpies. */
bool self_check_host_takes(const struct stepper *stepper);

/* Collective. The state is that of d_start, one pass of `steps` steps later. Compute a tile of each
 * rank from d_start by the kernels of the backend `cpu`. *wrong: on any rank it has other bits;
 * the caller counts the fault. */
enum status self_check_on_host(struct self_check *check, int64_t steps, bool *wrong);
