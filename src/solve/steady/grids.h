/* The grids of the multigrid that finds steady states, from that of the problem to one cell
 * (docs/reference/numerics.md#steady-states). */
#pragma once

#include <math.h>

#include "halo/exchange.h"
#include "machine/team.h"
#include "model/operator/operator.h"
#include "solve/engine.h"
#include "solve/medium/classes.h"

/* Every coarser grid has at most about half the cells, and there is one copy. */
enum { STEADY_GRIDS_MOST = 64 };
/* A step of ascend needs a layer of the cells before it. More layers than the most are exchanged
 * instead. */
enum { DEEP_STEPS = 4, DEEP_MOST = 12 };
/* Layers that coarse conductances need, of other grids. */
enum { SHARED_LAYERS = 2 };
/* Shared grids of fewer cells are copied: then exchanges take longer than the cells. */
enum { STEADY_SHARED_LEAST = 1 << 18 };
/* Logarithms of conductances have this unit, so that their sums are integers. */
enum { LOG_UNIT = 256 };

struct steady_grid {
    struct multigrid m;
    struct decomp decomp; /* of the cells of this grid */
    bool shared;          /* each rank has its block; else every rank has all cells */
    bool copies;          /* the cells are those of the grid before, which is shared */
    struct halo_plan plan;
    struct halo *halo;   /* NULL: nothing to exchange */
    struct halo *gather; /* of a copy, from the blocks of all ranks; NULL: too many for it */
    /* In a uniform medium, where blocks exchange on y and z only and are thick enough: the layers
     * of the neighbours' cells that the steps of ascend begin with, else 0; `m` with them, and with
     * those of the coarse grid below them. Then ascend gives the neighbours' e, too. */
    int deep;
    int finer;    /* the layers of the grid before */
    int needed;   /* layers of e that are read in the halo: by the finer grid, or as corrections */
    int complete; /* layers of d_e that are known there */
    struct multigrid grown, grown_coarse;
    struct halo_flight flight; /* of d_r, until ascend */
    float *d_r;                /* the heat that each cell still lacks */
    float *d_e;                /* the correction that gives it, and one of the step before */
    float *d_other;
    float *d_early, *d_left; /* of steep grids: e before the coarser grid, and what it leaves */
    /* where `starts`, but for the finest grid: temperatures relative to the reference, in the halo
     * those beyond closed faces, and the heat of sources and fluxes */
    float *d_t, *d_b;
    float outer[FACE_COUNT]; /* in a uniform medium: that of a conducting face per cell where
                                temperatures are 0 */
};

/* An axis of a uniform medium: of all ranks. */
struct steady_axis {
    int64_t n;
    bool periodic;
    double *resistance; /* [n + 1], of the faces; INFINITY: closed */
    double *size;       /* [n], of the cells */
};

struct steady_grids {
    struct engine *engine; /* borrowed, as are the next two */
    const struct team *team;
    const struct problem *problem;
    bool sinks;       /* cells have some */
    bool uniform;     /* the grids have tables along the axes */
    bool starts;      /* the grids have d_t and d_b */
    bool steep;       /* conductivities jump by much, or cell by cell */
    double roughness; /* the mean difference of the logarithms of neighbouring conductances of an
                         axis, on the axis with the least; 0: uniform */
    struct steady_axis axis[AXIS_COUNT]; /* of the last grid */
    double reference;                    /* K: the mean of the temperatures outside */
    bool has_reference;                  /* there are some */
    double outside[FACE_COUNT];          /* K: those beyond each face, relative to it, or 0 */
    double flux[FACE_COUNT];             /* in a uniform medium: heat per cell of the finest grid */
    bool can_start;                      /* by full multigrid */
    int turn;                            /* cycles since the start */
    int64_t logs[AXIS_COUNT]
                [3]; /* of the finest grid without tables: steady_add_logs, on this rank */
    int count;
    struct steady_grid grid[STEADY_GRIDS_MOST];
    struct {
        void **d_block;
        int count;
    } memory;
    void *d_block; /* of the shared grid that is copied: this rank's cells */
    void *h_copy;  /* all of them */
};

