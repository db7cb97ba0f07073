#include "solve/medium/surfaces.h"

#include <stdlib.h>

/* Calls for each face between a cell of the body and one of an ambient that has a surface; returns
 * their number. elements, pairs: NULL, or room for as many. */
static int64_t find(const struct problem *problem, const struct layout *layout,
                    const struct device_medium *medium, const uint8_t *h_class, int64_t *elements,
                    int32_t *pairs)
{
    const struct medium_class *classes = problem->medium.classes;
    const struct box owned = layout_owned(layout);
    const int64_t pitch[AXIS_COUNT] = {1, medium->layout.pitch_y, medium->layout.pitch_z};
    int64_t count = 0;
    for (int64_t c = 0; c < box_cells(&owned); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, c, cell);
        const uint8_t *at = &h_class[layout_index(&medium->layout, cell[0], cell[1], cell[2])];
        const int own = *at & medium->mask;
        for (int f = 0; f < FACE_COUNT && !classes[own].is_ambient; f++) {
            const enum axis axis = face_axis((enum face)f);
            const int64_t step = face_side((enum face)f) == SIDE_MIN ? -pitch[axis] : pitch[axis];
            const int other = problem->grid.used[axis] ? at[step] & medium->mask : own;
            if (medium_surface(&problem->medium, classes[own].key.material,
                               classes[other].key.material) < 0) {
                continue;
            }
            if (elements != NULL) {
                elements[count] = layout_index(layout, cell[0], cell[1], cell[2]);
                pairs[count] = (int32_t)medium_g_at(medium->nclasses, (int)axis, own, other);
            }
            count++;
        }
    }
    return count;
}

static size_t bytes_of_face(const struct problem *problem)
{
    return sizeof(int64_t) + sizeof(int32_t) + precision_bytes(problem->precision);
}

uint64_t surfaces_bytes(const struct problem *problem)
{
    uint64_t faces = 0;
    for (int i = 0; i < problem->medium.nsurfaces * AXIS_COUNT; i++) {
        faces += (uint64_t)problem->medium.surface_faces[i / AXIS_COUNT][i % AXIS_COUNT];
    }
    return faces * bytes_of_face(problem);
}

enum status surfaces_create(const struct problem *problem, struct engine *engine,
                            const struct layout *layout, const struct device_medium *medium,
                            const uint8_t *h_class, struct surfaces *surfaces)
{
    *surfaces = (struct surfaces){0};
    if (problem->medium.nsurfaces == 0) {
        return STATUS_OK;
    }
    const int64_t count = find(problem, layout, medium, h_class, NULL, NULL);
    const size_t n = (size_t)count;
    SCOPED_FREE int64_t *elements = malloc((n + 1) * sizeof *elements);
    surfaces->h_pairs = malloc((n + 1) * sizeof *surfaces->h_pairs);
    TRY(CHECK_MEMORY(elements != NULL && surfaces->h_pairs != NULL,
                     "no memory for the faces of surfaces"));
    surfaces->count = find(problem, layout, medium, h_class, elements, surfaces->h_pairs);
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(engine_send(engine, elements, n * sizeof *elements, &surfaces->d_elements));
    TRY(engine_send(engine, surfaces->h_pairs, n * sizeof *surfaces->h_pairs, &surfaces->d_pairs));
    return engine->runtime->memory_alloc(engine->device, n * precision_bytes(problem->precision),
                                         &surfaces->d_values);
}

void surfaces_destroy(struct surfaces *surfaces, struct engine *engine)
{
    free(surfaces->h_pairs);
    engine->runtime->memory_free(engine->device, surfaces->d_elements);
    engine->runtime->memory_free(engine->device, surfaces->d_pairs);
    engine->runtime->memory_free(engine->device, surfaces->d_values);
}
