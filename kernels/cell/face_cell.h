/* A closed face at one cell of a medium, in double: for the sums of faces and for points on them.
 * Included by C and by HIP sources. */
#pragma once

#include <math.h>

#include "kernels/coefficients.h"

/* A material as a piecewise linear curve. Plain data. Segment i is between nodes i and i + 1; the
 * last one is open, with the heat capacity `capacity_above` and a constant conductivity. Node 0 is
 * 0 K, without heat. */
struct curve {
    int count;                               /* of nodes and segments */
    double heat[NONLINEAR_SEGMENTS];         /* J/m^3 */
    double temperature[NONLINEAR_SEGMENTS];  /* K */
    double conductivity[NONLINEAR_SEGMENTS]; /* W/(m K), along x */
    double integral[NONLINEAR_SEGMENTS];     /* of the conductivity over temperature, W/m */
    double capacity_above;                   /* J/(m^3 K) */
    double factor[AXIS_COUNT];               /* of the conductivity along an axis */
    bool melts;
    double solidus_heat, liquidus_heat; /* J/m^3 */
};

/* dT/dH of segment i, m^3 K/J; and dk/dH. */
KERNEL_INLINE double curve_slope(const struct curve *curve, int segment)
{
    if (segment == curve->count - 1) {
        return 1 / curve->capacity_above;
    }
    return (curve->temperature[segment + 1] - curve->temperature[segment]) /
           (curve->heat[segment + 1] - curve->heat[segment]);
}

KERNEL_INLINE double curve_conductivity_slope(const struct curve *curve, int segment)
{
    if (segment == curve->count - 1) {
        return 0;
    }
    return (curve->conductivity[segment + 1] - curve->conductivity[segment]) /
           (curve->heat[segment + 1] - curve->heat[segment]);
}

/* Where it has this heat, J/m^3: K, W/(m K) along x, J/(m^3 K) (0 at a melting point). */
struct curve_point {
    double temperature, conductivity, capacity;
};
KERNEL_INLINE struct curve_point curve_at(const struct curve *curve, double heat)
{
    int s = 0;
    while (s + 1 < curve->count && heat >= curve->heat[s + 1]) {
        s++;
    }
    const double slope = curve_slope(curve, s);
    const double beyond = heat - curve->heat[s];
    const struct curve_point at = {curve->temperature[s] + slope * beyond,
                                   curve->conductivity[s] +
                                       curve_conductivity_slope(curve, s) * beyond,
                                   slope > 0 ? 1 / slope : 0};
    return at;
}

/* What passes a face for any conductivity: the inward flow at a face of temperature F, W/m^2, is
 * s0 - s1 F - s4 F^4; or F is s0 / s1, where it is fixed. */
struct face_exchange {
    double s0, s1, s4;
    bool fixed;
};

/* The closure of a face for cells of one class inside it, unrounded (medium_cell.h). A thread of a
 * device has room for the areas of 2^27 of the smallest cells. */
enum { FACE_AREA_BITS = 36 };
struct class_closure {
    double a, b, e;
    double conductance; /* of a cell and what is outside, W/K; 0: of an ambient */
    int64_t area; /* over that of the smallest face across this axis, times 2^FACE_AREA_BITS */
    struct face_exchange exchange;
};

/* The same of a cell with a half cell of its own, m^2 K/W, and its conductance. */
KERNEL_INLINE struct class_closure class_closure_of_half(const struct class_closure *closure,
                                                         double half, double conductance)
{
    const struct face_exchange x = closure->exchange;
    struct class_closure built = {-1, 2 * x.s0, 0, conductance, closure->area, x};
    if (!x.fixed && x.s4 > 0) {
        built.a = 1 + x.s1 * half;
        built.b = x.s0 * half;
        built.e = x.s4 * half;
    } else if (!x.fixed) {
        built.a = (1 - x.s1 * half) / (1 + x.s1 * half);
        built.b = 2 * x.s0 * half / (1 + x.s1 * half);
    }
    return built;
}

/* The same of a cell with a conductivity of its own, W/(m K); h: m, across the face; volume: m^3.
 */
KERNEL_INLINE struct class_closure class_closure_of_own(const struct class_closure *closure,
                                                        double k, double h, double volume)
{
    return class_closure_of_half(closure, h / (2 * k), volume * k / (h * h));
}

/* The same of a cell of an enthalpy, from its heat, J/m^3. */
KERNEL_INLINE struct class_closure class_closure_of_heat(const struct class_closure *closure,
                                                         const struct curve *curve, int axis,
                                                         double heat, double h, double volume)
{
    const double k = curve_at(curve, heat).conductivity * curve->factor[axis];
    return class_closure_of_own(closure, k, h, volume);
}

/* The temperature of the face, K. */
KERNEL_INLINE double class_closure_face(const struct class_closure *closure, double inside)
{
    return KERNEL_FLOAT64(medium_face)(inside, closure->a, closure->b, closure->e);
}

