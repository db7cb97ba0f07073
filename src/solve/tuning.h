/* Which launch shape the step takes: from the cache, or by a short search. Only speed depends on
 * it. */
#ifndef ISOTHERM_SOLVE_TUNING_H
#define ISOTHERM_SOLVE_TUNING_H

#include "kernels/backend.h"
#include "solve/tuning_cache.h"

struct run;

/* What is tuned: `step` on one box. What d_out holds in the box is lost; d_in is not changed. */
struct tuning_target {
    const struct backend *backend;
    struct device *device;
    struct queue *queue;
    const struct layout *layout;
    struct step_args args; /* its face sums are replaced by others */
    void *d_out;
    const void *d_in;
    struct box box;
};

enum { TUNING_MAX_SHAPES = 32 };

enum tuning_source {
    TUNING_NONE,   /* nothing to choose, or too small to matter */
    TUNING_CACHE,  /* a run before has searched */
    TUNING_SEARCH, /* searched now */
};

struct tuning_result {
    enum tuning_source source;
    struct tuning_entry entry;
    double search_s;
    int nshapes;
    const char *names[TUNING_MAX_SHAPES]; /* of a search: the first is the backend's own rule */
    double seconds[TUNING_MAX_SHAPES];    /* a step, median */
};

/* Choose a shape and make the backend use it. `again`: search though the cache knows. Warns once
 * of a cache that cannot be read; writes nothing. Not collective. Fails only where a step would. */
enum status tuning_choose(const struct tuning_target *target, bool again,
                          struct tuning_result *result) MUST_CHECK;

/* Remember the results of searches; at most a warning when that fails. */
void tuning_remember(const struct tuning_entry *entries, int nentries);

/* Collective. tuning_choose for the box that each rank's bulk queue advances; one rank of each node
 * writes what its ranks have found. The state is not changed. */
enum status tuning_of_run(struct run *run) MUST_CHECK;

#endif
