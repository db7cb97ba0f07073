/* Planes of snapshots and regions, and the difference of two. */
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/compare/compare.h"
#include "io/picture/picture.h"
#include "model/field/quantity.h"
#include "plot/plot.h"

enum { TITLE_BYTES = PLOT_TEXT_BYTES };

static struct grid grid_of(const struct frames *frames)
{
    struct grid grid = {.dimensions = 0};
    memcpy(grid.graded, frames->graded, sizeof grid.graded);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t cells = frames->cells[a];
        grid.cells[a] = cells;
        grid.lower[a] = frames->has_place ? frames->lower[a] : 0.0;
        grid.upper[a] = frames->has_place ? frames->upper[a] : (double)cells;
    }
    grid_complete(&grid);
    return grid;
}

/* The saved state nearest to a time; the last one for NaN. */
static int64_t nearest(const struct frames *frames, double time)
{
    int64_t best = frames->count - 1;
    for (int64_t n = frames->count - 2; n >= 0 && isfinite(time); n--) {
        if (fabs(frames->frame[n].time - time) < fabs(frames->frame[best].time - time)) {
            best = n;
        }
    }
    return best;
}

/* ---- the plane --------------------------------------------------------------------------------
 */

/* "z" or "z=0.05" */
static enum status choose_plane(const struct plot *plot, const struct grid *grid,
                                struct picture_plane *plane)
{
    const char *text = plot->plane != NULL ? plot->plane : "z";
    char *end = NULL;
    FAIL_IF(text[0] < 'x' || text[0] > 'z' || (text[1] != '\0' && text[1] != '='),
            fail(STATUS_INPUT, "--plane %s: give x, y or z, or a place such as z=0.05", text));
    const enum axis normal = (enum axis)(text[0] - 'x');
    *plane = picture_plane_choose(grid, normal);
    if (text[1] == '\0' || plane->normal != normal) {
        return STATUS_OK; /* in 2D there is one plane */
    }
    const double at = strtod(text + 2, &end);
    FAIL_IF(end == text + 2 || *end != '\0' || !(at >= grid->lower[normal]) ||
                !(at <= grid->upper[normal]),
            fail(STATUS_INPUT, "--plane %s: give a place from %g to %g m", text,
                 grid->lower[normal], grid->upper[normal]));
    const int64_t level = (int64_t)floor(grid_in_cells(grid, normal, at));
    plane->level = level < grid->cells[normal] ? level : grid->cells[normal] - 1;
    return STATUS_OK;
}

/* A state as the source of a picture. */
struct state {
    const struct frames *frames;
    int64_t number;
};

static enum status read_box(void *context, const struct box *box, double *cells)
{
    const struct state *state = context;
    return frames_read_box(state->frames, state->number, box, cells);
}

static enum status read_plane(const struct frames *frames, int64_t number,
                              const struct picture_plane *plane, double *values)
{
    struct state state = {frames, number};
    const struct box all = box_of_cells(frames->cells);
    return picture_read(plane, &all, read_box, &state, values);
}

/* ---- the picture ------------------------------------------------------------------------------
 */

/* The attribute of the dataset, as it is usually written; without it that of the quantity. */
static const char *unit_of(const struct frames *frames)
{
    static const char *const written[][2] = {{"W m-2", "W/m^2"}, {"K s-1", "K/s"}, {"1", ""}};
    const char *unit = frames->units[0] != '\0' ? frames->units : quantity_used()->unit;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        unit = strcmp(frames->units, written[i][0]) == 0 ? written[i][1] : unit;
    }
    return unit;
}

static void find_range(const double *values, int count, double range[2])
{
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int i = 0; i < count; i++) {
        plot_extend(range, values[i]);
    }
}

/* What is shown: a series, perhaps minus another one, in a plane. */
struct scene {
    const char *name;
    const struct frames *frames, *other; /* other: NULL, or to subtract */
    struct grid grid;
    struct picture_plane plane;
    double shift;                      /* to subtract, for degrees Celsius */
    const char *names[MOST_MATERIALS]; /* of materials, if these are shown */
    int nnames;
    double melting;
    double *values;
};

/* The isolines, and a text that names them. */
static void set_levels(const struct plot *plot, const struct scene *scene,
                       struct picture_view *view, double levels[PLOT_CONTOURS + 1],
                       char text[TITLE_BYTES])
{
    const double *range = view->color_range;
    int n = snprintf(text, TITLE_BYTES, "%s", view->has_plane_at ? "    in this plane" : "");
    view->levels = levels;
    view->more = text;
    if (plot->nround > 0) {
        const double step = picture_round_step((range[1] - range[0]) / plot->nround);
        n += snprintf(&text[n], 100, "    contours every %g %.50s", step, view->unit);
        for (double l = ceil(range[0] / step);
             l * step <= range[1] && view->nlevels < PLOT_CONTOURS; l++) {
            levels[view->nlevels++] = l * step;
        }
    } else if (plot->nlevels > 0) {
        n += snprintf(&text[n], 300, "    contours at %.200s %.50s", plot->contours, view->unit);
        memcpy(levels, plot->levels, sizeof plot->levels);
        view->nlevels = plot->nlevels;
    }
    if (isfinite(scene->melting)) {
        snprintf(&text[n], 100, "    melt pool: %g %.50s", scene->melting, view->unit);
        levels[view->nlevels++] = scene->melting;
        view->outlined = true;
    }
}

