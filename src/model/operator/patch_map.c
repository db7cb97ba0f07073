#include "model/operator/patch_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "model/space/shape.h"

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
    char key[BOUNDARY_KEY_BYTES];
    patch_shape(&settings->boundary[face].patches[number - 1], face_axis(face), number, &shape);
    enum status status = brush_begin(&brush, &problem->grid, &shape, box_cells(layer), 1);
    if (status == STATUS_OK) {
        status = brush_paint(&brush, layer, PRECISION_FLOAT32, numbers);
    }
    brush_end(&brush);
    return settings_place(settings->origin, status, "%s", boundary_key(face, number, "where", key));
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
                              const struct box *owned, int depth, struct patch_plane *plane)
{
    const enum axis normal = face_axis(face);
    const enum axis across = normal == AXIS_X ? AXIS_Y : AXIS_X;
    const enum axis up = normal == AXIS_Z ? AXIS_Y : AXIS_Z;
    const struct box layer = box_inside(owned, face, 1);
    struct box_piece pieces[BOX_PIECES_MOST];
    struct box wide = layer;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int halo = axis != (int)normal && problem->grid.used[axis] ? depth : 0;
        wide.lo[axis] -= halo;
        wide.hi[axis] += halo;
    }
    plane->cells = box_cells(&layer);
    plane->columns = box_extent(&layer, across);
    plane->pitch = box_extent(&wide, across);
    plane->bytes = (box_cells(&wide) + 3) / 4 * 4; /* whole words, for their sum */
    plane->origin =
        (layer.lo[up] - wide.lo[up]) * plane->pitch + layer.lo[across] - wide.lo[across];
    plane->h_patch = calloc(1, (size_t)plane->bytes);
    SCOPED_FREE float *numbers = malloc((size_t)plane->bytes * sizeof *numbers);
    TRY(CHECK_MEMORY(numbers != NULL && plane->h_patch != NULL,
                     "no memory for the patches of a face"));
    const int npieces = box_pieces(&wide, problem->grid.cells, problem->boundary.periodic, pieces);
    for (int p = 0; p < npieces; p++) {
        const struct box *cells = &pieces[p].cells;
        const int64_t n = box_extent(cells, across);
        const int64_t row = cells->lo[up] + pieces[p].shift[up] - wide.lo[up];
        const int64_t column = cells->lo[across] + pieces[p].shift[across] - wide.lo[across];
        TRY(paint_layer(problem, face, cells, numbers));
        for (int64_t c = 0; c < box_cells(cells); c++) {
            plane->h_patch[(row + c / n) * plane->pitch + column + c % n] = (uint8_t)numbers[c];
        }
    }
    return STATUS_OK;
}

enum status patch_map_create(const struct problem *problem, const struct box *owned, int depth,
                             struct patch_map *map)
{
    *map = (struct patch_map){.face = {{0}}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool at_edge = face == face_of(axis, SIDE_MIN)
                                 ? owned->lo[axis] == 0
                                 : owned->hi[axis] == problem->grid.cells[axis];
        if (problem->boundary.nconditions[f] > 1 && at_edge) {
            TRY(paint_face(problem, face, owned, depth, &map->face[f]));
        }
    }
    return STATUS_OK;
}

void patch_map_destroy(struct patch_map *map)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        free(map->face[f].h_patch);
        map->face[f].h_patch = NULL;
    }
}

void patch_map_survey(const struct patch_map *map, struct class_survey *survey)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        for (int64_t c = 0; map->face[f].h_patch != NULL && c < map->face[f].cells; c++) {
            survey->patches[f][patch_map_at(map, (enum face)f, c)]++;
        }
    }
}

enum status patch_survey_apply(const struct class_survey *survey, struct problem *problem)
{
    struct boundary *boundary = &problem->boundary;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int64_t cells =
            grid_total_cells(&problem->grid) / problem->grid.cells[face_axis((enum face)f)];
        boundary->face[f][0].cells = boundary->nconditions[f] > 1 ? survey->patches[f][0] : cells;
        for (int p = 1; p < boundary->nconditions[f]; p++) {
            char key[BOUNDARY_KEY_BYTES];
            boundary->face[f][p].cells = survey->patches[f][p];
            FAIL_IF(survey->patches[f][p] == 0,
                    settings_fail(problem->settings, boundary_key((enum face)f, p, "", key),
                                  "contains no cell of the face, or later patches cover them "
                                  "all, so that it has no effect; remove it, or use a finer "
                                  "grid"));
        }
    }
    return STATUS_OK;
}
