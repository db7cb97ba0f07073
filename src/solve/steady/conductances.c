/* The conductances of the grid of the problem, from classes and boundary conditions, and where they
 * depend on it from the state: Newton's method (docs/reference/numerics.md#steady-states). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/medium/curve.h"
#include "model/operator/map/factor_map.h"
#include "model/operator/map/surface_faces.h"
#include "solve/steady/grids.h"

struct steady_reader {
    const struct problem *problem;
    const struct classes *classes;
    const struct heat_operator *op;
    const struct steady_point *point;
    const struct multigrid *m;
    double mass;
    struct class_closure *closures[FACE_COUNT]; /* NULL: uniform */
    struct face_exchange exchanges[MOST_SURFACES];
    float *pairs[AXIS_COUNT]; /* [class][class]: conductances, see find_pairs; or NULL */
};

/* The place of a cell in the map of classes. */
static int64_t element_at(const struct steady_reader *r, const int64_t cell[AXIS_COUNT])
{
    return layout_index(&r->classes->map.layout, cell[0], cell[1], cell[2]);
}

static int class_at(const struct steady_reader *r, const int64_t cell[AXIS_COUNT])
{
    const struct class_map *map = &r->classes->map;
    return r->problem->medium.nclasses > 0 ? map->h_class[element_at(r, cell)] & map->mask : 0;
}

/* The material of a cell, and its value of the field. */
struct cell_state {
    int of_class;
    const struct curve *curve; /* NULL: constant properties */
    double value;
    struct curve_point at; /* with a curve */
    double scale;          /* K per unit of e: the conductivity at the reference over its own */
};
static struct cell_state state_at(const struct steady_reader *r, const int64_t cell[AXIS_COUNT])
{
    const struct medium *medium = &r->problem->medium;
    const struct steady_point *point = r->point;
    struct cell_state s = {.of_class = class_at(r, cell), .value = point->nominal, .scale = 1};
    if (point->h_field != NULL) {
        s.value = point->h_field[layout_index(&point->layout, cell[0], cell[1], cell[2])];
    }
    if (medium->nclasses > 0 && medium->classes[s.of_class].is_ambient) {
        s.scale = 0; /* its temperature stays */
        return s;
    }
    if (medium->curves != NULL && point->h_field != NULL) {
        s.curve = &medium->curves[medium->classes[s.of_class].key.material];
        s.at = curve_at(s.curve, s.value * medium->heat_capacity_volume);
        s.scale = curve_conductivity(s.curve, AXIS_X, point->nominal) / s.at.conductivity;
    }
    return s;
}

/* Between two cells, in units of the reference heat capacity per step. Of one curve it is that of
 * e, a multiple of the integral of the conductivity, and exact. */
static double between(const struct steady_reader *r, enum axis axis, const int64_t low[AXIS_COUNT],
                      const int64_t high[AXIS_COUNT])
{
    const struct medium *medium = &r->problem->medium;
    const double per_step = r->op->dt / medium->heat_capacity_volume;
    const double h = grid_width(&r->problem->grid, axis, 0);
    if (medium->nclasses == 0) {
        return r->op->all.r[axis];
    }
    if (medium->classes[class_at(r, low)].is_ambient ||
        medium->classes[class_at(r, high)].is_ambient) {
        return 0; /* see to_ambients */
    }
    if (medium->per_cell) {
        return factor_map_conductance(&r->classes->map, r->problem, (int)axis,
                                      element_at(r, high)) *
               r->op->dt;
    }
    const struct cell_state a = state_at(r, low);
    const struct cell_state b = state_at(r, high);
    const double contact = medium_contact(medium, a.of_class, b.of_class);
    const double ka = a.at.conductivity * a.curve->factor[axis];
    const double kb = b.at.conductivity * b.curve->factor[axis];
    if (a.curve == b.curve && contact == 0) {
        return ka * a.scale / (h * h) * per_step;
    }
    return (a.scale + b.scale) / 2 / (h * (h / (2 * ka) + contact + h / (2 * kb))) * per_step;
}

/* d outside / d inside of a closure; `inside`, K. The first step from far below must not be that of
 * a face which hardly radiates. */
