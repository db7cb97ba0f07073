/* The cells of a medium: painted on the host, and surveyed over all ranks. */
#include "base/comm.h"
#include "io/input/field_file.h"
#include "io/input/solid_file.h"
#include "model/operator/map/factor_map.h"
#include "model/space/resolution.h"
#include "solve/medium/classes.h"

/* Cells that classes_survey_alone holds at once. */
enum { SURVEY_CELLS = 64 << 20 };

/* Paint a block, and add its cells to the survey. Destroy both maps after a failure too. */
static enum status survey_block(const struct problem *problem, const struct box *owned, int depth,
                                struct class_map *map, struct patch_map *patches,
                                struct class_survey *survey)
{
    TRY(resolution_check(problem));
    TRY(class_map_create(problem, owned, depth, field_file_read_box, solid_file_read, map));
    TRY(patch_map_create(problem, owned, depth, field_file_read_box, patches));
    TRY(factor_map_create(problem, field_file_read_box, map, survey));
    if (map->too_many) {
        survey->nkeys = MEDIUM_CLASSES + 1;
        return STATUS_OK;
    }
    patch_map_survey(patches, survey);
    factor_map_survey(map, problem, survey);
    return class_map_survey(map, problem, survey);
}

static void add_survey(void *from, void *to, int *count, MPI_Datatype *type)
{
    for (int i = 0; i < *count; i++) {
        class_survey_add((struct class_survey *)to + i, (const struct class_survey *)from + i);
    }
}

/* The same on all ranks in any order: integers, maxima and a sorted union. */
static enum status add_surveys(MPI_Comm comm, struct class_survey *survey)
{
    MPI_Op add = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TRY_MPI(MPI_Type_contiguous((int)sizeof *survey, MPI_BYTE, &type));
    TRY_MPI(MPI_Type_commit(&type));
    TRY_MPI(MPI_Op_create(add_survey, 1, &add));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, survey, 1, type, add, comm));
    TRY_MPI(MPI_Op_free(&add));
    TRY_MPI(MPI_Type_free(&type));
    return STATUS_OK;
}

static enum status apply_survey(struct problem *problem, const struct class_survey *survey)
{
    factor_survey_apply(survey, problem);
    TRY(class_survey_apply(survey, problem));
    TRY(resolution_check_cells(problem));
    TRY(resolution_check_contacts(problem, survey));
    return patch_survey_apply(survey, problem);
}

/* Whether sizes of cells make too many classes, and the problem has them in lines from now on. */
static bool leaves_sizes(struct problem *problem, const struct class_survey *survey)
{
    struct medium *medium = &problem->medium;
    const bool leaves =
        survey->nkeys > MEDIUM_CLASSES && grid_is_graded(&problem->grid) && !medium->lines;
    if (leaves) {
        medium_use_lines(medium);
    }
    return leaves;
}

enum status classes_open(struct problem *problem, const struct team *team, int depth,
                         struct classes *classes)
{
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    struct class_survey survey = {0};
    *classes = (struct classes){.depth = depth};
    if (problem->medium.nclasses == 0) {
        return STATUS_OK;
    }
    TRY(status_agree(team->comm, survey_block(problem, &owned, depth, &classes->map,
                                              &classes->patches, &survey)));
    TRY(add_surveys(team->comm, &survey));
    if (leaves_sizes(problem, &survey)) {
        class_map_destroy(&classes->map);
        patch_map_destroy(&classes->patches);
        return classes_open(problem, team, depth, classes);
    }
    TRY(status_agree(team->comm, apply_survey(problem, &survey)));
    class_map_renumber(&classes->map, &problem->medium);
    resolution_warn(problem);
    return STATUS_OK;
}

enum status classes_survey_alone(struct problem *problem)
{
    const int64_t *n = problem->grid.cells;
    const int64_t fit = SURVEY_CELLS / (n[AXIS_X] * n[AXIS_Y]);
    const int64_t planes = fit > 0 ? fit : 1;
    struct class_survey survey = {0};
    if (problem->medium.nclasses == 0) {
        return STATUS_OK;
    }
    for (int64_t k = 0; k < n[AXIS_Z]; k += planes) {
        SCOPED_BY(class_map_destroy) struct class_map map = {0};
        SCOPED_BY(patch_map_destroy) struct patch_map patches = {.face = {{0}}};
        struct box part = box_of_cells(n);
        part.lo[AXIS_Z] = k;
        part.hi[AXIS_Z] = k + planes < n[AXIS_Z] ? k + planes : n[AXIS_Z];
        TRY(survey_block(problem, &part, 1, &map, &patches, &survey));
    }
    if (leaves_sizes(problem, &survey)) {
        return classes_survey_alone(problem);
    }
    return apply_survey(problem, &survey);
}
