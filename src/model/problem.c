#include "model/problem.h"

#include "model/field/derived.h"
#include "model/field/quantity.h"
#include "model/medium/curve.h"
#include "model/operator/high_order.h"

static bool number_varies(const struct number_setting *number)
{
    return number->formula != NULL || number->table != NULL;
}

static bool source_varies(const struct source_setting *source)
{
    bool varies =
        source->path != NULL || number_varies(&source->power) || number_varies(&source->factor);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        varies = varies || number_varies(&source->at[axis]);
    }
    return varies;
}

/* The steady state needs a linear problem that does not vary in time. */
static enum status check_steady(const struct problem *problem)
{
    const char *key = NULL;
    const char *why = "";
    for (int s = 0; s < problem->sources.count; s++) {
        if (source_varies(problem->sources.source[s].setting)) {
            key = "sources";
            why = "a source varies in time";
        }
    }
    if (boundary_varies(&problem->boundary)) {
        key = "boundary";
        why = "a boundary condition varies in time";
    } else if (boundary_any_radiates(&problem->boundary)) {
        key = "boundary";
        why = "a face radiates";
    } else if (problem->medium.curves != NULL) {
        key = "materials";
        why = "a material is perfused, or its properties depend on temperature";
    } else if (problem->radius > 1) {
        key = "run.stencil.order";
        why = "the stencil is of high order";
    } else if (problem->precision != PRECISION_FLOAT64) {
        key = "run.precision";
        why = "the precision is not float64";
    }
    return key == NULL || !problem->settings->time.steady.given
               ? STATUS_OK
               : settings_fail_at(problem->origin, key, "time.steady is not possible: %s", why);
}

static enum status lay_timeline(struct problem *problem)
{
    TRY(check_steady(problem));
    TRY(timeline_create(problem->settings, &problem->grid, &problem->medium,
                        problem_is_linear(problem), &problem->timeline));
    problem->time = problem->timeline.setting;
    return STATUS_OK;
}

bool problem_is_linear(const struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    bool linear = !boundary_any_radiates(&problem->boundary);
    for (int m = 0; m < medium->nmaterials && medium->curves != NULL; m++) {
        const struct curve *curve = &medium->curves[m];
        linear = linear && curve->count == 1 && curve_conductivity_slope(curve, 0) == 0;
    }
    return linear;
}

enum status problem_create(const struct settings *settings, struct problem *problem)
{
    struct problem built = {
        .settings = settings,
        .origin = settings->origin,
        .title = settings->title,
        .text = settings->text,
        .precision = settings->run.precision,
        .time = settings->time,
        .run = settings->run,
        .output = settings->output,
        .initial = settings->initial,
        .ninitial = settings->ninitial,
        .derived = derived_of_settings(settings),
        .melting = settings_melting(settings),
        .radius = wide_radius(settings),
    };
    enum status status = STATUS_OK;
    quantity_use(settings);
    TRY(settings_read_tables(settings));
    grid_create(settings, &built.grid);
    TRY(medium_create(settings, &built.medium));
    TRY_GOTO(wide_check(settings, &built.grid));
    TRY_GOTO(sources_create(settings, &built.grid, &built.sources));
    TRY_GOTO(boundary_create(settings, &built.boundary));
    TRY_GOTO(boundary_check(settings, &built.boundary, &built.grid, &built.medium,
                            &(struct instant){.time = 0}));
    for (const struct table_setting *table = settings_time_tables(settings); table != NULL;
         table = table->next) {
        for (int row = 0; row < table->nrows; row++) {
            TRY_GOTO(boundary_check(settings, &built.boundary, &built.grid, &built.medium,
                                    &(struct instant){.time = table->row[row][0]}));
        }
    }
    if (built.medium.nclasses == 0) {
        TRY_GOTO(lay_timeline(&built));
    }
    *problem = built;
    return STATUS_OK;
done:
    problem_destroy(&built);
    return status;
}

enum status problem_set_survey(struct problem *problem, double fastest_rate, uint64_t class_hash)
{
    struct medium *medium = &problem->medium;
    medium->fastest_rate = fastest_rate;
    medium->class_hash = class_hash;
    medium->total_weight = 0;
    for (int c = 0; c < medium->nclasses; c++) {
        medium->total_weight += medium->classes[c].weight * (double)medium->classes[c].cells;
    }
    TRY(sources_survey(&problem->sources, problem->settings, &problem->grid, medium));
    return lay_timeline(problem);
}

void problem_destroy(struct problem *problem)
{
    medium_destroy(&problem->medium);
    sources_destroy(&problem->sources);
    boundary_destroy(&problem->boundary);
    timeline_destroy(&problem->timeline);
}

enum status problem_decompose(const struct problem *problem, int nranks, struct decomp *decomp)
{
    const struct settings *settings = problem->settings;
    const int *wanted = settings->run.decomposition_auto ? NULL : settings->run.decomposition;
    const enum status status = decomp_create(problem->grid.cells, problem->boundary.periodic,
                                             nranks, problem->radius, wanted, decomp);
    return settings_place(settings->origin, status, "%s",
                          wanted != NULL ? "run.decomposition" : "grid.cells");
}