/* shared: the range of the colours, of several pictures; NULL: that of the values. */
static enum status draw(const struct plot *plot, const struct scene *scene,
                        const struct frame *frame, const double *shared, const char *path)
{
    const struct picture_plane *plane = &scene->plane;
    const char *name = scene->name;
    double range[2];
    char what[TITLE_BYTES];
    char title[TITLE_BYTES];
    char quantity[TITLE_BYTES];
    char text[TITLE_BYTES];
    double levels[PLOT_CONTOURS + 1];
    find_range(scene->values, plane->samples[0] * plane->samples[1], range);
    const double *colors = shared != NULL ? shared : range;
    struct picture_setting setting = {.range = {colors[0], colors[1]},
                                      .range_auto = plot->with == NULL && shared == NULL,
                                      .colormap = plot->with == NULL ? COLORMAP_INFERNO
                                                                     : COLORMAP_COOLWARM};
    if (plot->with != NULL) { /* no difference is the neutral colour */
        setting.range[1] = fmax(fabs(colors[0]), fabs(colors[1]));
        setting.range[0] = -setting.range[1];
        snprintf(what, sizeof what, "%.150s minus %.150s, %s", plot->directory, plot->with, name);
    } else {
        snprintf(what, sizeof what, "%.300s, %s", plot->directory, name);
    }
    if (scene->nnames > 0) {
        setting =
            (struct picture_setting){.range = {0, scene->nnames - 1}, .colormap = COLORMAP_VIRIDIS};
    }
    picture_widen(setting.range, 0.0);
    snprintf(quantity, sizeof quantity, "%s%s",
             strcmp(plot->field, "T") == 0 ? quantity_used()->symbol : plot->field,
             plot->with != NULL ? " difference" : "");
    struct picture_view view = picture_view_of(&scene->grid, plane, &setting, range[0], range[1]);
    view.title = plot_title(plot, what, title);
    view.names = scene->nnames > 0 ? scene->names : NULL;
    view.nnames = scene->nnames;
    view.step = frame->step;
    view.time = frame->time;
    view.values = scene->values;
    view.quantity = quantity;
    view.unit = scene->shift != 0 ? PLOT_CELSIUS : unit_of(scene->frames);
    if (scene->nnames == 0) {
        set_levels(plot, scene, &view, levels, text);
    }
    return picture_draw(&view, path);
}

/* Subtract the plane of the run to compare with, at its state nearest to `time`. */
static enum status subtract(const struct frames *other, double time,
                            const struct picture_plane *plane, double *values)
{
    const int count = plane->samples[0] * plane->samples[1];
    SCOPED_FREE double *others = malloc((size_t)count * sizeof *others);
    TRY(CHECK_MEMORY(others != NULL, "no memory for a plane"));
    TRY(read_plane(other, nearest(other, time), plane, others));
    for (int i = 0; i < count; i++) {
        values[i] -= others[i];
    }
    return STATUS_OK;
}

static enum status read_state(const struct scene *scene, int64_t state)
{
    const struct frames *frames = scene->frames;
    TRY(read_plane(frames, state, &scene->plane, scene->values));
    for (int i = 0; i < scene->plane.samples[0] * scene->plane.samples[1]; i++) {
        scene->values[i] -= scene->shift;
    }
    return scene->other == NULL
               ? STATUS_OK
               : subtract(scene->other, frames->frame[state].time, &scene->plane, scene->values);
}

/* ---- films ----------------------------------------------------------------------------------- */

static bool runs(char **words)
{
    pid_t child = 0;
    int state = 0;
    return posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0 &&
           waitpid(child, &state, 0) == child && state == 0;
}

/* From pictures "%06d.png"; an earlier attempt may have left more than `count`. */
static enum status encode(char *film, char *pictures, int count)
{
    char n[32];
    char listed[PATH_BYTES + 32];
    char pad[] = "pad=ceil(iw/2)*2:ceil(ih/2)*2"; /* the encoder needs even sizes */
    char *ffmpeg[] = {"ffmpeg",    "-y",    "-framerate", "10",      "-i",        pictures,
                      "-vf",       pad,     "-pix_fmt",   "yuv420p", "-frames:v", n,
                      "-loglevel", "error", film,         NULL};
    char *magick[] = {"convert", "-delay", "10", "-loop", "0", listed, film, NULL};
    snprintf(n, sizeof n, "%d", count);
    snprintf(listed, sizeof listed, "%s[0-%d]", pictures, count - 1);
    const bool gif = path_ends_in(film, ".gif");
    if ((gif && runs(magick)) || runs(ffmpeg)) {
        return STATUS_OK;
    }
    return fail(STATUS_FILE, "%s create %s; is it installed? The pictures are %s",
                gif ? "neither ImageMagick nor ffmpeg can" : "ffmpeg cannot", film, pictures);
}

