/* A step, or a pass of several, of any kind for the conformance tests, and the result of a plain
 * host loop. */
#pragma once

#include "rig.h"

enum { MAX_BOXES = 16 };

/* How the classes lie. */
enum pattern { PATTERN_RANDOM, PATTERN_BLOCKS, PATTERN_LAYERS, PATTERN_ONE, PATTERN_COUNT };

/* The medium's pointers are to host memory. */
struct problem {
    struct layout layout;
    int nsteps;
    int corrects;                           /* the step that does so; -1: none */
    struct coefficients args;               /* of the step that the reference makes */
    struct coefficients levels[STEPS_MOST]; /* of a kind without classes: of each step */
    struct device_medium medium;
    void *tables[STEPS_MOST]; /* of each step after the first */
    size_t nvalues;           /* of a table */
    size_t patch_bytes[FACE_COUNT];
    struct box boxes[MAX_BOXES];
    int nboxes;
    struct box without; /* as in step_args: none or one */
    void *h_in;
    const void *h_start; /* for compare: what is advanced; else NULL */
    void *h_out;         /* before: a pattern */
    const void *h_base;  /* for the reference: of a step that corrects, what its sums begin with */
    void *h_expected;    /* h_out with the cells of the boxes advanced */
    struct exact_sum face_sum[STEPS_MOST][FACE_COUNT];
};

/* What the sum of the cell at element `at` begins with. */
static inline double problem_base(const struct problem *p, int64_t at)
{
    return host_get(&p->layout, p->h_base, at);
}

/* A neighbour of a cell as the update sees it. */
struct beyond {
    double value, g;
    bool closed;
};

/* Any problem of a kind. Faces: bit f of `closed_faces`; an axis of one cell with both faces closed
 * is sometimes out of use. Of high order, axes may become longer. */
void problem_create_kind(struct problem *p, enum kind kind, const int64_t cells[AXIS_COUNT],
                         unsigned closed_faces, int nsteps, enum precision precision,
                         uint64_t *random);
/* One step in a medium of classes. r only says which axes are in use. */
void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                    int nclasses, enum pattern pattern, enum precision precision, uint64_t *random);
void problem_destroy(struct problem *p);
/* All owned cells, cut at random, some pieces left out, or interior and shell. */
void problem_choose_boxes(struct problem *p, uint64_t *random);
/* Let the only step correct, or one after the first; before problem_solve. */
void problem_let_correct(struct problem *p, uint64_t *random);
/* The expected output and face sums, once the boxes are chosen; of all owned cells in one box. */
void problem_solve(struct problem *p);
void problem_solve_owned(struct problem *p);
/* Let the expected output of a problem of one step be that of h_start, advanced by the step, and
 * then by one that corrects, from another h_in. And check what `compare` finds. */
void problem_compare(struct problem *p, uint64_t *random);
void problem_check_compare(struct rig *rig, const struct problem *p);

/* Whether one call of `step` takes all steps of the problem. */
bool problem_fits(const struct problem *p, const struct operations *operations);

/* Layers of halo that a pass reads. */
int problem_depth(const struct problem *p);

/* The class of an owned cell, and its neighbour across a face. */
int problem_class(const struct problem *p, int64_t i, int64_t j, int64_t k);
/* Do classes depend on z alone, with few planes of one class each, have closures none but a and b,
 * and patches only faces of z? */
bool problem_is_of_layers(const struct problem *p);
struct beyond problem_beyond(const struct problem *p, const int64_t cell[AXIS_COUNT],
                             enum face face);

/* Let the properties of the problem's medium depend on temperature, in up to `nsegments` (a power
 * of 2) segments; the field is an enthalpy then. */
void problem_make_nonlinear(struct problem *p, int nsegments, uint64_t *random);
/* Let its cells have conductances and heat capacities of their own. */
void problem_make_faces(struct problem *p, enum kind kind, uint64_t *random);
/* The elements of d_sigma, lines included. */
int64_t problem_sigma_count(const struct device_medium *m);
void nonlinear_convert(const struct problem *p, enum enthalpy_conversion conversion,
                       const void *h_in, void *h_out);
/* Of one cell: its liquid fraction, the heat of perfusion, and the square of the heat flux. */
double nonlinear_liquid(const struct problem *p, const int64_t cell[AXIS_COUNT]);
double nonlinear_perfusion(const struct problem *p, const int64_t cell[AXIS_COUNT]);
double nonlinear_flux_squared(const struct problem *p, const int64_t cell[AXIS_COUNT],
                              const double scale[AXIS_COUNT]);

/* For problem.c: the parts of problem_create_kind, and the update of one cell, which adds to the
 * sums of closed faces. */
void uniform_fill(struct problem *p, uint64_t *random);
void high_order_fill(struct problem *p, uint64_t *random);
void medium_fill(struct problem *p, enum pattern pattern, uint64_t *random);
void medium_fill_own(struct problem *p, uint64_t *random);
void medium_fill_tables(struct problem *p, uint64_t *random);
void medium_destroy(struct problem *p);
typedef void reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                            __int128 sums[FACE_COUNT]);
reference_cell uniform_reference_cell, high_order_reference_cell, medium_reference_cell,
    nonlinear_reference_cell;

/* Run one step function and compare the whole of `out`, halo and padding too, and the face sums but
 * those of one face, which is not asked for. The host's arguments are overwritten before the queue
 * is waited for. */
void problem_check_step(struct rig *rig, step_function *step, const char *name,
                        const struct problem *p, bool sums);

/* The problem's medium in device memory. */
struct device_medium problem_upload(struct rig *rig, const struct problem *p);
void problem_free_medium(struct rig *rig, const struct device_medium *m);
