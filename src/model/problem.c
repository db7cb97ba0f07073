#include "model/problem.h"

#include <math.h>
#include <stdio.h>

#include "model/field/derived.h"
#include "model/field/quantity.h"
#include "model/operator/high_order.h"

static bool source_varies(const struct source_setting *source)
{
    bool varies =
        source->path != NULL || source->power.formula != NULL || source->factor.formula != NULL;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        varies = varies || source->at[axis].formula != NULL;
    }
    return varies;
}

static bool starts_steady(const struct settings *settings)
{
    return settings->ninitial > 0 &&
           settings->initial[settings->ninitial - 1].kind == INITIAL_STEADY;
}

/* A property of the problem that excludes another one, and the key that asks for it. */
struct obstacle {
    bool holds;
    const char *key, *what;
};

/* The first one that holds; the last one of a list has no key. */
static const struct obstacle *first_of(const struct obstacle *obstacle)
{
    while (obstacle->key != NULL && !obstacle->holds) {
        obstacle++;
    }
    return obstacle;
}

/* What the solver of steady states and implicit steps cannot do. */
static struct obstacle steady_obstacle(const struct problem *problem, bool is_steady)
{
    bool sources_vary = false;
    for (int s = 0; s < problem->sources.count; s++) {
        sources_vary = sources_vary || source_varies(problem->sources.source[s].setting);
    }
    const struct obstacle obstacles[] = {
        {is_steady && sources_vary, "sources", "a source varies in time"},
        {is_steady && boundary_surface_varies(&problem->boundary), "surfaces",
         "a surface or its ambient varies in time"},
        {is_steady && boundary_varies(&problem->boundary), "boundary",
         "a boundary condition varies in time"},
        {problem->medium.changes, "materials", "a material becomes another one"},
        {problem->radius > 1, "run.stencil.order", "the stencil is of high order"},
        {problem->precision != PRECISION_FLOAT64, "run.precision", "the precision is not float64"},
        {0},
    };
    return *first_of(obstacles);
}

static enum status check_steady(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    const bool is_steady = settings->time.steady.given;
    const struct obstacle first = steady_obstacle(problem, is_steady);
    const char *what = is_steady                                  ? "time.steady"
                       : settings->time.scheme == SCHEME_IMPLICIT ? "time.scheme: implicit"
                       : starts_steady(settings)                  ? "initial: steady"
                                                                  : NULL;
    FAIL_IF(
        what != NULL && first.key != NULL,
        settings_fail_at(problem->origin, first.key, "%s is not possible: %s", what, first.what));
    for (int entry = 0; entry < settings->ninitial - 1; entry++) {
        FAIL_IF(settings->initial[entry].kind == INITIAL_STEADY,
                settings_fail_at(problem->origin, "initial",
                                 "entry %d is `steady` and not the last one", entry));
    }
    return STATUS_OK;
}

/* Graded axes are for materials with constant properties. */
static enum status check_graded(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    const struct obstacle obstacles[] = {
        {problem->medium.curves != NULL, "materials",
         "a property that depends on temperature, or perfusion"},
        {settings->output.history_melt_pool == TRUTH_YES, "output.history.melt_pool",
         "the size of the melt pool"},
        {0},
    };
    const struct obstacle *first = first_of(obstacles);
    const char *what = first->what;
    char key[48];
    if (!grid_is_graded(&problem->grid)) {
        return STATUS_OK;
    }
    snprintf(key, sizeof key, "%s", first->key != NULL ? first->key : "");
    for (int s = 0; s < settings->nsources && what == NULL; s++) {
        if (!source_is_painted(&settings->sources[s])) {
            snprintf(key, sizeof key, "sources[%d]", s);
            what = "a source that moves, is read from a file, or has a profile or a table";
        }
    }
    return what == NULL ? STATUS_OK
                        : settings_fail_at(problem->origin, key,
                                           "%s is not possible on a graded axis; give equal cells "
                                           "on all axes, or leave it out",
                                           what);
}

static bool problem_has_painted_sources(const struct problem *problem)
{
    bool any = false;
    for (int s = 0; s < problem->settings->nsources; s++) {
        any = any || source_is_painted(&problem->settings->sources[s]);
    }
    return any;
}

/* A factor for each cell excludes these. */
static enum status check_per_cell(const struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    bool of_capacity = false;
    for (int m = 0; m < problem->settings->nmaterials; m++) {
        const struct material_setting *material = &problem->settings->materials[m];
        of_capacity = of_capacity || material->factor[FACTOR_HEAT_CAPACITY].kind != INITIAL_UNIFORM;
    }
    const struct obstacle obstacles[] = {
        {medium->curves != NULL, "materials",
         "a property that depends on temperature, or perfusion"},
        {of_capacity && problem->output.history_materials == TRUTH_YES, "output.history.materials",
         "the heat of each material (with heat_capacity_factor)"},
        {of_capacity && medium->lines && problem_has_painted_sources(problem), "sources",
         "a source on graded axes with more sizes of cells than classes (with "
         "heat_capacity_factor)"},
        {0},
    };
    const struct obstacle *first = first_of(obstacles);
    FAIL_IF(medium->per_cell && first->key != NULL,
            settings_fail_at(problem->origin, first->key,
                             "%s is not possible where a property varies from cell to cell "
                             "(materials[].conductivity_factor, heat_capacity_factor); leave one "
                             "of them out",
                             first->what));
    return STATUS_OK;
}