/* Whether a problem of classes starts by full multigrid from one temperature. */
bool steady_can_start(const struct problem *problem);
/* Whether cycles smooth before the coarser grid, too. */
bool steady_is_steep(const struct medium *medium);

/* Whether conductances change about from cell to cell, as where materials do at random: by more
 * than a factor of two. Then cycles smooth before the coarser grid and take more steps. */
static inline bool steady_is_rough(const struct steady_grids *grids)
{
    return isfinite(grids->roughness) && grids->roughness > LOG_UNIT;
}

/* Device memory per rank, about: with the coarse grids of an isotropic medium. */
uint64_t steady_grids_bytes(const struct problem *problem, const struct box *owned, int nranks);

/* Where conductances depend on the state: it, with its halo, in float64; NULL: the largest ones. */
struct steady_point {
    const double *h_field;
    const float *h_slopes; /* NULL, or what sources give less per K: [z][y][x] of the owned cells */
    struct layout layout;
    double nominal; /* K: a temperature in the middle of the state */
    bool is_first;  /* no step has been taken */
    bool rises;     /* negative slopes count, too: not on coarse grids, whose matrix is positive */
};

/* Planes of the finest grid from `first` on, and one more where there is an upper end: `layout` is
 * that of the grid but for its cells on z. NULL: not wanted. */
struct steady_values {
    struct layout layout;
    int64_t first;
    float *h_g[AXIS_COUNT]; /* the conductances of the lower faces, and of the upper end */
    float *h_sink;  /* as in struct multigrid: mass times the heat capacity, and perfusion */
    float *h_scale; /* K per unit of e; with h_sink */
};

/* Reads conductances of the finest grid, `m`, on this rank. STATUS_MEMORY. Borrows its arguments;
 * needs classes->map. Destroy takes NULL. */
struct steady_reader;
enum status steady_reader_create(const struct problem *problem, const struct classes *classes,
                                 const struct heat_operator *op, const struct steady_point *point,
                                 const struct multigrid *m, double mass,
                                 struct steady_reader **reader);
void steady_reader_destroy(struct steady_reader *reader);
void steady_reader_read(const struct steady_reader *reader, const struct steady_values *values);

/* log2(g), in units of 1/256 and linear between powers of two: integers, whose sums are the same in
 * any order. They are the upper bits of a float: of the least ones, which have no exponent, less. 0
 * where nothing conducts. */
int64_t steady_log_of(float g);
/* Add the sum and the number of the logarithms of the lower faces that conduct; and the sum of
 * their differences to the faces `step` elements after them. */
void steady_add_logs(const struct layout *layout, const float *h_g, int64_t step, int64_t sums[3]);

/* Collective, agreed. The conductances are those of `op`, in units of its step; with `sinks`, with
 * these times `mass`. Destroy also after a failure. */
enum status steady_grids_create(const struct problem *problem, const struct team *team,
                                struct engine *engine, const struct classes *classes,
                                const struct heat_operator *op, bool sinks, double mass,
                                struct steady_grids *grids);
/* Collective, agreed. Those of a state; its d_scale as in steady_values, or NULL. */
enum status steady_grids_linearise(struct steady_grids *grids, const struct classes *classes,
                                   const struct heat_operator *op, const struct steady_point *point,
                                   double mass, float *d_scale);
void steady_grids_destroy(struct steady_grids *grids); /* takes a zeroed one */

/* Device memory until the grids are destroyed. */
enum status steady_grids_allocate(struct steady_grids *grids, size_t bytes, void **d_block);
/* An array of this grid, zeros. */
enum status steady_grids_array(struct steady_grids *grids, int number, float **d_values);

/* The layers of a grid that has its decomp: `needed`, and `deep`, where ascend can begin with cells
 * of the neighbours; on x their rows would not be aligned. `fine`: the grid before, NULL: none.
 * Then, with its layout, what has these cells. */
void steady_grid_deepen(const struct steady_grids *grids, const struct steady_grid *fine,
                        struct steady_grid *grid);
