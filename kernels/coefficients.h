/* The coefficients of one substep on one subdomain: all that a kernel needs to know of space. Made
 * by model/operator/operator.h, except what lies in device memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/box.h"
#include "base/exact_sum.h"
#include "kernels/cell/medium_cell.h"
#include "kernels/cell/nonlinear_cell.h"
#include "kernels/cell/source_cell.h"
#include "kernels/cell/wide_cell.h"
#include "kernels/layout.h"

/* The expression of a cell, and with it the members of `struct coefficients` that count. */
enum kind {
    KIND_UNIFORM,    /* heat_cell.h: r, a and b */
    KIND_CLASSES,    /* medium_cell.h: medium */
    KIND_ENTHALPY,   /* nonlinear_cell.h: medium, whose field is the enthalpy */
    KIND_HIGH_ORDER, /* wide_cell.h: r and high_order */
    KIND_FACES,      /* faces_cell.h: medium, with conductances and heat capacities of its own */
    KIND_GRADED,     /* faces_cell.h: medium, with lines in place of conductances */
    KIND_COUNT
};

/* Where the cells of a subdomain are that change, in host memory; the others are those of ambients.
 * Of each row and each ACTIVE_CELLS cells of it the planes from `begin` to before `end`; else 0. */
enum { ACTIVE_CELLS = 8 };
struct active_planes {
    int64_t number; /* of this process: kernels keep the division of the work */
    int64_t rows, parts;
    int32_t *begin, *end; /* [rows][parts] */
};

/* Lines of graded axes: a number per cell of an axis. The conductance of a face is that of its own
 * axis times the widths of its cell on the two others, sigma the product of the inverse widths; in
 * their product only the numbers of the axis of the face remain.
 * Around an axis of rotation a width has the mean radius, a conductance that of the face. */
enum graded_line {
    GRADED_CONDUCTANCE, /* of the lower face, 1/s; that of a closed end is of the cell inside alone
                         */
    GRADED_WIDTH,       /* of the cell, over the smallest one */
    GRADED_INVERSE,     /* 1 over that width */
    GRADED_LINES
};

/* A medium of several classes on one subdomain; see medium_cell.h. */
struct device_medium {
    /* Of d_class, in elements of one byte, from layout_of_classes: the field's cells, with layers
     * of halo in x and on every used axis, also beyond closed faces, where the first layer repeats
     * the cells inside; the pitch of an unused axis is 0. Edges and corners are specified where
     * there is more than one layer. */
    struct layout layout;
    const uint8_t *d_class;
    uint8_t mask;  /* a byte & mask is the class; from classes_flag, which sets flags and numbers */
    bool numbered; /* the rows have numbers; those of a subdomain with some of the halo have none */
    int nclasses;
    int nclosures;          /* per face: nclasses times the number of patches */
    const void *d_table;    /* in the field's precision, see medium_cell.h */
    bool same_axes;         /* the g of all axes in it are equal: classes_same_axes */
    unsigned radiating;     /* a bit of each face whose closures in it may: classes_radiating */
    int64_t dt_number;      /* tables of one number differ in q and closures only */
    const double *d_weight; /* 1 / sigma of each class; 0 of an ambient */
    bool has_ambients;      /* a class is one */
    /* NULL, or the planes outside of which d_out has the values of its cells already. */
    const struct active_planes *active;
    int nsegments;  /* of each class, for KIND_ENTHALPY; else 0 */
    bool one_curve; /* with segments: of all classes; their pairs are NONLINEAR_ONE_CURVE */
    bool perfused;  /* with segments: a class is */
    /* KIND_GRADED, and KIND_FACES where cells have more sizes than classes could: there are lines,
     * and closures are those of a face between cells of width 1. */
    bool has_lines;
    /* KIND_FACES, in place of those of classes; of `layout`, in the field's precision: the
     * conductance of the lower face of each cell, 1/s, NULL on an unused axis; that of a closed end
     * is of the cell inside alone. And sigma. */
    const void *d_g[AXIS_COUNT];
    /* NULL: of any other kind. With lines these follow, of x, y and z: medium_line. Of KIND_GRADED,
     * which has no d_g, they are all. */
    const void *d_sigma;
    double dt;            /* s, with d_g: g times this is in K per K */
    double weight_factor; /* 1 / sigma, or the volume by lines, times this is a cell's weight */
    /* NULL: the whole face has patch 0. Else the byte of cell (0, 0) of this subdomain's part of
     * the face, [z][y], [z][x] or [y][x], with rows patch_pitch bytes apart and the halo of
     * `layout` in both directions; the closure of a cell is patch * nclasses + class. */
    const uint8_t *d_patch[FACE_COUNT];
    int64_t patch_pitch[FACE_COUNT];
    /* Above 0, with d_patch: cell (0, 0) has this closure, and each byte of d_patch one more. */
    int64_t first_closure[FACE_COUNT];
};

