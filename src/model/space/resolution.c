#include "model/space/resolution.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "model/medium/boundary.h"
#include "model/operator/map/patch_map.h"
#include "model/space/shape.h"

static const double TOLERATED = 0.05;

/* A shape of more cells than this is resolved: counting them would only take time. */
static const double MOST_COUNTED = 1e6;

/* A length, area or volume in the units of the grid, by the number of its axes. */
struct size {
    double shape;   /* inside the domain; NAN: unknown */
    double painted; /* the cells */
};

static bool is_off(const struct size *size)
{
    return fabs(size->painted - size->shape) > TOLERATED * size->shape; /* false for NAN */
}

static struct size size_along(const struct grid *grid, enum axis axis, double lower, double upper)
{
    const int64_t first = grid_first_from(grid, axis, lower);
    const int64_t end =
        upper >= grid->upper[axis] ? grid->cells[axis] : grid_first_from(grid, axis, upper);
    return (struct size){fmin(upper, grid->upper[axis]) - fmax(lower, grid->lower[axis]),
                         grid_edge(grid, axis, end) - grid_edge(grid, axis, first)};
}

/* The share of a round shape that is inside the domain: all, or one side of a plane of symmetry. */
static double share_inside(const struct grid *grid, const struct shape_setting *shape,
                           enum axis axis)
{
    const double rounding = 1e-9 * (grid->upper[axis] - grid->lower[axis]);
    const double below = shape->center[axis] - grid->lower[axis];
    const double above = grid->upper[axis] - shape->center[axis];
    const double room = fmax(below, above) - shape->radius;
    if (fmin(below, above) >= shape->radius - rounding) {
        return 1;
    }
    return fabs(fmin(below, above)) <= rounding && room >= -rounding ? 0.5 : NAN;
}

/* The size of the cells whose centres are inside, on the axes that are round. */
static double measure_round(const struct grid *grid, const struct shape_setting *shape,
                            const bool round[AXIS_COUNT])
{
    struct box box = {.lo = {0, 0, 0}, .hi = {1, 1, 1}};
    double sum = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (round[axis]) {
            const double center = shape->center[axis];
            box.lo[axis] = grid_first_from(grid, (enum axis)axis, center - shape->radius);
            box.hi[axis] = grid_first_from(grid, (enum axis)axis, center + shape->radius) + 1;
            box.hi[axis] = box.hi[axis] < grid->cells[axis] ? box.hi[axis] : grid->cells[axis];
        }
    }
    if ((double)box_cells(&box) > MOST_COUNTED) {
        return NAN;
    }
    for (int64_t c = 0; c < box_cells(&box); c++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&box, c, cell);
        const double at[AXIS_COUNT] = {grid_center(grid, AXIS_X, cell[AXIS_X]),
                                       grid_center(grid, AXIS_Y, cell[AXIS_Y]),
                                       grid_center(grid, AXIS_Z, cell[AXIS_Z])};
        double size = shape_holds(grid, shape, at) ? 1 : 0;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            size *= round[axis] ? grid_width(grid, (enum axis)axis, cell[axis]) : 1;
        }
        sum += size;
    }
    return sum;
}

/* A sphere, or the cross-section of a cylinder. */
static struct size size_round(const struct grid *grid, const struct shape_setting *shape)
{
    static const double unit[AXIS_COUNT + 1] = {1, 2, M_PI, 4 * M_PI / 3};
    bool round[AXIS_COUNT];
    int axes = 0;
    struct size size = {1, 1};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool along = shape->kind == INITIAL_CYLINDER && axis == (int)shape->axis;
        round[axis] = grid->used[axis] && !along;
        if (round[axis]) {
            axes++;
            size.shape *= shape->radius * share_inside(grid, shape, (enum axis)axis);
        }
    }
    size.shape *= unit[axes];
    size.painted *= measure_round(grid, shape, round);
    return size;
}

/* The size on each axis alone, for the axes on which the shape has ends, in use. Others are 1. */
static void size_by_axis(const struct grid *grid, const struct shape_setting *shape,
                         struct size size[AXIS_COUNT])
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const bool box = shape->kind == INITIAL_BOX;
        const bool ends = (shape->kind == INITIAL_LAYER || shape->kind == INITIAL_CYLINDER) &&
                          axis == (int)shape->axis;
        size[axis] = (struct size){1, 1};
        if (grid->used[axis] && (box || ends)) {
            size[axis] = size_along(grid, (enum axis)axis, box ? shape->lower[axis] : shape->from,
                                    box ? shape->upper[axis] : shape->to);
        }
    }
}

