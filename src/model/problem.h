/* The problem that the settings define. Shared by `run` and `plan`; the same on all ranks, and
 * independent of the device. */
#pragma once

#include "config/settings.h"
#include "model/medium/boundary.h"
#include "model/medium/medium.h"
#include "model/medium/source.h"
#include "model/space/decomp.h"
#include "model/space/grid.h"
#include "model/timeline.h"

/* The parts of the settings that a run needs are copied here, with borrowed strings and lists. Only
 * the files that make the members below, and a restart, read the settings themselves. */
struct problem {
    const struct settings *settings; /* borrowed */
    struct settings_origin *origin;  /* the lines of the keys; for settings_fail_at only */
    const char *title;
    const char *text; /* the effective configuration, for files */
    enum precision precision;
    struct time_setting time; /* that of the timeline, once there is one */
    struct run_setting run;
    struct output_setting output;
    const struct shape_setting *initial; /* the state at step 0: each over the earlier ones */
    int ninitial;
    unsigned derived; /* bits of derived_kind: the fields that outputs use, or that change cells */
    double melting;   /* K: a cell above counts as melted; NAN: no material melts */
    struct grid grid;
    int radius; /* of the stencil: the layers of cells that a step reads beyond its own */
    struct medium medium;
    struct sources sources;
    struct boundary boundary;
    struct timeline timeline;
};

/* Whether heat comes from sources; perfusion and metabolism are booked as such. */
static inline bool problem_has_sources(const struct problem *problem)
{
    return problem->sources.count > 0 || problem->medium.perfused;
}

/* Whether the rates of change are linear in the temperatures. */
bool problem_is_linear(const struct problem *problem);

/* Whether steps are implicit, or may become so. */
bool problem_may_be_implicit(const struct problem *problem);

/* Whether the state is, or begins as, a steady one. */
bool problem_finds_steady(const struct problem *problem);

/* Whether the solver of steady states (solve/steady/steady.h) is needed at the start; or ever. */
bool problem_begins_by_multigrid(const struct problem *problem);
bool problem_needs_multigrid(const struct problem *problem);

/* The heat of 1 K in one cell with the reference heat capacity, J. */
static inline double problem_joule_per_kelvin(const struct problem *problem)
{
    return problem->medium.heat_capacity_volume * grid_cell_volume(&problem->grid);
}

/* STATUS_INPUT, with the line of the configuration, when the time step is above the stable limit or
 * a boundary has no finite value. `settings` must outlive the problem; on failure there is nothing
 * to destroy. Not collective. */
enum status problem_create(const struct settings *settings, struct problem *problem);
void problem_destroy(struct problem *problem); /* takes a zeroed one */

/* Complete a problem, whose classes are set, by what a survey of all cells found (medium.h), and
 * create its timeline, which is empty before. STATUS_INPUT as problem_create, and when a source
 * has no cells. */
enum status problem_set_survey(struct problem *problem, double fastest_rate, uint64_t class_hash);

/* The blocks for `nranks` ranks, with a halo of the stencil radius. STATUS_INPUT names the line of
 * run.decomposition, or of grid.cells when that is auto. */
enum status problem_decompose(const struct problem *problem, int nranks, struct decomp *decomp);
