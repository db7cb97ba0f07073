/* The faces between a body and ambients on one rank, and the cells of ambients. */
#pragma once

#include "kernels/coefficients.h"
#include "model/operator/map/surface_faces.h"
#include "solve/engine.h"

/* In the order of the body's cells. */
struct surfaces {
    int64_t count;
    int64_t *h_first;               /* [planes on z + 1]: the faces before those of a plane */
    void *d_elements, *d_pairs;     /* as sum_surfaces has them */
    void *d_faces;                  /* the same with properties per cell; else NULL */
    void *d_numbers;                /* of each face with d_faces, else of each pair: struct
                                       surface_numbers */
    void *d_exchange, *d_condition; /* a struct surface_face of each face, and a struct
                                       face_exchange of each surface; NULL: no surface exchanges */
    struct active_planes active;    /* of a medium of classes with ambients; else begin is NULL */
};

/* Device memory that surfaces_create needs at most. */
uint64_t surfaces_bytes(const struct problem *problem);

/* Not collective. For a field of this layout and the map of its cells, with flags. Destroy it after
 * a failure, too. STATUS_MEMORY, STATUS_DEVICE. */
enum status surfaces_create(const struct problem *problem, struct engine *engine,
                            const struct layout *layout, const struct class_map *map,
                            struct surfaces *surfaces);
void surfaces_destroy(struct surfaces *surfaces, struct engine *engine); /* takes a zeroed one */
