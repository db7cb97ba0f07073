#include "model/medium/curve.h"

#include <math.h>

/* --- properties ------------------------------------------------------------------------------ */

/* A number, rows or a polynomial; constant outside their range. */
struct property {
    double number;
    const struct table_setting *table; /* NULL: the number */
};

static double property_at(const struct property *p, double t)
{
    const struct table_setting *table = p->table;
    if (table == NULL) {
        return p->number;
    }
    if (table->nrows == 0) {
        const double at = fmin(fmax(t, table->from), table->to);
        double sum = 0;
        for (int c = table->ncoefficients - 1; c >= 0; c--) {
            sum = sum * at + table->coefficient[c];
        }
        return sum;
    }
    return table_at(table, t);
}

/* Whether it is a polynomial between these temperatures, which hold no knot. */
static bool is_polynomial(const struct property *p, double low, double high)
{
    return p->table != NULL && p->table->nrows == 0 && p->table->ncoefficients > 1 &&
           low >= p->table->from && high <= p->table->to;
}

/* --- the curve ------------------------------------------------------------------------------- */

struct phase {
    struct property conductivity, capacity; /* per mass */
    const struct property *also;            /* [nalso]: further ones whose knots are nodes */
    int nalso;
};

/* What the curve is made from. */
struct making {
    double density;
    struct phase solid, liquid;
    struct property
        also[MOST_MATERIALS]; /* of the solid: what materials of the same heat conduct */
    bool melts;
    double solidus, liquidus, latent;
    int curved; /* intervals: what `make` finds */
};

static enum status fail_value(const char *what, double value, double t)
{
    return fail(STATUS_INPUT, "its %s at %g K is %g; give values above 0", what, t, value);
}

/* The heat to warm it, J/m^3: Gauss's rule with 4 points, exact for the polynomials. */
static enum status warm(const struct making *m, const struct phase *phase, double low, double high,
                        double *heat)
{
    static const double at[2] = {0.86113631159405257522, 0.33998104358485626480};
    static const double weight[2] = {0.34785484513745385737, 0.65214515486254614263};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double x = (i % 2 == 0 ? 1 : -1) * at[i / 2];
        const double t = low + (high - low) * (0.5 + 0.5 * x);
        const double c = property_at(&phase->capacity, t);
        FAIL_IF(!(c > 0) || !isfinite(c), fail_value("heat capacity", c, t));
        sum += weight[i / 2] * c;
    }
    *heat = m->density * sum * (high - low) / 2;
    return STATUS_OK;
}

static bool is_curved(const struct phase *phase, double low, double high)
{
    bool curved = property_at(&phase->capacity, low) != property_at(&phase->capacity, high) ||
                  is_polynomial(&phase->capacity, low, high) ||
                  is_polynomial(&phase->conductivity, low, high);
    for (int p = 0; p < phase->nalso; p++) {
        curved = curved || is_polynomial(&phase->also[p], low, high);
    }
    return curved;
}

/* The next given temperature above t; `end` when there is none below it. */
static double next_of(const struct property *p, double t, double end)
{
    const struct table_setting *table = p->table;
    double next = end;
    for (int row = 0; table != NULL && row < table->nrows; row++) {
        next = table->row[row][0] > t ? fmin(next, table->row[row][0]) : next;
    }
    if (table != NULL && table->nrows == 0) {
        next = table->from > t ? fmin(next, table->from) : next;
        next = table->to > t ? fmin(next, table->to) : next;
    }
    return next;
}

static double next_knot(const struct phase *phase, double t, double end)
{
    double next = next_of(&phase->capacity, t, next_of(&phase->conductivity, t, end));
    for (int p = 0; p < phase->nalso; p++) {
        next = next_of(&phase->also[p], t, next);
    }
    return next;
}

static enum status add_node(struct curve *curve, double t, double heat, double conductivity)
{
    FAIL_IF(!(conductivity > 0) || !isfinite(conductivity),
            fail_value("conductivity", conductivity, t));
    FAIL_IF(!isfinite(heat) || curve->count == NONLINEAR_SEGMENTS,
            fail(STATUS_INPUT, "its tables have too many temperatures; give at most %d",
                 NONLINEAR_SEGMENTS - 1));
    const int node = curve->count++;
    curve->temperature[node] = t;
    curve->heat[node] = heat;
    curve->conductivity[node] = conductivity;
    /* exact, as both are linear in the heat */
    curve->integral[node] = node == 0 ? 0
                                      : curve->integral[node - 1] +
                                            (t - curve->temperature[node - 1]) *
                                                (conductivity + curve->conductivity[node - 1]) / 2;
    return STATUS_OK;
}

