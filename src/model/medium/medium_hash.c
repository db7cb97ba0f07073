/* Two media must agree in this hash for a restart. */
#include <string.h>

#include "kernels/cell/heat_cell.h"
#include "model/medium/curve.h"
#include "model/medium/medium.h"

static uint64_t add_number(uint64_t hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return heat_mix64(hash ^ bits);
}

uint64_t medium_hash(const struct medium *medium)
{
    const int n = medium->nmaterials;
    if (medium->conductivity > 0 && medium->curves == NULL) { /* one isotropic material */
        return 0;
    }
    uint64_t hash = medium->class_hash + (uint64_t)n;
    for (int slope = 1; slope <= SLOPES && medium->has_slopes; slope++) {
        hash = add_number(hash, medium->slope_area[slope]);
    }
    for (int m = 0; m < n; m++) {
        hash = add_number(hash, medium->materials[m].heat_capacity_volume);
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            hash = add_number(hash, medium->materials[m].conductivity[axis]);
        }
        const int of_bodies = m < n - medium->nambients ? n - medium->nambients : 0;
        for (int other = 0; other < of_bodies; other++) { /* surfaces may change */
            hash = add_number(hash, medium->resistance[m * n + other]);
        }
        if (medium->perfused) {
            hash = add_number(hash, medium->materials[m].perfusion);
            hash = add_number(hash, medium->materials[m].arterial_temperature);
            hash = add_number(hash, medium->materials[m].metabolic_heat);
        }
        if (medium->changes) {
            hash = add_number(hash, medium->materials[m].becomes);
        }
        for (int s = 0; medium->curves != NULL && s < medium->curves[m].count; s++) {
            hash = add_number(hash, medium->curves[m].heat[s]);
            hash = add_number(hash, medium->curves[m].temperature[s]);
            hash = add_number(hash, medium->curves[m].conductivity[s]);
        }
    }
    return hash;
}
