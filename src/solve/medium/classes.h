/* The classes of a medium on one rank: painted and surveyed on the host, then kept on the device
 * with the coefficients of the current step. */
#pragma once

#include "machine/team.h"
#include "model/field/field.h"
#include "model/operator/map/class_map.h"
#include "model/operator/map/line_values.h"
#include "model/operator/map/patch_map.h"
#include "model/operator/operator.h"
#include "solve/engine.h"
#include "solve/medium/surfaces.h"

/* Tables in flight: those of the steps of passes that may run, of the next pass, and one for the
 * outputs. */
enum { CLASS_TABLES_MOST = (PASSES_AHEAD + 1) * STEPS_MOST + 1 };
static inline int classes_tables(int depth)
{
    return (PASSES_AHEAD + 1) * depth + 1;
}

/* Permanent changes of materials: before each step the classes of cells follow the field. Every
 * rank finds those of its halo from the same field, so that they are not exchanged. */
struct changes {
    struct change_classes_args args; /* without the field and the box */
    struct box owned;                /* that may change, local indices */
    struct box halo[FACE_COUNT];     /* the same of the neighbours' cells beyond each face */
    void *d_at, *d_to;
    struct event *done; /* on the queue of classes_follow_owned; NULL: nothing changes */
};

struct classes {
    struct class_map map;      /* while the solver uses it; with the flags of d_class */
    struct device_medium args; /* of the last table */
    void *d_class, *d_weight;
    void *d_material;  /* [MEDIUM_CLASSES]: the number of the material of each class */
    void *d_group;     /* the same, or of a graded grid the class: cells of one summary are equal */
    void *d_summaries; /* [MEDIUM_CLASSES]: for summarise_classes */
    /* For sum_faces: of all faces, operator_closure_count closures each, and those of cells that
     * have their own; all conditions, then all surfaces; the sources; and the curves of materials,
     * or NULL. */
    void *d_closures, *d_face_sums, *d_beams, *d_curves;
    void *h_closures, *h_face_sums; /* pinned; h_closures: as last sent to the device */
    int depth;                      /* layers of halo: steps of a pass at most */
    int ntables;                    /* CLASS_TABLES_MOST at most */
    void *d_table[CLASS_TABLES_MOST];
    void *h_table[CLASS_TABLES_MOST]; /* pinned */
    void *h_values;                   /* of the last table */
    double *h_conductances;           /* as operator_table has them */
    size_t table_bytes;
    struct changes changes;
    struct surfaces surfaces;
    size_t exchanges_at; /* in a table: the struct face_exchange of each surface that exchanges */
    struct patch_map patches;
    void *d_patch[FACE_COUNT];
    int64_t first_closure[FACE_COUNT]; /* see operator_first_closure; 0: none */
    uint8_t *h_face_class[FACE_COUNT]; /* of the cells inside this rank's closed faces, or NULL;
                                          as of the last classes_show */
    float *h_face_factor[FACE_COUNT];  /* of the conductivity of the same; or NULL */
    void *d_factor[AXIS_COUNT + 1];    /* d_g and d_sigma of args, or NULL */
    struct line_values lines;          /* of a medium with lines */
    int slot;                          /* of the last table */
    double time, dt;                   /* of the last table; dt 0: none yet */
    struct event *ready;
};

/* Collective, agreed. Paint this rank's cells, for passes of at most `depth` steps, and complete
 * the problem by the survey of all. With a uniform medium nothing. */
enum status classes_open(struct problem *problem, const struct team *team, int depth,
                         struct classes *classes);

/* Device memory that classes_allocate needs. */
uint64_t classes_bytes(const struct problem *problem, const struct box *owned, int depth);
/* Of these, that of the classes and of the properties per cell. */
uint64_t classes_cell_bytes(const struct problem *problem, const struct box *owned, int depth);

/* Not collective. Copy the map to the device, for a field of this layout. */
enum status classes_allocate(struct classes *classes, const struct problem *problem,
                             const struct team *team, struct engine *engine,
                             const struct layout *layout);
/* For classes_allocate, before the map has flags: the part for changes of materials, if any. */
enum status classes_allocate_changes(struct classes *classes, const struct problem *problem,
                                     const struct team *team, struct engine *engine);
void classes_destroy(struct classes *classes, struct engine *engine); /* takes a zeroed one */

/* Not collective. Let classes->args hold the coefficients of `op`, for work that is then queued on
 * the bulk and the halo queue. With a uniform medium nothing. */
enum status classes_update(struct classes *classes, const struct problem *problem,
                           struct engine *engine, const struct heat_operator *op);

/* Queued, without effect where nothing changes. The classes of the owned cells follow the current
 * field; and those of the halo, once it is complete, on a queue that then waits for both. */
enum status classes_follow_owned(const struct classes *classes, struct engine *engine,
                                 const struct field *field, struct queue *queue);
enum status classes_follow_halo(const struct classes *classes, struct engine *engine,
                                const struct field *field, struct queue *queue);

/* Not collective; blocks. Give the cells of ambients their temperatures, and let outputs know of
 * them. */
enum status classes_set_ambients(const struct classes *classes, const struct problem *problem,
                                 struct field *field);

/* Not collective; blocks. Let outputs see the materials of the current step: in the derived field
 * of their numbers, if there is one, and on this rank's closed faces. */
enum status classes_show(struct classes *classes, const struct problem *problem,
                         struct engine *engine, struct field *field);

/* Not collective, needs no MPI. The survey of the whole grid, in parts that fit into memory: for
 * `plan`. */
enum status classes_survey_alone(struct problem *problem);
