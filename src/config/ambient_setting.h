/* Ambients of a body, and its surfaces. Included by settings.h. */
#pragma once

/* An ambient lies around a body: cells at a given temperature that do not belong to it. */
struct ambient_setting {
    char *name;
    double temperature; /* K */
};

/* The area to which a coefficient or resistance between cells refers: that of their faces, or that
 * of the painted shape. */
enum area_kind { AREA_CELLS, AREA_SHAPE };

/* Convection at all faces between the cells of a material and of an ambient. */
struct surface_setting {
    char *name;         /* NULL: none */
    char *between[2];   /* one of each, in either order */
    int number[2];      /* of the material, and of the ambient, counted after the materials */
    double coefficient; /* W/(m^2 K) */
    enum area_kind area;
};
enum { MOST_SURFACES = 255 };
