/* The operator of one time step: all spatial data of the kernels. Built only here, from the
 * problem, a time and the length of the step. */
#pragma once

#include <math.h>

#include "base/exact_sum.h"
#include "kernels/backend.h"
#include "model/medium/boundary.h"
#include "model/operator/map/patch_map.h"
#include "model/problem.h"
#include "model/space/decomp.h"

struct heat_operator {
    struct instant when;         /* of the conditions: the start of a step */
    double dt;                   /* s: its length, times the weight of a level */
    double middle;               /* s: of sources; of a level its natural time */
    double source[MOST_SOURCES]; /* of a step: of each entry of `sources` its factor at mid-step, in
                                    W/m^3 where it is painted; else 0. Those after are not set */
    struct coefficients all;     /* of the whole domain, without device memory. Of classes: a and b
                                    are those of class 0 outside patches */
};

/* The kind of a problem's coefficients. */
enum kind operator_kind(const struct problem *problem);

/* Whether the `a` of a uniform medium, by which its ledger multiplies sums, depends on time. */
bool operator_a_varies(const struct problem *problem);

/* For a step of length `dt` from `time`, s, without sources. STATUS_NUMERICS when a formula is not
 * finite at that time; the same on all ranks. Nothing else that follows from an operator fails for
 * that reason. Not collective. */
enum status operator_create(const struct problem *problem, double time, double dt,
                            struct heat_operator *op);

/* For a level of the super step that starts at `time`, with its sources; `dt` is the length of the
 * super step. Fails as operator_create. */
enum status operator_of_level(const struct problem *problem, double time, double dt,
                              const struct superstep_level *level, struct heat_operator *op);

/* For the step that starts at `step`, with its sources. */
enum status operator_of_step(const struct problem *problem, int64_t step, struct heat_operator *op);

/* For the step that ended at `step`; at step 0 for the first one. */
enum status operator_before(const struct problem *problem, int64_t step, struct heat_operator *op);

/* The heat that painted sources and metabolism add to a cell of this class in the step, in K of the
 * reference heat capacity; with lines by how much the cell's temperature rises. As kernels have it.
 */
double operator_class_source(const struct heat_operator *op, const struct problem *problem,
                             int of_class);

/* The closure of a cell of an enthalpy with the value u. */
struct class_closure operator_close_enthalpy(const struct problem *problem, enum axis axis,
                                             const struct class_closure *closure, int of_class,
                                             double u);

/* The width of the cells of a class inside a face, m. */
double operator_width_at(const struct problem *problem, enum face face, int of_class);

/* The closure of a cell whose conductivity has a factor. */
struct class_closure operator_close_factor(const struct problem *problem, enum face face,
                                           const struct class_closure *closure, int of_class,
                                           double factor);

/* For every face: the largest number of conditions times that of classes. */
int operator_closure_count(const struct problem *problem);

/* Of all classes for each condition of the face: [condition][class], operator_closure_count of them
 * at most; and where cells have factors those of the block's cells, in their order. The caller
 * frees. STATUS_MEMORY. */
enum status operator_closures(const struct heat_operator *op, const struct problem *problem,
                              enum face face, const struct patch_plane *plane,
                              struct class_closure **closures);
/* The place in them of a cell, counted in the order of the block's cells at the face. */
static inline int64_t operator_closure_at(const struct problem *problem,
                                          const struct patch_plane *plane, int64_t cell,
                                          int of_class)
{
    return patch_plane_has_factors(plane)
               ? operator_closure_count(problem) + cell
               : (int64_t)patch_plane_condition(plane, cell) * problem->medium.nclasses + of_class;
}

int64_t operator_table_length(const struct problem *problem);

/* The number of the first closure of a face whose cells have their own, behind `length` values of a
 * table; `length` then counts these too. */
int64_t operator_first_closure(const struct problem *problem, enum face face,
                               const struct patch_plane *plane, int64_t *length);
/* Write these closures to a table. */
enum status operator_own_table(const struct heat_operator *op, const struct problem *problem,
                               enum face face, const struct patch_plane *plane, int64_t first,
                               void *table);

/* The table of coefficients of a medium of classes (kernels/cell/medium_cell.h), in the precision
 * of the run; operator_table_length values. conductances: [axis][class][class], those of
 * medium_conductance; NULL: the table has those of another time with the same dt. */
void operator_table(const struct heat_operator *op, const struct problem *problem,
                    const double *conductances, void *table);

/* The coefficients of the step on one rank; those of a medium are set by solve/medium/classes.h.
 * Closed faces are those at the edge of the domain. d_face_sum: FACE_COUNT sums in device memory,
 * for faces where the heat depends on the cells; NULL: none. */
void operator_coefficients(const struct heat_operator *op, const struct problem *problem,
                           const struct decomp *decomp, int rank, struct exact_sum *d_face_sum,
                           struct coefficients *coefficients);

/* The scale of flux_squared. */
void operator_flux_scale(const struct heat_operator *op, const struct problem *problem,
                         double scale[AXIS_COUNT]);