/* The intervals between given temperatures from the last node to `end`; a curved one in `parts`. */
static enum status add_phase(struct making *m, const struct phase *phase, double end, int parts,
                             struct curve *curve)
{
    double low = curve->temperature[curve->count - 1];
    for (double high; (high = next_knot(phase, low, end)) < INFINITY && low < end; low = high) {
        const bool curved = is_curved(phase, low, high);
        const int n = curved ? parts : 1;
        m->curved += curved;
        for (int i = 1; i <= n; i++) {
            const double from = curve->temperature[curve->count - 1];
            const double to = i == n ? high : low + (high - low) * i / n;
            double heat = 0;
            TRY(warm(m, phase, from, to, &heat));
            TRY(add_node(curve, to, curve->heat[curve->count - 1] + heat,
                         property_at(&phase->conductivity, to)));
        }
    }
    return STATUS_OK;
}

static enum status melt(const struct making *m, struct curve *curve)
{
    const double middle = (property_at(&m->solid.capacity, m->solidus) +
                           property_at(&m->liquid.capacity, m->liquidus)) /
                          2;
    const double heat = m->density * (middle * (m->liquidus - m->solidus) + m->latent);
    FAIL_IF(!(heat > 0),
            fail(STATUS_INPUT, "it melts at one temperature without latent heat; give a "
                               "liquidus above the solidus"));
    curve->melts = true;
    curve->solidus_heat = curve->heat[curve->count - 1];
    curve->liquidus_heat = curve->solidus_heat + heat;
    return add_node(curve, m->liquidus, curve->liquidus_heat,
                    property_at(&m->liquid.conductivity, m->liquidus));
}

static enum status make(struct making *m, int parts, struct curve *curve)
{
    const double end = m->melts ? m->solidus : INFINITY;
    const struct phase *last = m->melts ? &m->liquid : &m->solid;
    curve->count = 0;
    m->curved = 0;
    TRY(add_node(curve, 0, 0, property_at(&m->solid.conductivity, 0)));
    TRY(add_phase(m, &m->solid, end, parts, curve));
    if (m->melts) {
        TRY(melt(m, curve));
        TRY(add_phase(m, &m->liquid, INFINITY, parts, curve));
    }
    curve->capacity_above = m->density * property_at(&last->capacity, INFINITY);
    return curve->capacity_above > 0 && isfinite(curve->capacity_above)
               ? STATUS_OK
               : fail_value("heat capacity", curve->capacity_above / m->density, INFINITY);
}

/* Materials with the same heat capacity and melting get the same nodes: then a cell keeps its
 * temperature, to the last bit, when it becomes another one of them. */
static void join_nodes(const struct settings *settings, int number, int heat, struct making *m)
{
    m->solid.also = m->also;
    for (int other = 0; other < settings->nmaterials; other++) {
        const struct phase_setting *solid = &settings->materials[other].solid;
        if (other != number && settings_heat_of(settings, other) == heat) {
            m->also[m->solid.nalso++] =
                (struct property){solid->conductivity[AXIS_X], solid->conductivity_table};
        }
    }
}

/* The conductivity of the solid is that of entry `number`, all else that of `heat`. */
static void prepare(const struct settings *settings, int number, int heat, struct making *m)
{
    const struct material_setting *material = &settings->materials[heat];
    const struct phase_setting *own = &settings->materials[number].solid;
    const struct phase_setting *solid = &material->solid;
    const struct phase_setting *liquid = &material->liquid;
    const bool has_k = liquid->conductivity[AXIS_X] > 0 || liquid->conductivity_table != NULL;
    const bool has_c = liquid->heat_capacity > 0 || liquid->heat_capacity_table != NULL;
    const struct phase_setting *of_k = has_k ? liquid : solid;
    const struct phase_setting *of_c = has_c ? liquid : solid;
    m->density = material->density;
    m->melts = material->melts;
    m->solidus = material->solidus;
    m->liquidus = material->has_liquidus ? material->liquidus : material->solidus;
    m->latent = material->latent_heat;
    m->solid.conductivity = (struct property){own->conductivity[AXIS_X], own->conductivity_table};
    m->solid.capacity = (struct property){solid->heat_capacity, solid->heat_capacity_table};
    m->liquid.conductivity =
        (struct property){of_k->conductivity[AXIS_X], of_k->conductivity_table};
    m->liquid.capacity = (struct property){of_c->heat_capacity, of_c->heat_capacity_table};
}