static double closure_slope(const struct steady_reader *r, const struct class_closure *c,
                            double inside)
{
    if (c->e == 0) {
        return c->a;
    }
    const double least =
        r->point->is_first ? 0.5 * pow(fmax(c->exchange.s0 / c->exchange.s4, 0), 0.25) : 0;
    const double face = fmax(medium_radiating_float64(inside + c->b, c->a, c->e), least);
    return 2 / (c->a + 4 * c->e * face * face * face) - 1;
}

/* From a cell to what a surface exchanges, in the units of `between`. */
static double to_surface(const struct steady_reader *r, enum face face, int64_t element,
                         double inside)
{
    struct surface_face at;
    (void)surface_face_at(r->problem, &r->classes->map, face, element, &at);
    if (at.surface < 0) {
        return 0;
    }
    const struct class_closure c = surface_face_closure(&at, r->exchanges, r->op->dt);
    return c.conductance * (1 - closure_slope(r, &c, inside));
}

/* The same of two classes, where it depends on nothing else. */
static enum status find_pairs(struct steady_reader *r, enum axis axis)
{
    const struct medium *medium = &r->problem->medium;
    const double per_step = r->op->dt / medium->heat_capacity_volume;
    const int n = medium->nclasses;
    if (n == 0 || medium->per_cell || (medium->curves != NULL && r->point->h_field != NULL)) {
        return STATUS_OK;
    }
    float *pairs = malloc((size_t)n * (size_t)n * sizeof *pairs);
    r->pairs[axis] = pairs;
    TRY(CHECK_MEMORY(pairs != NULL, "no memory for the conductances between materials"));
    for (int i = 0; i < n * n; i++) {
        const int low = i / n;
        const int high = i % n;
        pairs[i] = medium->classes[low].is_ambient || medium->classes[high].is_ambient
                       ? 0 /* see to_ambients */
                       : (float)(r->classes->h_conductances[axis * n * n + i] * per_step);
    }
    return STATUS_OK;
}

/* From a cell to cells of ambients, whose temperatures stay: a sink, in the units of `between`. */
static double to_ambients(const struct steady_reader *r, const int64_t cell[AXIS_COUNT],
                          const struct cell_state *s)
{
    const struct medium *medium = &r->problem->medium;
    const int of_class = s->of_class;
    const bool exchanges = r->problem->boundary.nsurfaces > 0;
    double sum = 0;
    double exchanged = 0;
    for (int f = 0; f < FACE_COUNT && medium->nambients > 0; f++) {
        const enum axis axis = face_axis((enum face)f);
        int64_t beside[AXIS_COUNT] = {cell[AXIS_X], cell[AXIS_Y], cell[AXIS_Z]};
        beside[axis] += face_side((enum face)f) == SIDE_MIN ? -1 : 1;
        const bool outside = beside[axis] < 0 || beside[axis] == r->m->layout.cells[axis];
        if (!r->m->active[axis] || (outside && r->m->closed[f])) {
            continue;
        }
        const int other = class_at(r, beside);
        exchanged += exchanges ? to_surface(r, (enum face)f, element_at(r, cell), s->value) : 0;
        const int64_t *above = face_side((enum face)f) == SIDE_MIN ? cell : beside;
        sum += !medium->classes[other].is_ambient ? 0
               : medium->per_cell
                   ? factor_map_conductance(&r->classes->map, r->problem, (int)axis,
                                            element_at(r, above)) *
                         medium->heat_capacity_volume
                   : medium_conductance(medium, &r->problem->grid, axis, of_class, other);
    }
    return sum * r->op->dt / medium->heat_capacity_volume + exchanged;
}

