#include "solve/medium/surfaces.h"

#include <stdlib.h>

/* As in struct surfaces, on the host. */
struct found {
    int64_t *elements, *faces;
    int32_t *pairs;
    struct surface_face *exchange;
    int64_t *first; /* zeroed */
};

/* Finds each face between a cell of the body and one of an ambient that has a surface; returns
 * their number. found: NULL, or arrays of as many. */
static int64_t find(const struct problem *problem, const struct layout *layout,
                    const struct class_map *map, const struct found *found)
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
            if (found != NULL) {
                found->elements[count] = layout_index(layout, cell[0], cell[1], cell[2]);
                found->pairs[count] =
                    (int32_t)medium_g_at(problem->medium.nclasses, (int)axis, own, other);
                found->faces[count] = below ? at : beside;
                found->exchange[count] = face;
            }
            count++;
        }
        if (found != NULL) {
            found->first[cell[AXIS_Z] + 1] = count;
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

/* Of `faces`. */
static size_t numbers_of(const struct problem *problem, size_t faces)
{
    return problem->medium.per_cell
               ? faces
               : (size_t)medium_g_at(problem->medium.nclasses, AXIS_COUNT, 0, 0);
}

uint64_t surfaces_bytes(const struct problem *problem)
{
    size_t faces = 0;
    for (int s = 0; s < problem->medium.nsurfaces; s++) {
        faces += (size_t)problem->medium.surface_faces[s];
    }
    return faces == 0
               ? 0
               : faces * (sizeof(int64_t) * (problem->medium.per_cell ? 2 : 1) + sizeof(int32_t) +
                          (problem->boundary.nsurfaces > 0 ? sizeof(struct surface_face) : 0)) +
                     numbers_of(problem, faces) * sizeof(struct surface_numbers) +
                     (size_t)problem->boundary.nsurfaces * sizeof(struct face_exchange);
}

static enum status send_numbers(const struct problem *problem, struct engine *engine,
                                const struct class_map *map, const struct found *found,
                                struct surfaces *surfaces)
{
    const size_t n = numbers_of(problem, (size_t)surfaces->count);
    const bool stored = problem->medium.per_cell;
    SCOPED_FREE struct surface_numbers *numbers = calloc(n, sizeof *numbers);
    TRY(CHECK_MEMORY(numbers != NULL, "no memory for the faces of surfaces"));
#pragma omp parallel for
    for (size_t i = stored ? 0 : 2 * (size_t)problem->medium.nclasses; i < n; i++) {
        numbers[i] = stored ? surface_numbers_at(problem, map, found->pairs[i], found->faces[i])
                            : surface_numbers_of(problem, (int)i);
    }
    return engine_send(engine, numbers, n * sizeof *numbers, &surfaces->d_numbers);
}

enum status surfaces_create(const struct problem *problem, struct engine *engine,
                            const struct layout *layout, const struct class_map *map,
                            struct surfaces *surfaces)
{
    *surfaces = (struct surfaces){0};
    if (problem->medium.nambients > 0 && operator_kind(problem) == KIND_CLASSES) {
        TRY(find_active(problem, map, &surfaces->active));
    }
    surfaces->count = problem->medium.nsurfaces > 0 ? find(problem, layout, map, NULL) : 0;
    if (surfaces->count == 0) {
        return STATUS_OK;
    }
    const size_t n = (size_t)surfaces->count;
    SCOPED_FREE int64_t *elements = malloc(n * sizeof *elements);
    SCOPED_FREE int32_t *pairs = malloc(n * sizeof *pairs);
    SCOPED_FREE int64_t *faces = malloc(n * sizeof *faces);
    SCOPED_FREE struct surface_face *exchange = malloc(n * sizeof *exchange);
    surfaces->h_first = calloc((size_t)layout->cells[AXIS_Z] + 1, sizeof *surfaces->h_first);
    TRY(CHECK_MEMORY(elements != NULL && pairs != NULL && faces != NULL && exchange != NULL &&
                         surfaces->h_first != NULL,
                     "no memory for the faces of surfaces"));
    const struct found found = {elements, faces, pairs, exchange, surfaces->h_first};
    find(problem, layout, map, &found);
    TRY(engine_send(engine, elements, n * sizeof *elements, &surfaces->d_elements));
    TRY(engine_send(engine, pairs, n * sizeof *pairs, &surfaces->d_pairs));
    TRY(send_numbers(problem, engine, map, &found, surfaces));
    if (problem->medium.per_cell) {
        TRY(engine_send(engine, faces, n * sizeof *faces, &surfaces->d_faces));
    }
    if (problem->boundary.nsurfaces > 0) {
        TRY(engine_send(engine, exchange, n * sizeof *exchange, &surfaces->d_exchange));
        TRY(engine->runtime->memory_alloc(
            engine->device, (size_t)problem->boundary.nsurfaces * sizeof(struct face_exchange),
            &surfaces->d_condition));
    }
    return STATUS_OK;
}

void surfaces_destroy(struct surfaces *surfaces, struct engine *engine)
{
    free(surfaces->active.begin);
    free(surfaces->active.end);
    free(surfaces->h_first);
    engine->runtime->memory_free(engine->device, surfaces->d_condition);
    engine->runtime->memory_free(engine->device, surfaces->d_exchange);
    engine->runtime->memory_free(engine->device, surfaces->d_faces);
    engine->runtime->memory_free(engine->device, surfaces->d_elements);
    engine->runtime->memory_free(engine->device, surfaces->d_pairs);
    engine->runtime->memory_free(engine->device, surfaces->d_numbers);
}
