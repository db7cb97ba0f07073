#include "model/operator/patch_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/space/paint.h"

void patch_shape(const struct patch_setting *patch, enum axis normal, int number,
                 struct shape_setting *shape)
{
    *shape = (struct shape_setting){
        .kind = patch->has_rectangle ? INITIAL_BOX
                : patch->has_disc    ? INITIAL_CYLINDER
                                     : INITIAL_EXPRESSION,
        .value = number,
        .radius = patch->radius,
        .axis = normal,
        .from = -INFINITY,
        .to = INFINITY,
        .expression = patch->where,
        .is_condition = true,
    };
    int n = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool along = axis != (int)normal;
        shape->lower[axis] = along ? patch->lower[n] : -INFINITY;
        shape->upper[axis] = along ? patch->upper[n] : INFINITY;
        shape->center[axis] = along ? patch->center[n] : 0;
        n += along ? 1 : 0;
    }
}

static enum status paint_patch(const struct problem *problem, enum face face, int number,
                               const struct box *layer, float *numbers)
{
    const struct settings *settings = problem->settings;
    struct shape_setting shape;
    struct brush brush;
    patch_shape(&settings->boundary[face].patches[number - 1], face_axis(face), number, &shape);
    enum status status = brush_begin(&brush, &problem->grid, &shape, box_cells(layer), 1);
    if (status == STATUS_OK) {
        status = brush_paint(&brush, layer, PRECISION_FLOAT32, numbers);
    }
    brush_end(&brush);
    if (status == STATUS_INPUT) {
        char key[BOUNDARY_KEY_BYTES];
        return settings_fail(settings, boundary_key(face, number, "where", key), "%s",
                             fail_message());
    }
    return status;
}

/* The patches of the cells of one layer, inside the grid, to numbers[box_cells(layer)]. */
static enum status paint_layer(const struct problem *problem, enum face face,
                               const struct box *layer, float *numbers)
{
    for (int64_t c = 0; c < box_cells(layer); c++) {
        numbers[c] = 0;
    }
    for (int number = 1; number < problem->boundary.nconditions[face]; number++) {
        TRY(paint_patch(problem, face, number, layer, numbers));
    }
    return STATUS_OK;
}

static enum status paint_face(const struct problem *problem, enum face face,
                              const struct box *owned, struct patch_map *map)
{
    const struct box layer = box_inside(owned, face, 1);
    const int64_t cells = box_cells(&layer);
    float *numbers = malloc((size_t)cells * sizeof *numbers);
    enum status status = STATUS_OK;
    map->h_patch[face] = malloc((size_t)cells);
    map->cells[face] = cells;
    TRY_GOTO(CHECK_MEMORY(numbers != NULL && map->h_patch[face] != NULL,
                          "no memory for the patches of a face"));
    TRY_GOTO(paint_layer(problem, face, &layer, numbers));
    for (int64_t c = 0; c < cells; c++) {
        map->h_patch[face][c] = (uint8_t)numbers[c];
    }
done:
    free(numbers);
    return status;
}

enum status patch_plane_create(const struct problem *problem, const struct box *owned,
                               const struct patch_map *map, enum face face, int depth,
                               struct patch_plane *plane)
{
    const enum axis normal = face_axis(face);
    const enum axis across = normal == AXIS_X ? AXIS_Y : AXIS_X;
    const enum axis up = normal == AXIS_Z ? AXIS_Y : AXIS_Z;
    struct box_piece pieces[BOX_PIECES_MOST];
    enum status status = STATUS_OK;
    *plane = (struct patch_plane){.bytes = NULL};
    if (map->h_patch[face] == NULL) {
        return STATUS_OK;
    }
    struct box wide = box_inside(owned, face, 1);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int halo = axis != (int)normal && problem->grid.used[axis] ? depth : 0;
        wide.lo[axis] -= halo;
        wide.hi[axis] += halo;
    }
    plane->pitch = box_extent(&wide, across);
    plane->count = box_cells(&wide);
    plane->origin =
        (owned->lo[up] - wide.lo[up]) * plane->pitch + owned->lo[across] - wide.lo[across];
    plane->bytes = calloc(1, (size_t)plane->count);
    float *numbers = malloc((size_t)plane->count * sizeof *numbers);
    TRY_GOTO(CHECK_MEMORY(numbers != NULL && plane->bytes != NULL,
                          "no memory for the patches of a face"));
    const int npieces = box_pieces(&wide, problem->grid.cells, problem->boundary.periodic, pieces);
    for (int p = 0; p < npieces; p++) {
        const struct box *cells = &pieces[p].cells;
        const int64_t n = box_extent(cells, across);
        const int64_t row = cells->lo[up] + pieces[p].shift[up] - wide.lo[up];
        const int64_t column = cells->lo[across] + pieces[p].shift[across] - wide.lo[across];
        TRY_GOTO(paint_layer(problem, face, cells, numbers));
        for (int64_t c = 0; c < box_cells(cells); c++) {
            plane->bytes[(row + c / n) * plane->pitch + column + c % n] = (uint8_t)numbers[c];
        }
    }
done:
    free(numbers);
    return status;
}

enum status patch_map_create(const struct problem *problem, const struct box *owned,
                             struct patch_map *map)
{
    enum status status = STATUS_OK;
    *map = (struct patch_map){0};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool at_edge = face == face_of(axis, SIDE_MIN)
                                 ? owned->lo[axis] == 0
                                 : owned->hi[axis] == problem->grid.cells[axis];
        if (problem->boundary.nconditions[f] > 1 && at_edge) {
            TRY_GOTO(paint_face(problem, face, owned, map));
        }
    }
    return STATUS_OK;
done:
    patch_map_destroy(map);
    return status;
}

void patch_map_destroy(struct patch_map *map)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        free(map->h_patch[f]);
        map->h_patch[f] = NULL;
    }
}

void patch_map_survey(const struct patch_map *map, struct patch_survey *survey)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int64_t c = 0; map->h_patch[f] != NULL && c < map->cells[f]; c++) {
            survey->cells[f][map->h_patch[f][c]]++;
        }
    }
}

enum status patch_survey_apply(const struct patch_survey *survey, struct problem *problem)
{
    struct boundary *boundary = &problem->boundary;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int64_t cells =
            grid_total_cells(&problem->grid) / problem->grid.cells[face_axis((enum face)f)];
        boundary->face[f][0].cells = boundary->nconditions[f] > 1 ? survey->cells[f][0] : cells;
        for (int p = 1; p < boundary->nconditions[f]; p++) {
            char key[BOUNDARY_KEY_BYTES];
            boundary->face[f][p].cells = survey->cells[f][p];
            if (survey->cells[f][p] == 0) {
                return settings_fail(problem->settings, boundary_key((enum face)f, p, "", key),
                                     "contains no cell of the face, or later patches cover them "
                                     "all, so that it has no effect; remove it, or use a finer "
                                     "grid");
            }
        }
    }
    return STATUS_OK;
}
