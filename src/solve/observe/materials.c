
#include <math.h>

#include "base/comm.h"
#include "solve/observe/diagnostics.h"

/* This rank's cells, of the temperatures or of an enthalpy. */
static enum status find_mine(struct stepper *stepper, const void *d_field,
                             struct class_summary *summaries)
{
    struct engine *engine = stepper->level->engine;
    const struct classes *classes = stepper->level->classes;
    const struct field *field = stepper->level->field;
    const size_t bytes = MEDIUM_CLASSES * sizeof *summaries;
    for (int m = 0; m < MEDIUM_CLASSES; m++) {
        summaries[m] = (struct class_summary)CLASS_SUMMARY_NONE;
    }
    TRY(engine_wait(engine));
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, classes->d_summaries, summaries,
                                        bytes));
    TRY(ENQUEUE(engine->operations, summarise_classes, engine->bulk_queue, .layout = field->layout,
                .medium = &classes->args, .d_groups = classes->d_group, .d_field = d_field,
                .d_summaries = classes->d_summaries));
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, summaries, classes->d_summaries, bytes));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* Over all ranks. */
static enum status add_summaries(MPI_Comm comm, struct class_summary *summaries, int n)
{
    uint64_t keys[2 * MOST_MATERIALS];
    int64_t cells[MOST_MATERIALS];
    struct exact_sum sums[MOST_MATERIALS];
    for (int m = 0; m < n; m++) {
        keys[2 * m] = ~summaries[m].min_key;
        keys[2 * m + 1] = summaries[m].max_key;
        cells[m] = summaries[m].cells;
        sums[m] = summaries[m].sum;
        exact_sum_normalise(&sums[m]);
    }
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, keys, 2 * n, MPI_UINT64_T, MPI_MAX, comm));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, cells, n, MPI_INT64_T, MPI_SUM, comm));
    TRY(exact_sums_reduce(comm, sums, n));
    for (int m = 0; m < n; m++) {
        summaries[m] = (struct class_summary){~keys[2 * m], keys[2 * m + 1], sums[m], cells[m]};
    }
    return STATUS_OK;
}

static enum status find_all(struct stepper *stepper, const void *d_field,
                            struct class_summary *summaries)
{
    MPI_Comm comm = stepper->team->comm;
    TRY(status_agree(comm, find_mine(stepper, d_field, summaries)));
    return add_summaries(comm, summaries,
                         grid_is_graded(&stepper->problem->grid)
                             ? stepper->problem->medium.nclasses
                             : stepper->problem->medium.nmaterials);
}

/* Sums of a material, or of all of them, over groups of equal cells. Volumes in cells of the
 * smallest widths; `sum`: of temperatures times volumes. */
struct total {
    double volume, sum, min, max;
};

/* `material`: -1: all. */
static struct total add_groups(const struct problem *problem, const struct class_summary *summaries,
                               int material)
{
    const struct medium *medium = &problem->medium;
    const bool graded = grid_is_graded(&problem->grid);
    struct total all = {.min = NAN, .max = NAN};
    for (int g = 0; g < (graded ? medium->nclasses : medium->nmaterials); g++) {
        const struct class_key *key = &medium->classes[g].key; /* of a graded grid only */
        const bool sized = graded && !medium->lines;
        const double volume = sized ? grid_size_volume(&problem->grid, key->size) : 1;
        const bool counts = material < 0 ? !medium->classes[g].is_ambient
                                         : (graded ? key->material : g) == material;
        if (counts && summaries[g].cells > 0) {
            all.volume +=
                medium->lines ? medium->classes[g].amount : (double)summaries[g].cells * volume;
            all.sum += exact_sum_value(&summaries[g].sum) * volume;
            all.min = fmin(all.min, class_value_of(summaries[g].min_key)); /* the other for NAN */
            all.max = fmax(all.max, class_value_of(summaries[g].max_key));
        }
    }
    return all;
}

enum status materials_mean(struct stepper *stepper, double *mean)
{
    struct class_summary summaries[MEDIUM_CLASSES];
    TRY(find_all(stepper, field_temperature(stepper->level->field), summaries));
    const struct total all = add_groups(stepper->problem, summaries, -1);
    *mean = all.sum / all.volume;
    return STATUS_OK;
}

enum status materials_take(struct stepper *stepper, struct material_diagnostics *materials)
{
    SCOPED_PHASE(stepper->level->phases, PHASE_DIAGNOSTICS);
    const struct medium *medium = &stepper->problem->medium;
    const struct field *field = stepper->level->field;
    const double volume = grid_cell_volume(&stepper->problem->grid);
    struct class_summary summaries[MEDIUM_CLASSES];
    struct class_summary enthalpies[MEDIUM_CLASSES];
    TRY(find_all(stepper, field_temperature(field), summaries));
    if (medium->curves != NULL) { /* in K of the reference heat capacity */
        TRY(find_all(stepper, field->d_now, enthalpies));
    }
    for (int m = 0; m < medium->nmaterials - medium->nambients; m++) {
        const struct total all = add_groups(stepper->problem, summaries, m);
        materials[m] = (struct material_diagnostics){
            .min = all.min,
            .max = all.max,
            .mean = all.sum / all.volume, /* NAN without cells */
            .heat =
                medium->curves != NULL
                    ? medium->heat_capacity_volume * volume * exact_sum_value(&enthalpies[m].sum)
                    : medium->materials[m].heat_capacity_volume * volume * all.sum,
        };
    }
    return STATUS_OK;
}
