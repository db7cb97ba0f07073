#include "solve/medium/surfaces.h"

#include <stdlib.h>

/* Finds each face between a cell of the body and one of an ambient that has a surface; returns
 * their number. elements: NULL, or room for as many, as in `surfaces`. */
static int64_t find(const struct problem *problem, const struct layout *layout,
                    const struct class_map *map, int64_t *elements, const struct surfaces *surfaces)
{
    const struct medium_class *classes = problem->medium.classes;
    const struct box owned = layout_owned(layout);
    const int64_t pitch[AXIS_COUNT] = {1, map->layout.pitch_y, map->layout.pitch_z};
    int64_t count = 0;
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, c, cell);
        const int64_t at = layout_index(&map->layout, cell[0], cell[1], cell[2]);
        const int own = map->h_class[at] & map->mask;
        for (int f = 0; f < FACE_COUNT && !classes[own].is_ambient; f++) {
            const enum axis axis = face_axis((enum face)f);
            const bool below = face_side((enum face)f) == SIDE_MIN;
            const int64_t beside = below ? at - pitch[axis] : at + pitch[axis];
            const int other = problem->grid.used[axis] ? map->h_class[beside] & map->mask : own;
            struct surface_face face;
            if (!classes[other].is_ambient ||
                surface_face_at(problem, map, (enum face)f, at, &face) < 0) {
                continue;
            }
            if (elements != NULL) {
                elements[count] = layout_index(layout, cell[0], cell[1], cell[2]);
                surfaces->h_pairs[count] =
                    (int32_t)medium_g_at(problem->medium.nclasses, (int)axis, own, other);
            }
            if (elements != NULL && surfaces->h_faces != NULL) {
                surfaces->h_faces[count] = below ? at : beside;
            }
            if (elements != NULL && surfaces->h_exchange != NULL) {
                surfaces->h_exchange[count] = face;
            }
            count++;
        }
        if (elements != NULL) {
            surfaces->h_first[cell[AXIS_Z] + 1] = count;
        }
    }
    return count;
}

static enum status find_active(const struct problem *problem, const struct class_map *map,
                               struct active_planes *active)
{
    static int64_t made = 0;
    const struct box owned = box_of_cells(map->layout.cells);
    active->number = ++made;
    active->rows = map->layout.cells[AXIS_Y];
    active->parts = (map->layout.cells[AXIS_X] + ACTIVE_CELLS - 1) / ACTIVE_CELLS;
    active->begin = calloc((size_t)(active->rows * active->parts), sizeof *active->begin);
    active->end = calloc((size_t)(active->rows * active->parts), sizeof *active->end);
    TRY(CHECK_MEMORY(active->begin != NULL && active->end != NULL, "no memory for active cells"));
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, c, cell);
        const int64_t at = layout_index(&map->layout, cell[0], cell[1], cell[2]);
        if (problem->medium.classes[map->h_class[at] & map->mask].is_ambient) {
            continue;
        }
        const int64_t part = cell[AXIS_Y] * active->parts + cell[AXIS_X] / ACTIVE_CELLS;
        if (active->end[part] == 0) {
            active->begin[part] = (int32_t)cell[AXIS_Z];
        }
        active->end[part] = (int32_t)cell[AXIS_Z] + 1; /* the cells are in the order of planes */
    }
    return STATUS_OK;
}

static size_t bytes_of_face(const struct problem *problem)
{
    return sizeof(int64_t) * (problem->medium.per_cell ? 2 : 1) + sizeof(int32_t) +
           precision_bytes(problem->precision) +
           (problem->boundary.nsurfaces > 0 ? sizeof(struct surface_face) : 0);
}

uint64_t surfaces_bytes(const struct problem *problem)
{
    uint64_t faces = 0;
    for (int s = 0; s < problem->medium.nsurfaces; s++) {
        faces += (uint64_t)problem->medium.surface_faces[s];
    }
    return faces * bytes_of_face(problem);
}

enum status surfaces_create(const struct problem *problem, struct engine *engine,
                            const struct layout *layout, const struct class_map *map,
                            struct surfaces *surfaces)
{
    *surfaces = (struct surfaces){0};
    if (problem->medium.nambients > 0 && operator_kind(problem) == KIND_CLASSES) {
        TRY(find_active(problem, map, &surfaces->active));
    }
    if (problem->medium.nsurfaces == 0) {
        return STATUS_OK;
    }
    const int64_t count = find(problem, layout, map, NULL, surfaces);
    const bool stored = problem->medium.per_cell;
    const bool exchanges = problem->boundary.nsurfaces > 0;
    const size_t n = (size_t)count;
    SCOPED_FREE int64_t *elements = malloc((n + 1) * sizeof *elements);
    surfaces->h_first = calloc((size_t)layout->cells[AXIS_Z] + 1, sizeof *surfaces->h_first);
    surfaces->h_pairs = malloc((n + 1) * sizeof *surfaces->h_pairs);
    surfaces->h_faces = stored ? malloc((n + 1) * sizeof *surfaces->h_faces) : NULL;
    surfaces->h_exchange = exchanges ? malloc((n + 1) * sizeof *surfaces->h_exchange) : NULL;
    TRY(CHECK_MEMORY(elements != NULL && surfaces->h_first != NULL && surfaces->h_pairs != NULL &&
                         stored == (surfaces->h_faces != NULL) &&
                         exchanges == (surfaces->h_exchange != NULL),
                     "no memory for the faces of surfaces"));
    surfaces->count = find(problem, layout, map, elements, surfaces);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(engine_send(engine, elements, n * sizeof *elements, &surfaces->d_elements));
    TRY(engine_send(engine, surfaces->h_pairs, n * sizeof *surfaces->h_pairs, &surfaces->d_pairs));
    TRY(stored ? engine_send(engine, surfaces->h_faces, n * sizeof *surfaces->h_faces,
                             &surfaces->d_faces)
               : STATUS_OK);
    TRY(exchanges ? engine_send(engine, surfaces->h_exchange, n * sizeof *surfaces->h_exchange,
                                (void **)&surfaces->d_exchange)
                  : STATUS_OK);
    return engine->runtime->memory_alloc(engine->device, n * precision_bytes(problem->precision),
                                         &surfaces->d_values);
}

void surfaces_destroy(struct surfaces *surfaces, struct engine *engine)
{
    free(surfaces->active.begin);
    free(surfaces->active.end);
    free(surfaces->h_first);
    free(surfaces->h_pairs);
    free(surfaces->h_faces);
    free(surfaces->h_exchange);
    engine->runtime->memory_free(engine->device, surfaces->d_exchange);
    engine->runtime->memory_free(engine->device, surfaces->d_faces);
    engine->runtime->memory_free(engine->device, surfaces->d_elements);
    engine->runtime->memory_free(engine->device, surfaces->d_pairs);
    engine->runtime->memory_free(engine->device, surfaces->d_values);
}
