#include "model/operator/map/patch_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/operator/face_factors.h"
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
    char key[BOUNDARY_KEY_BYTES];
    patch_shape(&settings->boundary[face].patches[number - 1], face_axis(face), number, &shape);
    return settings_place(settings->origin,
                          shape_paint(&problem->grid, &shape, layer, PRECISION_FLOAT32, numbers),
                          "%s", boundary_key(face, number, "where", key));
}

/* The cells of one piece. `values`: room for as many. */
static enum status paint_piece(const struct problem *problem, const struct box_piece *piece,
                               float *values, struct patch_plane *plane)
{
    const int64_t cells = box_cells(&piece->cells);
    memset(values, 0, (size_t)cells * sizeof *values);
    for (int number = 1; number < problem->boundary.nconditions[plane->face]; number++) {
        TRY(paint_patch(problem, plane->face, number, &piece->cells, values));
    }
    for (int64_t c = 0; c < cells; c++) {
        plane->h_patch[patch_plane_place_in(plane, piece, c)] = (uint8_t)values[c];
    }
    return STATUS_OK;
}

static enum status paint_face(const struct problem *problem, enum face face,
                              const struct box *owned, int depth, class_reader *read,
                              struct patch_plane *plane)
{
    const enum axis across = face_across(face);
    const enum axis up = face_up(face);
    const struct box layer = box_inside(owned, face, 1);
    struct box_piece pieces[BOX_PIECES_MOST];
    struct box wide = layer;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int halo = axis != (int)face_axis(face) && problem->grid.used[axis] ? depth : 0;
        wide.lo[axis] -= halo;
        wide.hi[axis] += halo;
    }
    plane->face = face;
    plane->wide = wide;
    plane->cells = box_cells(&layer);
    plane->columns = box_extent(&layer, across);
    plane->pitch = box_extent(&wide, across);
    plane->bytes = (box_cells(&wide) + 3) / 4 * 4; /* whole words, for their sum */
    plane->origin =
        (layer.lo[up] - wide.lo[up]) * plane->pitch + layer.lo[across] - wide.lo[across];
    SCOPED_FREE float *values = malloc((size_t)plane->bytes * sizeof *values);
    plane->h_patch = calloc(1, (size_t)plane->bytes);
    TRY(CHECK_MEMORY(values != NULL && plane->h_patch != NULL,
                     "no memory for the patches of a face"));
    const int npieces = box_pieces(&wide, problem->grid.cells, problem->boundary.periodic, pieces);
    for (int p = 0; p < npieces; p++) {
        TRY(paint_piece(problem, &pieces[p], values, plane));
    }
    return boundary_has_factors(&problem->boundary, face)
               ? face_factors_create(problem, read, plane)
               : STATUS_OK;
}

uint64_t patch_map_cells(const struct problem *problem, const struct box *owned, enum face face,
                         int depth)
{
    struct box layer = box_inside(owned, face, 1);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        layer.hi[axis] += axis != (int)face_axis(face) ? 2 * (int64_t)depth : 0;
    }
    return boundary_is_painted(&problem->boundary, face) ? (uint64_t)box_cells(&layer) : 0;
}

uint64_t patch_map_bytes(const struct problem *problem, const struct box *owned, int depth)
{
    uint64_t bytes = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const uint64_t cells = patch_map_cells(problem, owned, (enum face)f, depth);
        bytes += boundary_has_factors(&problem->boundary, (enum face)f)
                     ? 2 * cells + face_factors_bytes(problem, (enum face)f, cells)
                     : cells;
    }
    return bytes;
}

enum status patch_map_create(const struct problem *problem, const struct box *owned, int depth,
                             class_reader *read, struct patch_map *map)
{
    *map = (struct patch_map){.face = {{0}}};
    for (int f = 0; f < FACE_COUNT; f++) {
        const enum face face = (enum face)f;
        const enum axis axis = face_axis(face);
        const bool at_edge = face == face_of(axis, SIDE_MIN)
                                 ? owned->lo[axis] == 0
                                 : owned->hi[axis] == problem->grid.cells[axis];
        if (boundary_is_painted(&problem->boundary, face) && at_edge) {
            TRY(paint_face(problem, face, owned, depth, read, &map->face[f]));
        }
    }
    return STATUS_OK;
}

enum status patch_map_classify(struct patch_map *map, const struct class_map *classes)
{
    const struct layout *layout = &classes->layout;
    const struct box owned = box_of_cells(layout->cells);
    for (int f = 0; f < FACE_COUNT; f++) {
        struct patch_plane *plane = &map->face[f];
        const enum axis normal = face_axis((enum face)f);
        const enum axis across = face_across((enum face)f);
        const enum axis up = face_up((enum face)f);
        if (!patch_plane_has_factors(plane)) {
            continue;
        }
        const struct box layer = box_inside(&owned, (enum face)f, 1);
        plane->h_class = calloc(1, (size_t)plane->bytes);
        TRY(CHECK_MEMORY(plane->h_class != NULL, "no memory for the materials of a face"));
        const int64_t before[2] = {plane->origin / plane->pitch, plane->origin % plane->pitch};
        const int64_t rows = layout->cells[up] + 2 * before[0];
        for (int64_t c = 0; c < rows * plane->pitch; c++) {
            int64_t cell[AXIS_COUNT];
            cell[normal] = layer.lo[normal];
            cell[up] = c / plane->pitch - before[0];
            cell[across] = c % plane->pitch - before[1];
            plane->h_class[c] =
                classes->h_class[layout_index(layout, cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z])];
        }
    }
    return STATUS_OK;
}

void patch_map_destroy(struct patch_map *map)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        struct patch_plane *plane = &map->face[f];
        free(plane->h_patch);
        free(plane->h_class);
        for (int n = 0; n < BOUNDARY_FACTORS; n++) {
            free(plane->h_factor[n]);
        }
        face_factors_destroy(plane->moving);
        *plane = (struct patch_plane){0};
    }
}

void patch_map_survey(const struct patch_map *map, struct class_survey *survey)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        const struct patch_plane *plane = &map->face[f];
        for (int64_t c = 0; plane->h_patch != NULL && c < plane->cells; c++) {
            const int patch = patch_plane_condition(plane, c);
            for (int n = 0; n < BOUNDARY_FACTORS && plane->h_factor[n] != NULL; n++) {
                const double factor = plane->h_factor[n][patch_plane_place(plane, c)];
                class_survey_widen(survey, f, patch, n, factor, factor);
            }
            survey->patches[f][patch]++;
        }
        face_factors_survey(plane, survey);
    }
}

enum status patch_survey_apply(const struct class_survey *survey, struct problem *problem)
{
    struct boundary *boundary = &problem->boundary;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int64_t cells =
            grid_total_cells(&problem->grid) / problem->grid.cells[face_axis((enum face)f)];
        boundary->face[f][0].cells = boundary->nconditions[f] > 1 ? survey->patches[f][0] : cells;
        for (int p = 0; p < boundary->nconditions[f]; p++) {
            if (boundary_has_factors(boundary, (enum face)f) && survey->patches[f][p] > 0) {
                memcpy(boundary->face[f][p].range, survey->face_factors[f][p],
                       sizeof boundary->face[f][p].range);
            }
        }
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
    return boundary_check(problem->settings, boundary, &problem->grid, &problem->medium,
                          &(struct instant){.time = 0});
}
