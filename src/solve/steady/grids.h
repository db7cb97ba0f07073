/* The grids of the multigrid that finds steady states, from that of the problem to one cell
 * (docs/reference/numerics.md#steady-states). */
#pragma once

#include "halo/exchange.h"
#include "machine/team.h"
#include "model/operator/operator.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"

/* Every coarser grid has at most about half the cells, and there is one copy. */
enum { STEADY_GRIDS_MOST = 64 };

struct steady_grid {
    struct multigrid m;
    struct decomp decomp; /* of the cells of this grid */
    bool shared;          /* each rank has its block; else every rank has all cells */
    bool copies;          /* the cells are those of the grid before, which is shared */
    struct halo_plan plan;
    struct halo *halo; /* NULL: nothing to exchange */
    float *d_r;        /* the heat that each cell still lacks */
    float *d_e;        /* the correction that gives it, and one of the step before */
    float *d_other;
};

struct steady_grids {
    struct engine *engine; /* borrowed, as are the next two */
    const struct team *team;
    const struct problem *problem;
    int count;
    struct steady_grid grid[STEADY_GRIDS_MOST];
    struct {
        void **d_block;
        int count;
    } memory;
    void *d_block; /* of the shared grid that is copied: this rank's cells */
    void *h_copy;  /* all of them */
};

/* Device memory per rank, about: with grids that are coarsened on all axes. */
uint64_t steady_grids_bytes(const struct problem *problem, const struct box *owned, int nranks);

/* Collective, agreed. The conductances are those of `op`, in units of its step. `classes`: before
 * classes_allocate. Destroy also after a failure. */
enum status steady_grids_create(const struct problem *problem, const struct team *team,
                                struct engine *engine, const struct classes *classes,
                                const struct heat_operator *op, struct steady_grids *grids);
void steady_grids_destroy(struct steady_grids *grids); /* takes a zeroed one */

/* Another array of the finest grid, zeros. */
enum status steady_grids_array(struct steady_grids *grids, int number, float **d_values);

/* Collective; queued on bulk_queue. Complete the halo of an array of the grid. */
enum status steady_grid_exchange(struct steady_grids *grids, struct steady_grid *grid,
                                 float *d_values);
/* Collective. All cells of the array of a shared grid, on every rank. */
enum status steady_grid_collect(struct steady_grids *grids, const struct steady_grid *shared,
                                const float *d_from, const struct steady_grid *copy, float *d_to);
/* Queued. This rank's cells of an array with all of them. */
enum status steady_grid_select(struct steady_grids *grids, const struct steady_grid *copy,
                               const float *d_from, const struct steady_grid *shared, float *d_to);

/* Collective; queued. One cycle: the correction d_e of the finest grid for its d_r. The same bits
 * on any number of ranks. */
enum status steady_cycle(struct steady_grids *grids);

/* The conductances of the lower faces on `axis` of this rank's cells, and of the upper end, in the
 * layout of the grid. */
enum status steady_conductances(const struct problem *problem, const struct classes *classes,
                                const struct heat_operator *op, const struct multigrid *m,
                                enum axis axis, float *h_g);
