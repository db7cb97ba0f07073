/* Surfaces and contacts between two materials, and their areas. */
#include "model/medium/medium.h"

int medium_surface(const struct medium *medium, int material, int neighbour)
{
    if (medium->materials[material].is_ambient == medium->materials[neighbour].is_ambient) {
        return -1;
    }
    const int body = material < neighbour ? material : neighbour; /* ambients are the last */
    const int ambient = material < neighbour ? neighbour : material;
    int surface = medium->nsurfaces - 1;
    while (surface >= 0 && (medium->surfaces[surface].number[0] != body ||
                            medium->surfaces[surface].number[1] != ambient)) {
        surface--;
    }
    return surface;
}

int64_t medium_ambient_cells(const struct medium *medium)
{
    int64_t cells = 0;
    for (int c = 0; c < medium->nclasses; c++) {
        cells += medium->classes[c].is_ambient ? medium->classes[c].cells : 0;
    }
    return cells;
}

double medium_contact_of(const struct medium *medium, const struct class_key *own,
                         const struct class_key *neighbour)
{
    return medium->resistance[own->material * medium->nmaterials + neighbour->material] /
           medium_area(medium, own, neighbour);
}

double medium_contact(const struct medium *medium, int of_class, int neighbour)
{
    return medium_contact_of(medium, &medium->classes[of_class].key,
                             &medium->classes[neighbour].key);
}

/* The later material of the two has the slopes. */
double medium_area(const struct medium *medium, const struct class_key *own,
                   const struct class_key *neighbour)
{
    const struct class_key *key = own->material > neighbour->material ? own : neighbour;
    const int pair = own->material * medium->nmaterials + neighbour->material;
    return medium->on_shape[pair] ? medium->slope_area[key->slope] : 1;
}