/* What to do about it, if the shape is a slab that is thinner than two cells on some axis. */
static void advise(const struct settings *settings, const struct grid *grid,
                   const struct shape_setting *part, char *text, size_t bytes)
{
    struct size size[AXIS_COUNT];
    size_by_axis(grid, part, size);
    snprintf(text, bytes, "use a finer grid");
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double thickness = size[axis].shape;
        const struct phase_setting *phase = &settings->materials[(int)part->value].solid;
        if (part->kind == INITIAL_CYLINDER || !grid->used[axis] || !is_off(&size[axis]) ||
            thickness > 2 * grid_largest_width(grid, (enum axis)axis)) {
            continue;
        }
        char value[64] = "";
        if (phase->conductivity_table == NULL) {
            snprintf(value, sizeof value, ", here %.4g m^2 K/W",
                     thickness / phase->conductivity[axis]);
        }
        snprintf(text, bytes,
                 "use a finer grid, or leave this part out and give the two materials at its sides "
                 "a resistance in 'contacts': thickness / conductivity%s",
                 value);
    }
}

/* The face and number (from 1) of the patch that is the `index`-th of all. */
static bool find_patch(const struct settings *settings, int index, enum face *face, int *number)
{
    for (int f = 0; f < FACE_COUNT; f++) {
        if (index < settings->boundary[f].npatches) {
            *face = (enum face)f;
            *number = index + 1;
            return true;
        }
        index -= settings->boundary[f].npatches;
    }
    return false;
}

/* `normal`: of a patch, whose shape has no ends there; AXIS_COUNT: of a part. Returns "" when the
 * cells fit. */
static void compare(const struct grid *grid, const struct shape_setting *shape, int normal,
                    const char *key, const char *advice, char text[RESOLUTION_TEXT])
{
    static const char *const names[] = {"", "length", "area", "volume"};
    static const char *const units[] = {"", "m", "m^2", "m^3"};
    struct size by_axis[AXIS_COUNT];
    struct size size = {1, 1};
    int axes = 0;
    text[0] = '\0';
    if (shape_name(shape) == NULL) {
        return;
    }
    if (shape->kind == INITIAL_SPHERE || shape->kind == INITIAL_CYLINDER) {
        size = size_round(grid, shape);
    }
    size_by_axis(grid, shape, by_axis);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (axis != normal && grid->used[axis]) {
            size.shape *= by_axis[axis].shape;
            size.painted *= by_axis[axis].painted;
            axes++;
        }
    }
    const bool layer = shape->kind == INITIAL_LAYER;
    axes = layer ? 1 : axes;
    if (is_off(&size)) {
        snprintf(text, RESOLUTION_TEXT,
                 "%s: its %s is %.4g %s, that of its cells %.4g %s (%+.0f %%); %s", key,
                 layer ? "thickness" : names[axes], size.shape, units[axes], size.painted,
                 units[axes], 100 * (size.painted / size.shape - 1), advice);
    }
}

bool resolution_warning(const struct problem *problem, int index, char text[RESOLUTION_TEXT])
{
    const struct settings *settings = problem->settings;
    char key[BOUNDARY_KEY_BYTES];
    char advice[RESOLUTION_TEXT / 2];
    if (index < settings->nparts) {
        const struct shape_setting *part = &settings->parts[index];
        advise(settings, &problem->grid, part, advice, sizeof advice);
        snprintf(key, sizeof key, "parts[%d].%s", index,
                 shape_name(part) != NULL ? shape_name(part) : "");
        compare(&problem->grid, part, AXIS_COUNT, key, advice, text);
        return true;
    }
    enum face face = FACE_X_MIN;
    int number = 0;
    if (!find_patch(settings, index - settings->nparts, &face, &number)) {
        return false;
    }
    struct shape_setting shape;
    patch_shape(&settings->boundary[face].patches[number - 1], face_axis(face), number, &shape);
    compare(&problem->grid, &shape, face_axis(face), boundary_key(face, number, "", key),
            "use a finer grid", text);
    return true;
}

