/* The material: uniform, or a class per cell.
 *
 * A class is a material of the configuration. The conductance between two cells is that of their
 * half cells and of a contact in series, so steady conduction across layers is exact. */
#ifndef ISOTHERM_MODEL_MEDIUM_H
#define ISOTHERM_MODEL_MEDIUM_H

#include "config/settings.h"
#include "model/grid.h"

struct medium_class {
    const char *name;                /* borrowed from the settings */
    double conductivity[AXIS_COUNT]; /* W/(m K) */
    double heat_capacity_volume;     /* density times heat capacity, J/(m^3 K) */
    double sigma;                    /* reference over this, rounded to the run's precision */
    double weight;                   /* 1 / sigma */
};

struct medium {
    /* nclasses = 0: the material of all cells. Else heat_capacity_volume, the reference of
     * kernels/medium_cell.h: the smallest of the classes; and the conductivity of a single
     * isotropic material, else 0. */
    double conductivity;         /* W/(m K) */
    double heat_capacity_volume; /* J/(m^3 K) */
    double diffusivity;          /* m^2/s */

    int nclasses;
    struct medium_class *classes;
    double *resistance; /* of contacts, m^2 K/W: [nclasses][nclasses] */

    /* What medium_survey finds on the grid: */
    double fastest_rate; /* the largest sum of conductances of a cell over its heat capacity, 1/s */
    double total_weight; /* the sum of the cells' weights */
    uint64_t class_hash; /* sum modulo 2^64 of heat_cell_hash(global index, class) */
};

/* Several materials, an anisotropic one, or a boundary that needs them make classes.
 * STATUS_MEMORY. */
enum status medium_create(const struct settings *settings, struct medium *medium) MUST_CHECK;
void medium_destroy(struct medium *medium); /* takes a zeroed one */

/* Along an axis, W/(m K): of a class, and the smallest of all. */
double medium_conductivity(const struct medium *medium, enum axis axis, int of_class);
double medium_least_conductivity(const struct medium *medium, enum axis axis);

/* Between two neighbouring cells on `axis` of these classes, per cell volume, W/(m^3 K); 0 on an
 * unused axis. */
double medium_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                          int of_class, int neighbour);

/* Of the materials and the class of every cell; 0 for a single isotropic one. Two media with the
 * same hash have the same classes everywhere. */
uint64_t medium_hash(const struct medium *medium);

/* The largest stable step of forward Euler, s: the inverse of the largest rate. Of classes: after
 * the survey. */
double medium_stable_dt(const struct medium *medium, const struct grid *grid);

#endif