/* Of both phases along the axes: k / k_x; a table is that of all axes. */
static enum status find_factors(const struct material_setting *material,
                                const struct phase_setting *own, struct curve *curve)
{
    const struct phase_setting *const phases[3] = {own, &material->solid, &material->liquid};
    bool found = false;
    for (int p = 0; p < 3; p++) {
        const double *k = phases[p]->conductivity;
        const bool table = phases[p]->conductivity_table != NULL;
        if (!table && !(k[AXIS_X] > 0)) {
            continue;
        }
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            const double factor = table ? 1 : k[axis] / k[AXIS_X];
            FAIL_IF(found && factor != curve->factor[axis],
                    fail(STATUS_INPUT,
                         "its conductivities along x, y and z are in another ratio in the "
                         "liquid%s; give the same ratios",
                         own != &material->solid ? ", or in what it becomes" : ""));
            curve->factor[axis] = factor;
        }
        found = true;
    }
    return STATUS_OK;
}

static enum status build(const struct settings *settings, int number, int heat, struct making *m,
                         struct curve *curve)
{
    TRY(find_factors(&settings->materials[heat], &settings->materials[number].solid, curve));
    TRY(make(m, 1, curve));
    /* with n intervals, of which c are curved, n + 1 segments; c (parts - 1) more fit */
    return m->curved > 0 ? make(m, 1 + (NONLINEAR_SEGMENTS - curve->count) / m->curved, curve)
                         : STATUS_OK;
}

enum status curve_create(const struct settings *settings, int number, struct curve *curve)
{
    const int heat = settings_heat_of(settings, number);
    struct making m = {0};
    *curve = (struct curve){.count = 0};
    prepare(settings, number, heat, &m);
    join_nodes(settings, number, heat, &m);
    return settings_place(settings->origin, build(settings, number, heat, &m, curve),
                          "materials[%d]", number);
}

double curve_conductivity(const struct curve *curve, enum axis axis, double kelvins)
{
    int s = 0;
    while (s + 1 < curve->count && kelvins >= curve->temperature[s + 1]) {
        s++;
    }
    const double heat = (kelvins - curve->temperature[s]) / curve_slope(curve, s);
    return curve->factor[axis] *
           (curve->conductivity[s] + curve_conductivity_slope(curve, s) * heat);
}

/* The first and the last segment are open. */
static bool holds(const struct curve *curve, int segment, double low, double high)
{
    const bool begins = segment == 0 || curve->temperature[segment] <= high;
    return begins && (segment == curve->count - 1 || curve->temperature[segment + 1] >= low);
}

double curve_least_capacity(const struct curve *curve, double low, double high)
{
    double slope = 0;
    for (int s = 0; s < curve->count; s++) {
        slope = holds(curve, s, low, high) ? fmax(slope, curve_slope(curve, s)) : slope;
    }
    return 1 / slope;
}

double curve_most_capacity(const struct curve *curve)
{
    double most = fmax(curve->capacity_above, 1 / curve_slope(curve, 0));
    for (int s = 1; s < curve->count; s++) {
        most = fmax(most, curve->heat[s] / curve->temperature[s]);
    }
    return most;
}

double curve_least_conductivity(const struct curve *curve, enum axis axis)
{
    double least = INFINITY;
    for (int s = 0; s < curve->count; s++) {
        least = fmin(least, curve->factor[axis] * curve->conductivity[s]);
    }
    return least;
}

double curve_most_conductivity(const struct curve *curve, enum axis axis, double low, double high)
{
    double most = 0;
    for (int s = 0; s < curve->count; s++) {
        if (holds(curve, s, low, high)) {
            const int end = s + 1 < curve->count ? s + 1 : s;
            const double k = fmax(curve->conductivity[s], curve->conductivity[end]);
            most = fmax(most, curve->factor[axis] * k);
        }
    }
    return most;
}