/* Between a cell and what is outside. */
static double beyond(const struct steady_reader *r, const int64_t cell[AXIS_COUNT], enum face face)
{
    const struct medium *medium = &r->problem->medium;
    const enum axis axis = face_axis(face);
    if (medium->nclasses == 0) {
        return r->op->all.r[axis] * (1 - r->op->all.a[face]);
    }
    const struct cell_state s = state_at(r, cell);
    const struct patch_plane *plane = &r->classes->patches.face[face];
    const int64_t row = cell[face_axis(face) == AXIS_Z ? AXIS_Y : AXIS_Z];
    const int64_t column = cell[face_axis(face) == AXIS_X ? AXIS_Y : AXIS_X];
    const int64_t at = plane->h_patch != NULL ? row * plane->columns + column : 0;
    struct class_closure c =
        r->closures[face][operator_closure_at(r->problem, plane, at, s.of_class)];
    if (s.curve != NULL) {
        c = operator_close_enthalpy(r->problem, axis, &c, s.of_class, s.value);
    }
    if (medium->has_factors) {
        const float *factors = r->classes->map.h_factor[FACTOR_CONDUCTIVITY];
        c = operator_close_factor(r->problem, face, &c, s.of_class,
                                  (double)factors[element_at(r, cell)]);
    }
    if (medium->lines) {
        c = class_closure_wide(&c, medium_lines_at(&r->classes->lines.medium, r->problem->precision,
                                                   (int)axis, GRADED_WIDTH, cell));
    }
    const double inside = s.curve != NULL ? s.at.temperature : s.value;
    return c.conductance / grid_cell_volume(&r->problem->grid) * r->op->dt /
           medium->heat_capacity_volume * (1 - closure_slope(r, &c, inside)) * s.scale;
}

/* A row of lower faces, those of the cells [first, end): none is an end of the grid. */
static void read_between(const struct steady_reader *r, enum axis axis,
                         const int64_t row[AXIS_COUNT], int64_t first, int64_t end, float *g)
{
    const float *const pairs = r->pairs[axis];
    if (pairs == NULL) {
        for (int64_t i = first; i < end; i++) {
            const int64_t high[AXIS_COUNT] = {i, row[AXIS_Y], row[AXIS_Z]};
            int64_t low[AXIS_COUNT] = {i, row[AXIS_Y], row[AXIS_Z]};
            low[axis]--;
            g[i] = (float)between(r, axis, low, high);
        }
        return;
    }
    const struct class_map *map = &r->classes->map;
    const int64_t step = axis == AXIS_X   ? 1
                         : axis == AXIS_Y ? map->layout.pitch_y
                                          : map->layout.pitch_z;
    const uint8_t *const high = map->h_class + element_at(r, row);
    const uint8_t *const low = high - step;
    const int n = r->problem->medium.nclasses;
    for (int64_t i = first; i < end; i++) {
        g[i] = pairs[(low[i] & map->mask) * n + (high[i] & map->mask)];
    }
}

/* The faces of the cells [first, end) of a row at an end of the grid. */
static void read_beyond(const struct steady_reader *r, const int64_t row[AXIS_COUNT], int64_t first,
                        int64_t end, enum face face, float *g)
{
    for (int64_t i = first; i < end; i++) {
        int64_t cell[AXIS_COUNT] = {i, row[AXIS_Y], row[AXIS_Z]};
        cell[face_axis(face)] -= face_side(face) == SIDE_MAX ? 1 : 0;
        g[i] = (float)beyond(r, cell, face);
    }
}

static void read_faces(const struct steady_reader *r, enum axis axis,
                       const struct steady_values *values)
{
    const enum face low = face_of(axis, SIDE_MIN);
    const enum face high = face_of(axis, SIDE_MAX);
    const int64_t n = r->m->layout.cells[axis];
    struct box faces = layout_owned(&values->layout);
    faces.hi[axis]++;
#pragma omp parallel for collapse(2)
    for (int64_t k = 0; k < faces.hi[AXIS_Z]; k++) {
        for (int64_t j = 0; j < faces.hi[AXIS_Y]; j++) {
            const int64_t row[AXIS_COUNT] = {0, j, k + values->first};
            const bool along = axis == AXIS_X;
            const bool starts = r->m->closed[low] && row[axis] == 0;
            const bool ends = r->m->closed[high] && (along || row[axis] == n);
            const int64_t length = faces.hi[AXIS_X];
            const int64_t first = !starts ? 0 : along ? 1 : length;
            const int64_t last = !ends ? length : along ? n : 0;
            float *const g = values->h_g[axis] + layout_index(&values->layout, 0, j, k);
            read_beyond(r, row, 0, first, low, g);
            read_between(r, axis, row, first, last, g);
            read_beyond(r, row, last, ends ? length : last, high, g);
        }
    }
}

