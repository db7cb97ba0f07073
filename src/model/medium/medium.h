/* The material: uniform, or a class per cell.
 *
 * A class is a material of the configuration with a set of painted sources, of one size of cells.
 * The conductance between two cells is that of their half cells and of a contact in series, so
 * steady conduction across layers is exact. */
#pragma once

#include "config/settings.h"
#include "model/space/grid.h"

/* Curved shapes: each cell face of theirs has 1 to 1/sqrt(3) of its area on the shape. Cells beside
 * them have the number of an interval of this share; 0: a plane along the axes. */
enum { SLOPES = 16 };

/* The cells of one material, size and slope that have the same painted sources. Plain data. */
enum { SOURCE_WORDS = (MOST_SOURCES + 63) / 64 };
struct class_key {
    int32_t material; /* number */
    int32_t slope;
    uint16_t size[AXIS_COUNT];      /* as grid_size_of has it; with `lines` that of cell 0 */
    uint64_t sources[SOURCE_WORDS]; /* bits of the entries of `sources` */
};

static inline bool class_key_has(const struct class_key *key, int source)
{
    return (key->sources[source / 64] >> (source % 64) & 1U) != 0;
}

/* In the order of the classes' numbers: below 0, 0 or above. */
int class_key_compare(const struct class_key *a, const struct class_key *b);

struct medium_class {
    struct class_key key;
    int64_t cells;    /* of the grid: after the survey; not those that change later */
    double amount;    /* the same; with `lines` their volume in cells of the smallest widths */
    int becomes;      /* the number of the material that it becomes; its own: none */
    const char *name; /* of the material, borrowed from the settings */
    /* W/(m K), and density times heat capacity, J/(m^3 K). Where they depend on temperature: the
     * largest and the smallest ones, for the longest stable step. */
    double conductivity[AXIS_COUNT];
    double least_conductivity[AXIS_COUNT]; /* and the largest, with the factors of cells: */
    double most_conductivity[AXIS_COUNT];
    double heat_capacity_volume;
    double perfusion;            /* by blood at this temperature, W/(m^3 K) */
    double arterial_temperature; /* K */
    double metabolic_heat;       /* W/m^3 */
    /* reference over this and over the volume in cells of the smallest widths, rounded to the run's
     * precision; of an enthalpy 1 */
    double sigma;
    double weight; /* 1 / sigma; of an enthalpy the most of it per kelvin above 0 K */
    /* An ambient: its conductivity and heat capacity are infinite, sigma and weight are 0, so that
     * the kernels keep the temperature of its cells, and its faces have that temperature. */
    bool is_ambient;
    double ambient; /* K, of an ambient at t = 0, rounded to the run's precision */
};

struct curve; /* model/medium/curve.h */

struct medium {
    /* nclasses = 0: the material of all cells. Else heat_capacity_volume is the reference of
     * kernels/cell/medium_cell.h, the smallest of the materials; and the conductivity is that of a
     * single isotropic material, or 0. */
    double conductivity;         /* W/(m K) */
    double heat_capacity_volume; /* J/(m^3 K) */
    double diffusivity;          /* m^2/s */

    /* Of each material, where one of them depends on temperature or is perfused; then the field is
     * the enthalpy of kernels/cell/nonlinear_cell.h. Else NULL. */
    struct curve *curves;
    bool perfused;    /* a material is */
    bool changes;     /* a material becomes another one */
    int nsegments;    /* of a class in the table; 0: no curves */
    bool per_cell;    /* a property varies from cell to cell: factor_map.h; then the properties of
                         classes are without their factors, but the extremes below and weights */
    bool has_factors; /* that property: of the settings */
    /* Classes have no sizes: cells have them by their places on the axes, and conductances of their
     * own, since there are more sizes than classes, or `graded`: one material without factors,
     * whose conductances are products of lines (kernels/coefficients.h). */
    bool lines, graded;
    bool slopes_per_cell; /* beside curved surfaces, too: classes have none, the map has them */

    int nmaterials; /* 0: uniform; with the ambients, which are the last of them */
    int nambients;
    struct medium_class *materials;
    const struct surface_setting *surfaces; /* of the settings */
    int nsurfaces;
    double *resistance; /* of contacts, m^2 K/W: [nmaterials][nmaterials]; INFINITY: insulated */
    bool *on_shape;     /* the same pairs: it is that of the area of the shape */
    bool has_slopes;    /* of any pair, and a part is curved */
    int nclasses;       /* until the survey, the classes are the materials */
    struct medium_class *classes;