KERNEL_INLINE double class_closure_area(const struct class_closure *closure)
{
    return (double)closure->area / (double)(INT64_C(1) << FACE_AREA_BITS);
}

/* The same of a cell with a conductance of its own; smallest: the area of the smallest face, m^2.
 */
KERNEL_INLINE struct class_closure class_closure_of_conductance(const struct class_closure *closure,
                                                                double conductance, double smallest)
{
    const double half = class_closure_area(closure) * smallest / (2 * conductance);
    return class_closure_of_half(closure, half, conductance);
}

/* The same of a face that is larger by the factor `widths`. */
KERNEL_INLINE struct class_closure class_closure_wide(const struct class_closure *closure,
                                                      double widths)
{
    struct class_closure built = *closure;
    built.conductance *= widths;
    built.area = (int64_t)rint((double)closure->area * widths);
    return built;
}

/* The flow into the cell, W. */
KERNEL_INLINE double class_closure_flow(const struct class_closure *closure, double inside)
{
    const double outside =
        KERNEL_FLOAT64(medium_outside)(inside, closure->a, closure->b, closure->e);
    return closure->conductance * (outside - inside);
}

/* A face between a cell of a body and an ambient, whose exchange is that of its surface. */
struct surface_face {
    double half;        /* m^2 K/W, of the half cell, per area of the shape */
    double conductance; /* of a face like it at the edge of the grid, in K per K and second */
    double sigma;       /* of the cell */
    int32_t surface;    /* its number; negative: its flow is that of the medium's conductances */
};

/* Its closure, with its conductance times `scale`. */
KERNEL_INLINE struct class_closure surface_face_closure(const struct surface_face *face,
                                                        const struct face_exchange *of_surfaces,
                                                        double scale)
{
    const struct class_closure none = {0, 0, 0, 0, 0, of_surfaces[face->surface]};
    return class_closure_of_half(&none, face->half, face->conductance * scale);
}

/* The heat that passes it in dt, K of the reference heat capacity. */
KERNEL_INLINE double surface_face_heat(const struct surface_face *face,
                                       const struct face_exchange *of_surfaces, double dt,
                                       double inside)
{
    const struct class_closure closure = surface_face_closure(face, of_surfaces, dt);
    return class_closure_flow(&closure, inside);
}

/* A face between a cell of a body and an ambient, for the sums of its surface. */
struct surface_numbers {
    double conductance; /* W/K */
    double share;       /* of the difference that lies in the half cell: the face is behind it */
    double ambient;     /* K */
    double weight;      /* of the face's temperature: its area over the grid's largest face */
    int32_t surface;
};

/* The heat flow into the cell, W, and the temperature of the face, K, times its weight. face: NULL,
 * or with a surface of its own its exchange. joule_per_kelvin: of a cell. */
enum { SURFACE_FLOW, SURFACE_TEMPERATURE, SURFACE_SUMS };
KERNEL_INLINE void surface_face_terms(const struct surface_numbers *of,
                                      const struct surface_face *face,
                                      const struct face_exchange *of_surfaces,
                                      double joule_per_kelvin, double inside,
                                      double terms[SURFACE_SUMS])
{
    const double warmer = of->ambient - inside;
    terms[SURFACE_FLOW] = of->conductance * warmer;
    terms[SURFACE_TEMPERATURE] = fma(of->share, warmer, inside) * of->weight;
    if (face != NULL && face->surface >= 0) {
        const struct class_closure closure =
            surface_face_closure(face, of_surfaces, joule_per_kelvin);
        terms[SURFACE_FLOW] = class_closure_flow(&closure, inside);
        terms[SURFACE_TEMPERATURE] = class_closure_face(&closure, inside) * of->weight;
    }
}

/* With the heat of sources on the face, whose shapes are in K per second, at a cell of the grid.
 * Their heat enters the cells inside, as if the face were insulated; it is warmer than they are, by
 * q h / (2 k) if nothing else passes it. joule_per_kelvin: of a cell. */
KERNEL_INLINE struct class_closure class_closure_heated(struct class_closure closure,
                                                        const struct heat_source *sources,
                                                        int nsources, double joule_per_kelvin,
                                                        int64_t i, int64_t j, int64_t k)
{
    double kelvins = 0; /* per second */
    for (int s = 0; s < nsources; s++) {
        const struct box *box = &sources[s].box;
        if (i >= box->lo[AXIS_X] && i < box->hi[AXIS_X] && j >= box->lo[AXIS_Y] &&
            j < box->hi[AXIS_Y] && k >= box->lo[AXIS_Z] && k < box->hi[AXIS_Z]) {
            kelvins += source_cell(&sources[s].shape, (double)i, (double)j, (double)k);
        }
    }
    const double rise = kelvins * joule_per_kelvin / (2 * closure.conductance);
    closure.b += closure.e == 0 ? (1 + closure.a) * rise : rise; /* medium_cell.h */
    return closure;
}