/* Of sources, as a sink. */
static double slope_at(const struct steady_reader *r, const int64_t cell[AXIS_COUNT])
{
    const float *h_slopes = r->point->h_slopes;
    const int64_t *n = r->point->layout.cells;
    const double slope =
        h_slopes != NULL
            ? (double)h_slopes[(cell[AXIS_Z] * n[AXIS_Y] + cell[AXIS_Y]) * n[AXIS_X] + cell[AXIS_X]]
            : 0;
    return r->point->rises ? slope : fmax(0, slope);
}

static void read_cells(const struct steady_reader *r, const struct steady_values *values)
{
    const struct medium *medium = &r->problem->medium;
    const struct box cells = layout_owned(&values->layout);
    const double per_step = r->op->dt / medium->heat_capacity_volume;
#pragma omp parallel for
    for (int64_t n = 0; n < box_cells(&cells); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&cells, n, cell);
        const int64_t at = layout_index(&values->layout, cell[0], cell[1], cell[2]);
        cell[AXIS_Z] += values->first;
        const struct cell_state s = state_at(r, cell);
        const double slope = slope_at(r, cell);
        double heat = r->mass + slope;
        if (medium->nclasses > 0) {
            const struct medium_class *of = &medium->classes[s.of_class];
            const double capacity =
                s.curve != NULL ? s.at.capacity / medium->heat_capacity_volume
                : medium->per_cell && !of->is_ambient
                    ? factor_map_capacity(&r->classes->map, r->problem, element_at(r, cell))
                    : of->weight;
            heat = r->mass * capacity + of->perfusion * per_step + to_ambients(r, cell, &s) + slope;
        }
        values->h_sink[at] = (float)(heat * s.scale);
        values->h_scale[at] = (float)s.scale;
    }
}

enum status steady_reader_create(const struct problem *problem, const struct classes *classes,
                                 const struct heat_operator *op, const struct steady_point *point,
                                 const struct multigrid *m, double mass,
                                 struct steady_reader **reader)
{
    struct steady_reader *r = calloc(1, sizeof *r);
    *reader = r;
    TRY(CHECK_MEMORY(r != NULL, "no memory for the conductances of the grid"));
    *r = (struct steady_reader){
        .problem = problem, .classes = classes, .op = op, .point = point, .m = m, .mass = mass};
    surface_exchanges(op, problem, r->exchanges);
    for (int f = 0; f < FACE_COUNT && problem->medium.nclasses > 0; f++) {
        TRY(operator_closures(op, problem, (enum face)f, &classes->patches.face[f],
                              &r->closures[f]));
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        TRY(m->active[axis] ? find_pairs(r, (enum axis)axis) : STATUS_OK);
    }
    return STATUS_OK;
}

void steady_reader_destroy(struct steady_reader *reader)
{
    for (int f = 0; f < FACE_COUNT && reader != NULL; f++) {
        free(reader->closures[f]);
        free(reader->pairs[f / 2]);
        reader->pairs[f / 2] = NULL;
    }
    free(reader);
}

void steady_reader_read(const struct steady_reader *reader, const struct steady_values *values)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (values->h_g[axis] != NULL) {
            read_faces(reader, (enum axis)axis, values);
        }
    }
    if (values->h_sink != NULL) {
        read_cells(reader, values);
    }
}

int64_t steady_log_of(float g)
{
    enum { BIAS = LOG_UNIT * 125 };
    int32_t bits;
    memcpy(&bits, &g, sizeof bits);
    return bits > 0 ? (bits >> 15) - BIAS : 0;
}

void steady_add_logs(const struct layout *layout, const float *h_g, int64_t step, int64_t sums[3])
{
    const int64_t nx = layout->cells[AXIS_X];
    const int64_t ny = layout->cells[AXIS_Y];
    int64_t sum = 0;
    int64_t count = 0;
    int64_t differences = 0;
#pragma omp parallel for reduction(+ : sum, count, differences)
    for (int64_t row = 0; row < ny * layout->cells[AXIS_Z]; row++) {
        const float *const g = h_g + layout_index(layout, 0, row % ny, row / ny);
        for (int64_t i = 0; i < nx; i++) {
            sum += steady_log_of(g[i]);
            count += g[i] > 0 ? 1 : 0;
            differences += g[i] > 0 && g[i + step] > 0
                               ? llabs(steady_log_of(g[i + step]) - steady_log_of(g[i]))
                               : 0;
        }
    }
    sums[0] += sum;
    sums[1] += count;
    sums[2] += differences;
}

