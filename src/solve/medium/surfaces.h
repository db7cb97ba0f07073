/* The faces between a body and ambients on one rank, and the cells of ambients. */
#pragma once

#include "kernels/coefficients.h"
#include "model/operator/surface_faces.h"
#include "solve/engine.h"

/* In the order of the body's cells. */
struct surfaces {
    int64_t count;
    int64_t *h_first; /* [planes on z + 1]: the faces before those of a plane */
    int32_t *h_pairs; /* of each face: the place of its g in the table (medium_g_at) */
    int64_t *h_faces; /* of properties per cell: the element that has its g; else NULL */
    struct surface_face *h_exchange; /* of each face; NULL: no surface exchanges */
    struct surface_face *d_exchange;
    void *d_elements, *d_pairs, *d_faces, *d_values; /* as sum_surfaces and gather have them */
    struct active_planes active; /* of a medium of classes with ambients; else begin is NULL */
};

/* Device memory that surfaces_create needs at most. */
uint64_t surfaces_bytes(const struct problem *problem);

/* Not collective. For a field of this layout and the map of its cells, with flags. Destroy it after
 * a failure, too. STATUS_MEMORY, STATUS_DEVICE. */
enum status surfaces_create(const struct problem *problem, struct engine *engine,
                            const struct layout *layout, const struct class_map *map,
                            struct surfaces *surfaces);
void surfaces_destroy(struct surfaces *surfaces, struct engine *engine); /* takes a zeroed one */