void resolution_warn(const struct problem *problem)
{
    char text[RESOLUTION_TEXT];
    for (int index = 0; resolution_warning(problem, index, text); index++) {
        if (text[0] != '\0') {
            log_warn("%s", text);
        }
    }
}

enum status resolution_check(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    const struct grid *grid = &problem->grid;
    for (int entry = 0; entry < settings->nparts; entry++) {
        const struct shape_setting *part = &settings->parts[entry];
        if (shape_name(part) != NULL &&
            shape_check_cells(settings->origin, grid, "parts", part, entry) != STATUS_OK) {
            char advice[RESOLUTION_TEXT / 2];
            advise(settings, grid, part, advice, sizeof advice);
            return fail(STATUS_INPUT, "%s; %s", fail_message(), advice);
        }
    }
    enum face face = FACE_X_MIN;
    int number = 0;
    for (int index = 0; find_patch(settings, index, &face, &number); index++) {
        struct shape_setting shape;
        char key[BOUNDARY_KEY_BYTES];
        const struct patch_setting *patch = &settings->boundary[face].patches[number - 1];
        patch_shape(patch, face_axis(face), number, &shape);
        if (shape_name(&shape) != NULL && !shape_has_cells(grid, &shape)) {
            return settings_fail(
                settings, boundary_key(face, number, patch->has_disc ? "disc" : "rectangle", key),
                "contains no cell centre of the face and so has no effect; use a finer grid");
        }
    }
    return STATUS_OK;
}

enum status resolution_check_cells(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    const struct medium *medium = &problem->medium;
    for (int entry = 0; entry < settings->nparts; entry++) {
        const struct shape_setting *part = &settings->parts[entry];
        int64_t cells = 0;
        for (int c = 0; c < medium->nclasses; c++) {
            const bool same = medium->classes[c].key.material == (int)part->value;
            cells += same ? medium->classes[c].cells : 0;
        }
        if ((part->kind == INITIAL_EXPRESSION || part->kind == PART_STL) && cells == 0) {
            const char *below = part->kind == PART_STL ? "stl" : "expression.where";
            char key[48];
            snprintf(key, sizeof key, "parts[%d].%s", entry, below);
            return settings_fail(settings, key,
                                 "contains no cell centre, or later parts cover them all, so that "
                                 "it has no effect; use a finer grid, or check the condition");
        }
    }
    return STATUS_OK;
}

/* --- contacts -------------------------------------------------------------------------------- */

/* Whether cells of these materials meet at the start, or when cells of others have become them. */
static bool meet(const struct medium *medium, const struct class_survey *survey, int a, int b)
{
    for (int pair = 0; pair < medium->nmaterials * medium->nmaterials; pair++) {
        const int one = pair / medium->nmaterials;
        const int other = pair % medium->nmaterials;
        const bool is_a = one == a || medium->materials[one].becomes == a;
        const bool is_b = other == b || medium->materials[other].becomes == b;
        if (is_a && is_b && (survey->meets[one][other] != 0 || survey->meets[other][one] != 0)) {
            return true;
        }
    }
    return false;
}

enum status resolution_check_contacts(const struct problem *problem,
                                      const struct class_survey *survey)
{
    const struct settings *settings = problem->settings;
    const struct medium *medium = &problem->medium;
    for (int c = 0; c < settings->ncontacts; c++) {
        const struct contact_setting *contact = &settings->contacts[c];
        if (!meet(medium, survey, contact->number[0], contact->number[1])) {
            char key[48];
            snprintf(key, sizeof key, "contacts[%d].between", c);
            return settings_fail(settings, key,
                                 "no cell of '%s' is beside one of '%s', so that the resistance "
                                 "has no effect; check the parts, or remove the contact",
                                 contact->between[0], contact->between[1]);
        }
    }
    for (int s = 0; s < settings->nsurfaces; s++) {
        char *const *between = settings->surfaces[s].between;
        if (medium->surface_faces[s] == 0) {
            char key[48];
            snprintf(key, sizeof key, "surfaces[%d].between", s);
            return settings_fail(settings, key,
                                 "no cell of '%s' is beside one of '%s', so that the surface has "
                                 "no effect; check the parts, or remove it",
                                 between[0], between[1]);
        }
    }
    return STATUS_OK;
}