/* --- a uniform medium --------------------------------------------------------------------------
 */

static enum status allocate_axis(int64_t n, bool periodic, struct steady_axis *axis)
{
    *axis = (struct steady_axis){.n = n, .periodic = periodic};
    axis->resistance = malloc(((size_t)n + 1) * sizeof *axis->resistance);
    axis->size = malloc((size_t)n * sizeof *axis->size);
    return CHECK_MEMORY(axis->resistance != NULL && axis->size != NULL,
                        "no memory for the axes of the steady state");
}

void steady_axis_destroy(struct steady_axis *axis)
{
    free(axis->resistance);
    free(axis->size);
    *axis = (struct steady_axis){.n = 0};
}

enum status steady_axis_create(const struct problem *problem, const struct heat_operator *op,
                               enum axis axis, struct steady_axis *finest)
{
    const int64_t n = problem->grid.cells[axis];
    const double g = op->all.r[axis];
    TRY(allocate_axis(n, problem->boundary.periodic[axis], finest));
    for (int64_t i = 0; i < n; i++) {
        finest->resistance[i] = 1 / g;
        finest->size[i] = 1;
    }
    finest->resistance[n] = 1 / g;
    if (!finest->periodic) {
        finest->resistance[0] = 1 / (g * (1 - op->all.a[face_of(axis, SIDE_MIN)]));
        finest->resistance[n] = 1 / (g * (1 - op->all.a[face_of(axis, SIDE_MAX)]));
    } else if (n == 1) {
        finest->resistance[0] = finest->resistance[n] = INFINITY;
    }
    return STATUS_OK;
}

/* Half the resistance between the two children of a cell; 0: it has one, or is none. */
static double half(const struct steady_axis *fine, const struct steady_axis *coarse, int64_t at)
{
    const int64_t cell = !coarse->periodic ? at : at < 0 ? coarse->n - 1 : at % coarse->n;
    const bool has_two =
        cell >= 0 && cell < coarse->n && fine->n > coarse->n && 2 * cell + 1 < fine->n;
    return has_two ? fine->resistance[2 * cell + 1] / 2 : 0;
}

enum status steady_axis_coarsen(const struct steady_axis *fine, int children,
                                struct steady_axis *coarse)
{
    const int64_t n = (fine->n + children - 1) / children;
    TRY(allocate_axis(n, fine->periodic, coarse));
    for (int64_t i = 0; i <= n; i++) {
        const int64_t face = i < n ? i * children : fine->n;
        coarse->resistance[i] =
            fine->periodic && n == 1
                ? INFINITY
                : fine->resistance[face] + half(fine, coarse, i - 1) + half(fine, coarse, i);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t last = i * children + children - 1;
        coarse->size[i] = fine->size[i * children];
        coarse->size[i] += children == 2 && last < fine->n ? fine->size[last] : 0;
    }
    return STATUS_OK;
}

void steady_axis_tables(const struct steady_axis *axis, const struct steady_axis *fine, int64_t lo,
                        int64_t hi, float *lines)
{
    const int64_t n = hi - lo;
    for (int64_t at = lo; at < hi; at++) {
        const int64_t i = (at + axis->n) % axis->n;
        const double low = axis->resistance[i];
        const double high = axis->resistance[i + 1];
        const double own = fine != NULL ? half(fine, axis, i) : 0;
        const int64_t child = fine != NULL && fine->n > axis->n ? 2 * i : i;
        float *line = lines + at - lo;
        line[LINE_LOW * n] = (float)(1 / (low * axis->size[i]));
        line[LINE_HIGH * n] = (float)(1 / (high * axis->size[i]));
        line[LINE_WEIGHT_LOW * n] = (float)(own / low);
        line[LINE_WEIGHT_HIGH * n] = (float)(own / high);
        line[LINE_SHARE * n] = fine != NULL ? (float)(fine->size[child] / axis->size[i]) : 1;
    }
}
