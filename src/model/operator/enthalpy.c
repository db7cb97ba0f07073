#include "model/operator/enthalpy.h"

#include <math.h>
#include <stdlib.h>

#include "model/medium/curve.h"

/* Conductivities in the table are multiples of this, so that products stay far from overflow in
 * float32. */
static double scale_of(const struct medium *medium)
{
    double most = 0;
    for (int m = 0; m < medium->nmaterials; m++) {
        most = fmax(most, curve_most_conductivity(&medium->curves[m], AXIS_X, -INFINITY, INFINITY));
    }
    return most;
}

struct writing {
    enum precision precision;
    void *table;
    double scale; /* scale_of the medium */
};

static void set(const struct writing *w, int64_t at, double value)
{
    precision_set(w->precision, w->table, at, value);
}

/* Segments beyond the last one begin at infinity. */
static void set_segments(const struct writing *w, const struct medium *medium, int of_class,
                         int64_t at)
{
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double reference = medium->heat_capacity_volume;
    for (int s = 0; s < medium->nsegments; s++) {
        const bool used = s < curve->count;
        const int64_t numbers = at + medium->nsegments + (int64_t)NONLINEAR_SEGMENT * s;
        const double t_slope = used ? curve_slope(curve, s) * reference : 0;
        const double k = used ? curve->conductivity[s] / w->scale : 0;
        const double k_slope = used ? curve_conductivity_slope(curve, s) * reference / w->scale : 0;
        const double values[NONLINEAR_SEGMENT] = {used ? curve->temperature[s] : INFINITY,
                                                  t_slope,
                                                  k,
                                                  k_slope,
                                                  used ? curve->integral[s] / w->scale : 0,
                                                  t_slope * k,
                                                  t_slope * k_slope / 2,
                                                  0};
        set(w, at + s, used ? curve->heat[s] / reference : INFINITY);
        for (int n = 0; n < NONLINEAR_SEGMENT; n++) {
            set(w, numbers + n, values[n]);
        }
    }
}

static void set_class(const struct writing *w, const struct problem *problem, double dt,
                      int of_class, int64_t at)
{
    const struct medium *medium = &problem->medium;
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double reference = medium->heat_capacity_volume;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double h = problem->grid.spacing[axis];
        const double k = w->scale * curve->factor[axis];
        const double half = problem->grid.used[axis] ? reference * h * h / (2 * dt * k) : 1;
        set(w, at + NONLINEAR_W + axis, half);
        set(w, at + NONLINEAR_R + axis, 1 / (2 * half));
    }
    const double melting = curve->liquidus_heat - curve->solidus_heat;
    set(w, at + NONLINEAR_PERFUSION, medium->classes[of_class].perfusion * dt / reference);
    set(w, at + NONLINEAR_BLOOD, medium->classes[of_class].arterial_temperature);
    set(w, at + NONLINEAR_SOLIDUS, curve->melts ? curve->solidus_heat / reference : 0);
    set(w, at + NONLINEAR_MELTING, curve->melts ? reference / melting : 0);
}

void enthalpy_table(const struct problem *problem, double dt, const double *q, void *table)
{
    const struct medium *medium = &problem->medium;
    const struct writing w = {
        .precision = problem->precision, .table = table, .scale = scale_of(medium)};
    const int n = medium->nclasses;
    const int m = n * boundary_most_conditions(&problem->boundary);
    for (int c = 0; c < n; c++) {
        set(&w, medium_cell_at(c), medium->classes[c].sigma);
        set(&w, medium_cell_at(c) + 1, q[c]);
        set_class(&w, problem, dt, c, nonlinear_class_at(n, m, c));
        set_segments(&w, medium, c, nonlinear_segments_at(n, m, medium->nsegments, c));
        for (int i = 0; i < AXIS_COUNT * n; i++) {
            const double h = problem->grid.spacing[i / n];
            const int material = medium->classes[c].key.material;
            const int other = medium->classes[i % n].key.material;
            const double contact = medium->resistance[material * medium->nmaterials + other];
            set(&w, medium_g_at(n, i / n, c, i % n),
                material == other && contact == 0
                    ? NONLINEAR_ONE_CURVE
                    : contact * medium->heat_capacity_volume * h / dt);
        }
    }
}

double enthalpy_conductivity(const struct medium *medium, int of_class, double u)
{
    const struct curve *curve = &medium->curves[medium->classes[of_class].key.material];
    const double heat = u * medium->heat_capacity_volume;
    int s = 0;
    while (s + 1 < curve->count && heat >= curve->heat[s + 1]) {
        s++;
    }
    return curve->conductivity[s] + curve_conductivity_slope(curve, s) * (heat - curve->heat[s]);
}

bool enthalpy_has_one_curve(const struct medium *medium)
{
    return medium->nmaterials == 1 && medium->resistance[0] == 0;
}