/* Does the medium have lines, and nothing else per cell? */
static inline bool medium_is_graded(const struct device_medium *m)
{
    return m->has_lines && m->d_g[AXIS_X] == NULL && m->d_g[AXIS_Y] == NULL &&
           m->d_g[AXIS_Z] == NULL;
}

/* The values of a line: those of the cells and of the halo, and one beyond. */
static inline int64_t line_length(const struct layout *layout, int axis)
{
    return layout->cells[axis] + 2 * (int64_t)layout->halo[axis] + 1;
}

/* Where in d_sigma the number of cell 0 of a line of an axis is. */
static inline int64_t medium_line(const struct device_medium *m, int axis, enum graded_line line)
{
    int64_t at = medium_is_graded(m) ? 0 : m->layout.elements;
    for (int before = 0; before < axis; before++) {
        at += GRADED_LINES * line_length(&m->layout, before);
    }
    return at + line * line_length(&m->layout, axis) + m->layout.halo[axis];
}

/* A number of a line of an axis, on the host. */
static inline double medium_line_at(const struct device_medium *m, enum precision precision,
                                    int axis, enum graded_line line, int64_t i)
{
    return precision_get(precision, m->d_sigma, medium_line(m, axis, line) + i);
}

/* The same of the two other axes, multiplied and rounded as kernels do. */
static inline double medium_lines_at(const struct device_medium *m, enum precision precision,
                                     int axis, enum graded_line line, const int64_t *cell)
{
    const int a = axis == AXIS_X ? AXIS_Y : AXIS_X;
    const int b = axis == AXIS_Z ? AXIS_Y : AXIS_Z;
    return precision_round(precision, medium_line_at(m, precision, a, line, cell[a]) *
                                          medium_line_at(m, precision, b, line, cell[b]));
}

/* The volume of a cell over that of the smallest one, by lines, on the host. */
static inline double medium_volume(const struct device_medium *m, enum precision precision,
                                   const int64_t *cell)
{
    return medium_line_at(m, precision, AXIS_X, GRADED_WIDTH, cell[AXIS_X]) *
           medium_lines_at(m, precision, AXIS_X, GRADED_WIDTH, cell);
}

/* The weight of the cell of the element `at` of the classes, with d_sigma or lines, on the host. */
static inline double medium_cell_weight(const struct device_medium *m, enum precision precision,
                                        int64_t at, const int64_t *cell)
{
    if (medium_is_graded(m)) {
        return m->weight_factor * medium_volume(m, precision, cell);
    }
    const double sigma = precision_get(precision, m->d_sigma, at);
    return sigma > 0 ? m->weight_factor / sigma : 0;
}

/* A stencil of order 4 to 8; see wide_cell.h. */
struct high_order {
    int radius;                      /* 2 to 4 */
    double weight[WIDE_RADIUS_MOST]; /* w_1 ..; of a float32 field, floats */
    bool used[AXIS_COUNT];           /* an axis that is not used has one cell, and D = 0 */
    struct wide_closure closure[FACE_COUNT];
};

/* A heat source that is added to cells after a step; see source_cell.h. */
struct heat_source {
    struct box box;            /* of the grid: the cells that it may heat; empty: none */
    struct source_shape shape; /* in K of the reference heat capacity; with d_values: peak_front, in
                                  K per W/m^3 */
    const float *d_values;     /* NULL: the shape; else W/m^3 of the owned cells, [z][y][x] */
    const struct source_curve *d_curve; /* NULL, or their factor at the temperature of the cell */
};

