/* The uniform Cartesian grid and the material on it. */
#ifndef ISOTHERM_MODEL_GRID_H
#define ISOTHERM_MODEL_GRID_H

#include "base/box.h"
#include "model/settings.h"

struct grid {
    int64_t cells[AXIS_COUNT];
    bool used[AXIS_COUNT];      /* more than one cell on this axis */
    int dimensions;             /* axes in use: 1, 2 or 3 */
    double lower[AXIS_COUNT];   /* m */
    double upper[AXIS_COUNT];   /* m */
    double spacing[AXIS_COUNT]; /* m; the whole length on an axis that is not in use */
};

struct material {
    double conductivity;         /* W/(m K) */
    double heat_capacity_volume; /* density times heat capacity, J/(m^3 K) */
    double diffusivity;          /* m^2/s */
};

void grid_create(const struct settings *settings, struct grid *grid);
void material_create(const struct settings *settings, struct material *material);

/* The centre of cell `index` on `axis`, m. */
double grid_center(const struct grid *grid, enum axis axis, int64_t index);
int64_t grid_total_cells(const struct grid *grid);
double grid_cell_volume(const struct grid *grid); /* m^3 */

/* The largest stable step of forward Euler, s: 1 / (2 alpha sum of 1/h^2 over the axes in use). */
double grid_stable_dt(const struct grid *grid, const struct material *material);

/* The steps of a run. All but the last have length dt; time at step n is
 * start_time + (n - start_step) dt, at the last `end`. */
struct timeline {
    double dt;          /* s */
    double dt_stable;   /* s, the largest stable step */
    int64_t start_step; /* 0, or where a restart changed the steps */
    double start_time;  /* s */
    int64_t steps;      /* counted from step 0, also after a restart */
    double end;         /* s, the time after the last step */
    double dt_last;     /* s, the last step's length: lands exactly on `end` */
};

/* STATUS_INPUT when dt is above the stable limit, or the step count is out of range. */
enum status timeline_create(const struct settings *settings, const struct grid *grid,
                            const struct material *material, struct timeline *timeline) MUST_CHECK;
/* Go on from a state at `step` and `time`. Nothing changes when the timeline passes through it, as
 * after a restart with the same settings; else the steps that are left begin there: up to the
 * configured step count or end, none when that is behind. */
enum status timeline_continue(struct timeline *timeline, const struct settings *settings,
                              int64_t step, double time) MUST_CHECK;
double timeline_time(const struct timeline *timeline, int64_t step);
double timeline_dt(const struct timeline *timeline, int64_t step); /* of the step from `step` on */

#endif
