/* The cells of graded axes: from `edges` or `segments` to struct axis_cells. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "config/check/settings_check.h"

/* An axis while its cells are found. */
struct laying {
    struct settings *settings;
    int axis;
    char key[16]; /* "grid.x" */
    int64_t cells;
    double *edges;
    double *width; /* of each cell */
};

/* The value of grid.lower or grid.upper, if the file gives it for this axis. */
static enum status check_end(const struct laying *l, const char *name, double *end, double here)
{
    bool exact = false;
    char key[32];
    snprintf(key, sizeof key, "grid.%s", name);
    const struct tree *node = tree_find(l->settings->origin->root, key, &exact);
    FAIL_IF(exact && tree_count(node) > l->axis && *end != here,
            settings_fail(l->settings, l->key,
                          "the %s end of the axis is %.9g m here and %.9g m in %s; leave it out "
                          "there, or give the same value",
                          name, here, *end, key));
    *end = here;
    return STATUS_OK;
}

static enum status allocate(struct laying *l)
{
    FAIL_IF(l->cells > MOST_GRADED_CELLS,
            settings_fail(l->settings, l->key,
                          "%" PRId64 " cells; give at most %d on a graded axis", l->cells,
                          MOST_GRADED_CELLS));
    l->edges = origin_memory(l->settings->origin, ((size_t)l->cells + 1) * sizeof *l->edges);
    l->width = origin_memory(l->settings->origin, (size_t)l->cells * sizeof *l->width);
    return l->edges != NULL && l->width != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status take_edges(struct laying *l, const struct axis_setting *axis)
{
    char key[32];
    bool exact;
    snprintf(key, sizeof key, "%s.edges", l->key);
    l->cells = tree_count(tree_find(l->settings->origin->root, key, &exact)) - 1;
    TRY(allocate(l));
    for (int64_t i = 0; i <= l->cells; i++) {
        l->edges[i] = axis->edges[i];
        FAIL_IF(i > 0 && !(axis->edges[i] > axis->edges[i - 1]),
                settings_fail(l->settings, key,
                              "not ascending: edge %" PRId64 " is %.9g m after %.9g m; give each "
                              "edge above the one before it",
                              i, axis->edges[i], axis->edges[i - 1]));
    }
    for (int64_t i = 0; i < l->cells; i++) {
        l->width[i] = l->edges[i + 1] - l->edges[i];
    }
    return STATUS_OK;
}

/* The equal cells of a radius. */
static enum status take_equal(struct laying *l)
{
    const double from = l->settings->grid.lower[l->axis];
    const double length = l->settings->grid.upper[l->axis] - from;
    l->cells = l->settings->grid.cells[l->axis];
    TRY(allocate(l));
    for (int64_t i = 0; i <= l->cells; i++) {
        l->edges[i] = from + length * ((double)i / (double)l->cells);
    }
    l->edges[l->cells] = l->settings->grid.upper[l->axis]; /* not rounded */
    for (int64_t i = 0; i < l->cells; i++) {
        l->width[i] = length / (double)l->cells;
    }
    return STATUS_OK;
}

/* The cells of a segment that begins at edge `at`. */
static void lay_segment(struct laying *l, const struct segment_setting *segment, int64_t at)
{
    const double from = l->edges[at];
    double share = 1;
    double all = 0;
    for (int64_t i = 0; i < segment->cells; i++, share *= segment->ratio) {
        l->width[at + i] = share;
        all += share;
    }
    double done = 0;
    for (int64_t i = 0; i < segment->cells; i++) {
        done += l->width[at + i];
        l->edges[at + i + 1] = from + (segment->to - from) * (done / all);
        l->width[at + i] *= (segment->to - from) / all;
    }
    l->edges[at + segment->cells] = segment->to;
}

static enum status take_segments(struct laying *l, const struct axis_setting *axis)
{
    char key[40];
    int64_t at = 0;
    for (int s = 0; s < axis->nsegments; s++) {
        l->cells += axis->segments[s].cells;
    }
    TRY(allocate(l));
    l->edges[0] = l->settings->grid.lower[l->axis];
    for (int s = 0; s < axis->nsegments; s++) {
        const struct segment_setting *segment = &axis->segments[s];
        snprintf(key, sizeof key, "%s.segments[%d].to", l->key, s);
        FAIL_IF(!(segment->to > l->edges[at]),
                settings_fail(l->settings, key,
                              "%.9g m is not above %.9g m, where the segment begins; give segments "
                              "in ascending order",
                              segment->to, l->edges[at]));
        lay_segment(l, segment, at);
        at += segment->cells;
    }
    return STATUS_OK;
}

static bool is_radius(const struct settings *settings, int axis)
{
    return axis == AXIS_X && settings->grid.geometry != GEOMETRY_CARTESIAN;
}

/* Widths that differ by the rounding of the edges are one; each cell of a radius has its own. */
static enum status number_widths(const struct laying *l, struct axis_cells *cells)
{
    const double most = fmax(fabs(l->edges[0]), fabs(l->edges[l->cells]));
    const double rounding = 8 * DBL_EPSILON * most;
    double *widths = origin_memory(l->settings->origin, (size_t)l->cells * sizeof *widths);
    uint16_t *width_of = origin_memory(l->settings->origin, (size_t)l->cells * sizeof *width_of);
    int count = 0;
    FAIL_IF(widths == NULL || width_of == NULL, STATUS_MEMORY);
    for (int64_t i = 0; i < l->cells; i++) {
        int n = is_radius(l->settings, l->axis) ? count : 0;
        FAIL_IF(!(l->width[i] >= 2 * rounding && l->width[i] >= 1e-30),
                settings_fail(l->settings, l->key,
                              "cell %" PRId64 " would be %g m thin, too thin for distinct "
                              "positions; give fewer cells, a longer axis or a ratio nearer to 1",
                              i, l->width[i]));
        while (n < count && fabs(widths[n] - l->width[i]) > rounding) {
            n++;
        }
        widths[n] = n < count ? widths[n] : l->width[i];
        count += n == count;
        width_of[i] = (uint16_t)n;
    }
    *cells = (struct axis_cells){l->edges, widths, width_of, count};
    return STATUS_OK;
}

/* Whether the axis has edges or segments; the check of its section refuses one without. */
static bool is_there(const struct settings *settings, int a)
{
    char key[32];
    bool edges;
    snprintf(key, sizeof key, "grid.%s.edges", axis_name((enum axis)a));
    (void)tree_find(settings->origin->root, key, &edges);
    return edges || settings->grid.axis[a].nsegments > 0;
}

static enum status lay_axis(struct settings *settings, int a)
{
    struct axis_setting *axis = &settings->grid.axis[a];
    struct laying l = {.settings = settings, .axis = a};
    snprintf(l.key, sizeof l.key, "grid.%s", axis_name((enum axis)a));
    const bool equal = is_radius(settings, a) && !is_there(settings, a);
    FAIL_IF(settings->grid.cells[a] != 1 && !equal,
            settings_fail(settings, l.key,
                          "the cells of this axis are given twice: grid.cells has %" PRId64
                          "; give 1 there",
                          settings->grid.cells[a]));
    TRY(equal                 ? take_equal(&l)
        : axis->nsegments > 0 ? take_segments(&l, axis)
                              : take_edges(&l, axis));
    axis->given = true;
    TRY(number_widths(&l, &axis->cells));
    TRY(check_end(&l, "lower", &settings->grid.lower[a], l.edges[0]));
    settings->grid.cells[a] = l.cells;
    return check_end(&l, "upper", &settings->grid.upper[a], l.edges[l.cells]);
}

/* The radius begins at 0 or above, where nothing enters, and the other axes are those that there
 * can be. */
static enum status check_radius(const struct settings *settings)
{
    const bool sphere = settings->grid.geometry == GEOMETRY_SPHERICAL;
    const struct boundary_setting *inner = &settings->boundary[FACE_X_MIN];
    for (int a = sphere ? AXIS_Y : AXIS_Z; a < AXIS_COUNT; a++) {
        FAIL_IF(settings->grid.cells[a] > 1 ||
                    settings->grid.upper[a] - settings->grid.lower[a] != 1,
                settings_fail(settings, "grid.geometry",
                              "the %s axis has no meaning in this geometry; give %s",
                              axis_name((enum axis)a),
                              sphere ? "the radius only" : "the radius and the axis of rotation"));
    }
    FAIL_IF(settings->grid.cells[AXIS_X] < 2,
            settings_fail(settings, "grid.geometry", "the x axis, the radius, has one cell"));
    FAIL_IF(!(settings->grid.lower[AXIS_X] >= 0),
            settings_fail(settings, "grid.geometry",
                          "the x axis, the radius, begins at %g m; give 0 or more",
                          settings->grid.lower[AXIS_X]));
    FAIL_IF(inner->kind == BOUNDARY_PERIODIC ||
                (settings->grid.lower[AXIS_X] == 0 && inner->kind != BOUNDARY_FLUX),
            settings_fail(settings, "boundary.x_min",
                          "the x axis is a radius%s; give {type: flux, value: 0}",
                          inner->kind == BOUNDARY_PERIODIC ? ", which is not periodic"
                                                           : " from 0, where it has no area"));
    return STATUS_OK;
}

enum status settings_check_axes(struct settings *settings)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        const bool lays = is_there(settings, a) || is_radius(settings, a);
        TRY(lays ? lay_axis(settings, a) : STATUS_OK);
    }
    return settings->grid.geometry != GEOMETRY_CARTESIAN ? check_radius(settings) : STATUS_OK;
}