void steady_grid_grow(struct steady_grid *grid);
/* The tables of the last grid to the device; `fine`: the axis of the grid before, NULL: there are
 * no children. */
enum status steady_grid_tables(struct steady_grids *grids, int axis,
                               const struct steady_axis *fine);

/* Collective; queued on bulk_queue. Complete the halo of an array of the grid. */
enum status steady_grid_exchange(struct steady_grids *grids, struct steady_grid *grid,
                                 float *d_values);
static inline struct operand operand(const struct layout *layout, const void *d_values)
{
    return (struct operand){.layout = *layout, .d_values = d_values};
}

/* Queued. Let all values be 0, those of the halo included. */
enum status steady_grid_clear(struct steady_grids *grids, struct queue *queue,
                              const struct layout *layout, float *d_values);

/* Collective. The halo of a shared grid, or the gather of a copy, that has its layout. */
enum status steady_grid_connect(struct steady_grids *grids, struct steady_grid *grid);
/* Collective. All cells of the array of a shared grid, on every rank, with `layers` of those beyond
 * its upper end on `axis`, through the host: where blocks overlap they are equal, so that the bits
 * of all ranks make the whole. */
enum status steady_grid_assemble(struct steady_grids *grids, const struct steady_grid *shared,
                                 const float *d_from, const struct steady_grid *copy, float *d_to,
                                 int axis, int layers);
/* Collective. The same without such layers, through the gather of the copy if it has one. */
enum status steady_grid_collect(struct steady_grids *grids, const struct steady_grid *shared,
                                const float *d_from, const struct steady_grid *copy, float *d_to);
/* Queued. This rank's cells of an array with all of them, and `layers` of its neighbours'. */
enum status steady_grid_select(struct steady_grids *grids, const struct steady_grid *copy,
                               const float *d_from, const struct steady_grid *shared, int layers,
                               float *d_to);

/* In a uniform medium: whether `correct` gives the next grid the means of d_r. */
bool steady_grids_take_means(const struct steady_grids *grids);

/* Collective; queued. One cycle: the correction d_e of the finest grid for its d_r, of which the
 * next grid has the means where it takes them. The same bits on any number of ranks. */
enum status steady_cycle(struct steady_grids *grids);

/* In place of a cycle: HYPRE, where the build has it (ISOTHERM_HYPRE). */
extern const bool steady_has_hypre;
struct hypre_run {
    int cycles;
    double seconds, setup_s;
};
/* Collective; blocks. d_e of the finest grid, which has no tables along the axes, by conjugate
 * gradients around a cycle of BoomerAMG if `algebraic`, else of PFMG, until the root mean square of
 * the residual is `share` of that of d_r, or after 200 of them. STATUS_NUMERICS. */
enum status steady_hypre(struct steady_grids *grids, bool algebraic, double share,
                         struct hypre_run *run);

/* Collective; queued. The start from the reference, or where there is none from any uniform state,
 * by full multigrid, where can_start: each grid has its own boundary values. First prepare, once;
 * then steady_start, for which d_r of the finest grid is the heat of sources, or with classes the
 * residual, for e in K; in a uniform medium without sources it is not read. It gives d_e. */
enum status steady_start_prepare(struct steady_grids *grids, const struct heat_operator *op);
enum status steady_start(struct steady_grids *grids);

/* An axis of the finest grid in units of its cells and of the step of `op`; and of the next coarser
 * one, of `children` cells each: halves of cells and the face between them in series.
 * STATUS_MEMORY. Destroy takes a zeroed one. */
enum status steady_axis_create(const struct problem *problem, const struct heat_operator *op,
                               enum axis axis, struct steady_axis *finest);
enum status steady_axis_coarsen(const struct steady_axis *fine, int children,
                                struct steady_axis *coarse);
void steady_axis_destroy(struct steady_axis *axis);
/* The tables of the cells from lo to before hi: [LINES][hi - lo]; those beyond the ends of a
 * periodic axis are of the other one. `fine`: NULL: none. */
void steady_axis_tables(const struct steady_axis *axis, const struct steady_axis *fine, int64_t lo,
                        int64_t hi, float *lines);
