/* Permanent changes of materials: before each step the classes of cells follow the field.
 * Every rank finds those of its halo from the same field, so that they are not exchanged. */
#ifndef ISOTHERM_SOLVE_MEDIUM_CHANGES_H
#define ISOTHERM_SOLVE_MEDIUM_CHANGES_H

#include "machine/team.h"
#include "model/field/field.h"
#include "model/operator/class_map.h"
#include "solve/engine.h"

struct changes {
    struct class_changes args;   /* d_class, borrowed, and mask: by the caller */
    struct box owned;            /* that may change, local indices */
    struct box halo[FACE_COUNT]; /* the same of the neighbours' cells beyond each face */
    void *d_at, *d_to;
    struct event *done; /* on the queue of changes_of_owned; NULL: nothing changes */
};

/* Not collective. For the classes of `map`, without flags; does nothing where no material changes.
 * `changes`: zeroed. */
enum status changes_allocate(struct changes *changes, const struct problem *problem,
                             const struct team *team, const struct class_map *map,
                             struct engine *engine) MUST_CHECK;
void changes_destroy(struct changes *changes, struct engine *engine); /* takes a zeroed one */

/* Device memory that changes_allocate needs. */
uint64_t changes_bytes(const struct problem *problem);

/* Queued, without effect where nothing changes. The classes of the owned cells follow the current
 * field; and those of the halo, once it is complete, on a queue that then waits for both. */
enum status changes_of_owned(const struct changes *changes, struct engine *engine,
                             const struct field *field, struct queue *queue) MUST_CHECK;
enum status changes_of_halo(const struct changes *changes, struct engine *engine,
                            const struct field *field, struct queue *queue) MUST_CHECK;

#endif