    /* What the survey finds on the grid (class_map.h): */
    double fastest_rate; /* the largest sum of conductances of a cell, and of its perfusion, over
                            its heat capacity, 1/s */
    double total_weight; /* the sum of the cells' weights */
    int64_t surface_faces[MOST_SURFACES]; /* of each entry of `surfaces` */
    double cell_area[MOST_SURFACES];      /* m^2, of these faces */
    double surface_area[MOST_SURFACES];   /* m^2, of the shape where it says so */
    double slope_area[SLOPES + 1]; /* of each slope: the area of the shape over that of faces */
    uint64_t class_hash;           /* sum modulo 2^64 of heat_cell_hash(global index, material) */
};

/* On graded axes: leave sizes to lines, before the cells are painted, or again painted. */
void medium_use_lines(struct medium *medium);

/* The key of the settings that needs classes, and what it is; NULL: the medium is uniform. */
enum { MEDIUM_KEY_BYTES = 32 };
const char *medium_class_key(const struct settings *settings, char key[MEDIUM_KEY_BYTES],
                             const char **what);

/* Several materials, an anisotropic one, painted sources, or a boundary that
 * needs them make classes. STATUS_MEMORY. */
enum status medium_create(const struct settings *settings, struct medium *medium);
void medium_destroy(struct medium *medium); /* takes a zeroed one */

/* Let the classes be those of `keys`, with these numbers of cells. `keys` has those of cells that
 * have become another material, too; `amounts` counts with lines. STATUS_MEMORY. */
enum status medium_set_classes(struct medium *medium, const struct grid *grid,
                               enum precision precision, const struct class_key *keys,
                               const int64_t *cells, const double *amounts, int nkeys);

/* The entry of `surfaces` between two materials, of which one is an ambient; -1: none. */
int medium_surface(const struct medium *medium, int material, int neighbour);

/* The cells of the grid that belong to an ambient; after the survey. */
int64_t medium_ambient_cells(const struct medium *medium);

/* Along an axis, W/(m K): of a class, and the smallest of all. */
double medium_conductivity(const struct medium *medium, enum axis axis, int of_class);
double medium_least_conductivity(const struct medium *medium, enum axis axis);

/* The same of a class at a temperature. */
double medium_conductivity_at(const struct medium *medium, enum axis axis, int of_class,
                              double kelvins);

/* The thermal resistance of a contact between cells of two keys or classes, m^2 K/W; 0: none. It
 * includes the area of the shape per area of the face, which the last function gives. */
double medium_contact_of(const struct medium *medium, const struct class_key *own,
                         const struct class_key *neighbour);
double medium_contact(const struct medium *medium, int of_class, int neighbour);
double medium_area(const struct medium *medium, const struct class_key *own,
                   const struct class_key *neighbour);

/* The class of the cells of a class when they have become another material; itself if none. */
int medium_next_class(const struct medium *medium, int of_class);
/* From this value of the field on they become it; INFINITY: never. */
double medium_changes_at(const struct medium *medium, enum precision precision, int of_class);

/* Between two neighbouring cells on `axis` of these materials and sizes, with factors of their
 * conductivities, per grid_cell_volume, W/(m^3 K); 0 on an unused axis. The same with the
 * areas of shapes, after the survey: never more. */
double medium_conductance_between(const struct medium *medium, const struct grid *grid,
                                  enum axis axis, const struct class_key *own,
                                  const struct class_key *neighbour, const double factors[2]);
double medium_conductance_of(const struct medium *medium, const struct grid *grid, enum axis axis,
                             const struct class_key *own, const struct class_key *neighbour,
                             const double factors[2]);
double medium_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                          int of_class, int neighbour);
/* The largest one, of what these materials are or become. */
double medium_most_conductance(const struct medium *medium, const struct grid *grid, enum axis axis,
                               const struct class_key *own, const struct class_key *neighbour);

/* Heat is summed as T weight 2^-bits, which stays below the limit of exact sums. */
int medium_heat_bits(const struct medium *medium);

/* Of the materials and that of every cell; 0 for one isotropic material. Two media with the same
 * hash have the same materials everywhere. */
uint64_t medium_hash(const struct medium *medium);

/* The largest stable step of forward Euler, s: the inverse of the largest rate. Of classes: after
 * the survey. */
double medium_stable_dt(const struct medium *medium, const struct grid *grid);
