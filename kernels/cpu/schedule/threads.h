/* The threads of a step kernel, and their face sums. */
#pragma once

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/schedule/share.h"
#include "kernels/cpu/schedule/tally.h"
#include "kernels/cpu/schedule/tile_tuner.h"

/* One step. */
struct step_call {
    const struct layout *layout;
    const struct coefficients *args;
    void *out;
    const void *in;
    const struct box *boxes;
    int nboxes;
    int64_t tile_bytes;        /* of input in a plane of a tile */
    struct share_taken *taken; /* of each thread; NULL: shares are fixed */
};

/* With the tiles that the tuner tries first. */
static inline struct step_call step_call_of(const struct step_args *args)
{
    return (struct step_call){.layout = &args->layout,
                              .args = args->levels,
                              .out = args->d_out,
                              .in = args->d_in,
                              .boxes = args->boxes,
                              .nboxes = args->nboxes,
                              .tile_bytes = tile_tuner_choice[0].bytes};
}

/* The part of a thread; `tally`: its own, one per face. */
typedef void thread_function(const struct step_call *call, struct tally *tally);

void step_parallel(thread_function *thread, const struct step_call *call);

/* How a kind of coefficients is advanced. */
struct step_kind {
    void (*step)(struct tile_tuner *tuner, struct step_call *call); /* `tuner` may be NULL */
    /* One step by one thread, without streaming stores. */
    thread_function *part;
};
/* By precision, and kind. */
extern const struct step_kind *const step_kinds[2][KIND_COUNT];

/* By the ways and tiles that `tuner` chooses; NULL, or where it does not know the boxes: the first.
 * cell_bytes: of all that a cell brings. */
void step_tuned(struct tile_tuner *tuner, thread_function *const threads[TILE_WAY_COUNT],
                size_t cell_bytes, struct step_call *call);
