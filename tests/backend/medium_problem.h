/* A problem in a medium of classes for the conformance tests, and what a plain host loop makes of
 * it. */
#ifndef ISOTHERM_TESTS_BACKEND_MEDIUM_PROBLEM_H
#define ISOTHERM_TESTS_BACKEND_MEDIUM_PROBLEM_H

#include "rig.h"

enum { MAX_BOXES = 16 };

/* How the classes lie. */
enum pattern { PATTERN_RANDOM, PATTERN_BLOCKS, PATTERN_LAYERS, PATTERN_ONE, PATTERN_COUNT };

/* One problem, and what the reference makes of it. The medium's pointers are to host memory. */
struct problem {
    struct layout layout;
    struct coefficients args;
    struct device_medium medium;
    size_t nvalues; /* of the table */
    size_t patch_bytes[FACE_COUNT];
    struct box boxes[MAX_BOXES];
    int nboxes;
    void *h_in;
    void *h_out;      /* before: a pattern */
    void *h_expected; /* h_out with the cells of the boxes advanced */
    struct exact_sum face_sum[FACE_COUNT];
};

/* A neighbour of a cell as the update sees it. */
struct beyond {
    double value, g;
    bool closed;
};

/* Faces: bit f of `closed_faces`; an axis of one cell with both faces closed is sometimes out of
 * use. r only says which axes are in use. */
void problem_create(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                    int nclasses, enum pattern pattern, enum precision precision, uint64_t *random);
/* The same, for passes: with `depth` layers of halo of the field, at least, and of the classes. */
void problem_create_deep(struct problem *p, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                         int nclasses, enum pattern pattern, enum precision precision, int depth,
                         uint64_t *random);
void problem_destroy(struct problem *p);
/* The expected output and face sums, once the boxes are chosen. */
void problem_solve(struct problem *p);

/* The class of an owned cell, and its neighbour across a face. */
int problem_class(const struct problem *p, int64_t i, int64_t j, int64_t k);
struct beyond problem_beyond(const struct problem *p, const int64_t cell[AXIS_COUNT],
                             enum face face);

/* Let the properties of the problem's medium depend on temperature, in up to `nsegments` (a power
 * of 2) segments; the field is an enthalpy then. */
void problem_make_nonlinear(struct problem *p, int nsegments, uint64_t *random);
/* The update of one of its cells; adds the heat through closed faces to the sums. */
void nonlinear_reference_cell(struct problem *p, const int64_t cell[AXIS_COUNT],
                              __int128 sums[FACE_COUNT]);
void nonlinear_convert(const struct problem *p, enum enthalpy_conversion conversion,
                       const void *h_in, void *h_out);
/* Of one cell: its liquid fraction, the heat of perfusion, and the square of the heat flux. */
double nonlinear_liquid(const struct problem *p, const int64_t cell[AXIS_COUNT]);
double nonlinear_perfusion(const struct problem *p, const int64_t cell[AXIS_COUNT]);
double nonlinear_flux_squared(const struct problem *p, const int64_t cell[AXIS_COUNT],
                              const double scale[AXIS_COUNT]);

/* Run one step function and compare the whole of `out`, halo and padding too. The host's arguments
 * are overwritten before the queue is waited for. */
void problem_check_step(struct rig *rig, step_function *step, const char *name,
                        const struct problem *p, bool sums);

/* The problem's medium in device memory. */
struct device_medium problem_upload(struct rig *rig, const struct problem *p);
void problem_free_medium(struct rig *rig, const struct device_medium *m);

#endif