/* The key of a file whose times do not span the run, or NULL. */
static const char *unspanned(const struct boundary_setting *setting, double end)
{
    static const char *const names[BOUNDARY_FACTORS] = {
        "value_factor.times", "coefficient_factor.times", "ambient_factor.times"};
    for (int n = 0; n < BOUNDARY_FACTORS; n++) {
        const struct table_setting *table = setting->factor[n].table;
        if (table != NULL && table->period == 0 &&
            (table->row[0][0] > 0 || table->row[table->nrows - 1][0] < end * (1 - 1e-12))) {
            return names[n];
        }
    }
    return NULL;
}

/* Refuse them. */
static enum status check_spans(const struct problem *problem)
{
    const struct boundary *boundary = &problem->boundary;
    const double end = problem->timeline.end;
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int p = 0; p < boundary->nconditions[f]; p++) {
            const char *name = unspanned(&boundary->face[f][p].setting, end);
            char key[BOUNDARY_KEY_BYTES];
            if (name != NULL) {
                return settings_fail_at(problem->origin, boundary_key((enum face)f, p, name, key),
                                        "they do not span the run, which is from t = 0 to %.9g s; "
                                        "give maps for all of it, or a period",
                                        end);
            }
        }
    }
    return STATUS_OK;
}

static enum status lay_timeline(struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    double sigma = 1; /* above 1 of factors of the heat capacity */
    TRY(check_steady(problem));
    for (int m = 0; m < medium->nmaterials && medium->per_cell; m++) {
        sigma = fmax(sigma, medium->materials[m].sigma);
    }
    const struct rate_facts rates = {
        .linear = problem_is_linear(problem),
        .coefficients = boundary_coefficient_varies(&problem->boundary),
        .source = sources_slope(&problem->sources) * sigma / medium->heat_capacity_volume,
        .why_explicit = steady_obstacle(problem, false).what};
    TRY(timeline_create(problem->settings, &problem->grid, medium, &rates, &problem->timeline));
    problem->time = problem->timeline.setting;
    return check_spans(problem);
}

bool problem_is_linear(const struct problem *problem)
{
    const struct medium *medium = &problem->medium;
    bool linear = !boundary_any_radiates(&problem->boundary) && !sources_depend(&problem->sources);
    for (int m = 0; m < medium->nmaterials && medium->curves != NULL; m++) {
        const struct curve *curve = &medium->curves[m];
        linear = linear && curve->count == 1 && curve_conductivity_slope(curve, 0) == 0;
    }
    return linear;
}

bool problem_may_be_implicit(const struct problem *problem)
{
    return problem->time.scheme == SCHEME_IMPLICIT || problem->time.may_be_implicit;
}

bool problem_finds_steady(const struct problem *problem)
{
    return problem->time.scheme == SCHEME_STEADY || starts_steady(problem->settings);
}

bool problem_begins_by_multigrid(const struct problem *problem)
{
    return problem->time.scheme == SCHEME_IMPLICIT || problem_finds_steady(problem);
}

bool problem_needs_multigrid(const struct problem *problem)
{
    return problem_may_be_implicit(problem) || problem_begins_by_multigrid(problem);
}

enum status problem_create(const struct settings *settings, struct problem *problem)
{
    SCOPED_BY(problem_destroy)
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
    quantity_use(settings);
    TRY(settings_read_tables(settings));
    grid_create(settings, &built.grid);
    TRY(medium_create(settings, &built.medium));
    built.medium.slopes_per_cell =
        built.medium.has_slopes && built.medium.nambients > 0 && grid_is_graded(&built.grid);
    built.medium.per_cell = built.medium.per_cell || built.medium.slopes_per_cell;
    if (built.medium.nclasses > 0 && grid_size_count(&built.grid) > MEDIUM_CLASSES) {
        medium_use_lines(&built.medium);
    }
    TRY(wide_check(settings, &built.grid));
    TRY(check_graded(&built));
    TRY(sources_create(settings, &built.grid, &built.sources));
    FAIL_IF(built.medium.curves != NULL && sources_depend(&built.sources),
            settings_fail(settings, "sources",
                          "a density depends on temperature, which is not possible where "
                          "properties do, or with perfusion"));
    TRY(check_per_cell(&built));
    TRY(boundary_create(settings, &built.boundary));
    TRY(boundary_check(settings, &built.boundary, &built.grid, &built.medium,
                       &(struct instant){.time = 0}));
    for (const struct table_setting *table = settings_time_tables(settings); table != NULL;
         table = table->next) {
        for (int row = 0; row < table->nrows; row++) {
            TRY(boundary_check(settings, &built.boundary, &built.grid, &built.medium,
                               &(struct instant){.time = table->row[row][0]}));
        }
    }
    if (built.medium.nclasses == 0) {
        TRY(lay_timeline(&built));
    }
    *problem = built;
    built = (struct problem){0};
    return STATUS_OK;
}

enum status problem_set_survey(struct problem *problem, double fastest_rate, uint64_t class_hash)
{
    struct medium *medium = &problem->medium;
    medium->fastest_rate = fastest_rate;
    medium->class_hash = class_hash;
    medium->total_weight = 0;
    for (int c = 0; c < medium->nclasses; c++) {
        const struct medium_class *own = &medium->classes[c];
        medium->total_weight +=
            (medium->lines ? medium->materials[own->key.material].weight : own->weight) *
            own->amount;
    }
    FAIL_IF(medium_ambient_cells(medium) == grid_total_cells(&problem->grid),
            settings_fail_at(problem->origin, "parts",
                             "all cells belong to ambients; give the body a part"));
    TRY(medium->lines ? check_per_cell(problem) : STATUS_OK); /* sizes may have gone to lines */
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