/* A picture per state, all with one range of colours. */
static enum status draw_film(struct plot *plot, const struct scene *scene)
{
    double colors[2] = {INFINITY, -INFINITY};
    double range[2];
    char folder[PATH_BYTES];
    char path[PATH_BYTES];
    int count = 0;
    snprintf(folder, sizeof folder, "%.4000s.pictures", plot->film);
    TRY(directory_make(folder));
    for (int64_t n = 0; n < 2 * scene->frames->count; n++) {
        const int64_t state = n % scene->frames->count;
        const struct frame *frame = &scene->frames->frame[state];
        if (frame->time < plot->from || frame->time > plot->to) {
            continue;
        }
        TRY(read_state(scene, state));
        find_range(scene->values, scene->plane.samples[0] * scene->plane.samples[1], range);
        colors[0] = fmin(colors[0], range[0]);
        colors[1] = fmax(colors[1], range[1]);
        if (n >= scene->frames->count) { /* all colours are known */
            snprintf(path, sizeof path, "%.4070s/%06d.png", folder, count++);
            TRY(draw(plot, scene, frame, colors, path));
        }
    }
    FAIL_IF(count == 0,
            fail(STATUS_INPUT, "%s has no states from --from to --to", scene->frames->path));
    snprintf(path, sizeof path, "%.4070s/%%06d.png", folder);
    TRY(encode((char *)(uintptr_t)plot->film, path, count));
    directory_remove(folder);
    plot_done(plot, plot->film);
    return STATUS_OK;
}

static enum status draw_state(struct plot *plot, const struct scene *scene)
{
    char picture[TITLE_BYTES];
    char path[PATH_BYTES];
    const int64_t state = nearest(scene->frames, plot->time);
    snprintf(picture, sizeof picture, "%.200s_%.200s", scene->name, plot->field);
    TRY(read_state(scene, state));
    TRY(plot_path(plot, picture, path));
    TRY(draw(plot, scene, &scene->frames->frame[state], NULL, path));
    plot_done(plot, path);
    return STATUS_OK;
}

/* The names of materials; the outline of the melt pool. */
static void annotate(const struct plot *plot, struct scene *scene)
{
    const struct settings *settings = plot->settings;
    if (settings == NULL || scene->other != NULL) {
        return;
    }
    for (int m = 0; m < settings->nmaterials && strcmp(plot->field, "material") == 0; m++) {
        scene->names[scene->nnames++] = settings->materials[m].name;
    }
    for (int a = 0; a < settings->nambients && strcmp(plot->field, "material") == 0; a++) {
        scene->names[scene->nnames++] = settings->ambients[a].name;
    }
    if (strcmp(scene->frames->units, "K") == 0) {
        scene->melting = settings_melting(settings) - scene->shift;
    }
}

static enum status plot_frames(struct plot *plot, const char *name, const struct frames *frames,
                               const struct frames *other)
{
    struct scene scene = {
        .name = name, .frames = frames, .other = other, .grid = grid_of(frames), .melting = NAN};
    scene.shift = other == NULL && strcmp(frames->units, "K") == 0 ? plot_celsius(plot) : 0;
    annotate(plot, &scene);
    TRY(choose_plane(plot, &scene.grid, &scene.plane));
    SCOPED_FREE double *values =
        malloc(((size_t)(scene.plane.samples[0] * scene.plane.samples[1]) + 1) * sizeof *values);
    TRY(CHECK_MEMORY(values != NULL, "no memory for a plane"));
    scene.values = values;
    return plot->film != NULL ? draw_film(plot, &scene) : draw_state(plot, &scene);
}

enum status plot_plane(struct plot *plot, const char *name)
{
    const char *const folders[] = {plot->directory, plot->with};
    SCOPED_BY(frames_free) struct frames shown = {.count = 0};
    SCOPED_BY(frames_free) struct frames other = {.count = 0};
    char file[PATH_BYTES];
    char path[PATH_BYTES];
    snprintf(file, sizeof file, "%.200s.vtkhdf", name);
    for (int r = 0; r < (plot->with != NULL ? 2 : 1); r++) {
        TRY(path_join(folders[r], file, path));
        if (!file_exists(path)) {
            return plot_leave_out(plot, name, fail(STATUS_INPUT, "%s does not exist", path));
        }
        TRY(frames_read_alone(path, plot->field, r == 0 ? &shown : &other));
    }
    if (plot->with != NULL && !frames_share_grid(&shown, &other)) {
        return plot_leave_out(
            plot, name,
            fail(STATUS_INPUT, "%s and %s have different grids", shown.path, other.path));
    }
    return plot_frames(plot, name, &shown, plot->with != NULL ? &other : NULL);
}