/* The memory traffic of one step of a cell at least, in bytes: its value, what it has of its own,
 * and its class; a graded medium mostly has one class, which is not read. */
struct step_cost {
    int64_t fetch_bytes, write_bytes;
};
static inline struct step_cost step_cost_of(enum kind kind, enum precision precision)
{
    const int64_t value = (int64_t)precision_bytes(precision);
    const bool has_class = kind != KIND_UNIFORM && kind != KIND_HIGH_ORDER && kind != KIND_GRADED;
    const int64_t own = kind == KIND_FACES ? (AXIS_COUNT + 1) * value : 0;
    return (struct step_cost){.fetch_bytes = value + own + has_class, .write_bytes = value};
}

struct coefficients {
    enum kind kind;
    int nsources;            /* in `sources` */
    double r[AXIS_COUNT];    /* alpha dt / h^2; 0 on an unused axis. For a float32 field r, a and b
                                are rounded once to float. */
    bool closed[FACE_COUNT]; /* a uniform medium: outside = a inside + b; else the neighbour is read
                                from the halo. Both faces of an unused axis are closed with a = 1,
                                b = 0. */
    /* The sum of a cell begins with its value one step before: of the first step of a pass, what
     * d_out holds. */
    bool corrects;
    double a[FACE_COUNT];
    double b[FACE_COUNT];
    /* Device memory, or NULL: add the exact sum, in K, of the inside cells of that closed face
     * before the step, over the given boxes, for the heat ledger. With a medium: the exact sum of
     * g (outside - inside), in double, the difference rounded as in the update. Of high order: the
     * exact sum of the inward flux of wide_cell.h. */
    struct exact_sum *d_face_sum[FACE_COUNT];
    struct device_medium medium;
    struct high_order high_order;
    const struct heat_source *sources; /* host memory, until the step is queued */
    /* Device memory: where the exact sum of the heat of sources and of perfusion is added, K. */
    struct exact_sum *d_source_sum;
    struct exact_sum *d_surface_sum; /* the same of surfaces; NULL: no sum */
};

/* The planes in which cells of rows j0 to before j1, i0 to before i1 of each, change. */
static inline void active_planes_of(const struct active_planes *active, int64_t i0, int64_t i1,
                                    int64_t j0, int64_t j1, int *begin, int *end)
{
    const int64_t last = (i1 + ACTIVE_CELLS - 1) / ACTIVE_CELLS;
    *begin = *end = 0;
    for (int64_t j = j0 > 0 ? j0 : 0; j < j1 && j < active->rows; j++) {
        for (int64_t p = i0 > 0 ? i0 / ACTIVE_CELLS : 0; p < last && p < active->parts; p++) {
            const int32_t *const at_begin = &active->begin[j * active->parts + p];
            const int32_t *const at_end = &active->end[j * active->parts + p];
            if (*at_begin < *at_end) {
                *begin = *begin < *end && *begin < *at_begin ? *begin : *at_begin;
                *end = *end > *at_end ? *end : *at_end;
            }
        }
    }
}

/* NULL: the kind has no classes. */
static inline const struct device_medium *coefficients_medium(const struct coefficients *c)
{
    return c->kind != KIND_UNIFORM && c->kind != KIND_HIGH_ORDER ? &c->medium : NULL;
}

/* Bit l: step l of a pass corrects. */
static inline unsigned coefficients_corrections(const struct coefficients *levels, int nsteps)
{
    unsigned bits = 0;
    for (int l = 0; l < nsteps; l++) {
        bits |= levels[l].corrects ? 1U << l : 0;
    }
    return bits;
}

/* NULL: no effect. */
static inline void coefficients_set_medium(struct coefficients *c,
                                           const struct device_medium *medium)
{
    if (medium != NULL) {
        c->kind = medium->nsegments > 0      ? KIND_ENTHALPY
                  : medium_is_graded(medium) ? KIND_GRADED
                  : medium->d_sigma != NULL  ? KIND_FACES
                                             : KIND_CLASSES;
        c->medium = *medium;
    }
}
