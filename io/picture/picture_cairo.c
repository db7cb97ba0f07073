/* Drawing with Cairo; picture_none.c replaces it in builds without. */
#include <cairo-svg.h>
#include <cairo.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "io/picture/picture.h"
#include "io/picture/picture_layout.h"

enum { BAR_SAMPLES = 256 };

bool picture_supported(void)
{
    return true;
}

/* Load the fonts with standard error closed: without fonts or a cache fontconfig complains there,
 * although Cairo then uses its own font. */
static void find_fonts(cairo_t *cairo)
{
    static bool found;
    const int null = found ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int saved = null < 0 ? -1 : dup(STDERR_FILENO);
    if (saved >= 0 && dup2(null, STDERR_FILENO) >= 0) {
        cairo_text_extents_t extents;
        cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                               CAIRO_FONT_WEIGHT_NORMAL);
        cairo_text_extents(cairo, "0", &extents);
        dup2(saved, STDERR_FILENO);
    }
    found = true;
    if (saved >= 0) {
        close(saved);
    }
    if (null >= 0) {
        close(null);
    }
}

static cairo_status_t append(void *file, const unsigned char *bytes, unsigned nbytes)
{
    return fwrite(bytes, 1, nbytes, file) == nbytes ? CAIRO_STATUS_SUCCESS
                                                    : CAIRO_STATUS_WRITE_ERROR;
}

/* `svg`: the stream for the image; NULL: draw pixels. */
static cairo_t *canvas_create(int width, int height, FILE *svg)
{
    cairo_surface_t *surface = svg != NULL
                                   ? cairo_svg_surface_create_for_stream(append, svg, width, height)
                                   : cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cairo = cairo_create(surface);
    cairo_surface_destroy(surface); /* lives as long as `cairo` */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cairo, options);
    cairo_font_options_destroy(options);
    cairo_set_source_rgb(cairo, 1.0, 1.0, 1.0);
    cairo_paint(cairo);
    return cairo;
}

static void set_color(cairo_t *cairo, uint32_t color)
{
    cairo_set_source_rgb(cairo, (color >> 16 & 0xFF) / 255.0, (color >> 8 & 0xFF) / 255.0,
                         (color & 0xFF) / 255.0);
}

/* samples[1] rows of values, the lowest first, as rectangles that fill a place. */
static void draw_cells(cairo_t *cairo, const struct picture_view *view, const double *values,
                       const int samples[2], const struct picture_place *place)
{
    /* a pixel each: programs that show SVG would smooth a magnified image */
    cairo_surface_t *cells =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, place->width, place->height);
    unsigned char *row = cairo_image_surface_get_data(cells);
    for (int y = 0; row != NULL && y < place->height; y++) {
        const int64_t up = samples[1] - 1 - (2 * (int64_t)y + 1) * samples[1] / (2 * place->height);
        for (int x = 0; x < place->width; x++) {
            const int64_t p = (2 * (int64_t)x + 1) * samples[0] / (2 * place->width);
            ((uint32_t *)(void *)row)[x] = colormap_of(view->colormap, values[up * samples[0] + p],
                                                       view->color_range[0], view->color_range[1]);
        }
        row += cairo_image_surface_get_stride(cells);
    }
    cairo_surface_mark_dirty(cells);
    cairo_set_source_surface(cairo, cells, place->x, place->y);
    cairo_rectangle(cairo, place->x, place->y, place->width, place->height);
    cairo_fill(cairo);
    cairo_surface_destroy(cells);
}

static void draw_bar(cairo_t *cairo, const struct picture_view *view,
                     const struct picture_place *bar)
{
    double values[BAR_SAMPLES];
    const double low = view->color_range[0];
    for (int i = 0; i < BAR_SAMPLES; i++) {
        values[i] = low + (i + 0.5) / BAR_SAMPLES * (view->color_range[1] - low);
    }
    draw_cells(cairo, view, values, (const int[]){1, BAR_SAMPLES}, bar);
}

/* An isoline: in each square of the centres of four samples from edge to edge, by linear
 * interpolation. */
static void draw_contour(cairo_t *cairo, const struct picture_view *view, double level,
                         const struct picture_place *plot)
{
    static const int corners[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    const int nx = view->samples[0];
    const int ny = view->samples[1];
    for (int i = 0; i < (nx - 1) * (ny - 1); i++) {
        const int at[2] = {i % (nx - 1), i / (nx - 1)};
        int ends = 0;
        for (int e = 0; e < 4; e++) {
            const int *from = corners[e];
            const int *to = corners[e + 1];
            const double a = view->values[(at[1] + from[1]) * nx + at[0] + from[0]] - level;
            const double b = view->values[(at[1] + to[1]) * nx + at[0] + to[0]] - level;
            if ((a < 0) == (b < 0) || !isfinite(a - b)) {
                continue;
            }
            const double part = a / (a - b);
            const double x = at[0] + from[0] + part * (to[0] - from[0]) + 0.5;
            const double y = at[1] + from[1] + part * (to[1] - from[1]) + 0.5;
            (ends++ % 2 == 0 ? cairo_move_to
                             : cairo_line_to)(cairo, plot->x + x * plot->width / nx,
                                              plot->y + plot->height - y * plot->height / ny);
        }
    }
}

/* With their marks on the bar; light lines with dark edges show on every colour. */
static void draw_contours(cairo_t *cairo, const struct picture_view *view,
                          const struct picture_layout *layout)
{
    enum { EDGE = 0x222228, LIGHT = 0xffffff, OUTLINE = 0x40e0ff };
    const double *range = view->color_range;
    const struct picture_place *bar = &layout->bar;
    for (int i = 0; i < view->nlevels; i++) {
        const bool outline = view->outlined && i == view->nlevels - 1;
        const double above = (view->levels[i] - range[0]) / (range[1] - range[0]);
        draw_contour(cairo, view, view->levels[i], &layout->plot);
        if (above >= 0 && above <= 1) {
            cairo_move_to(cairo, bar->x, bar->y + (1 - above) * bar->height);
            cairo_rel_line_to(cairo, bar->width, 0);
        }
        cairo_set_line_cap(cairo, CAIRO_LINE_CAP_BUTT);
        set_color(cairo, EDGE);
        cairo_set_line_width(cairo, outline ? 4.0 : 3.0);
        cairo_stroke_preserve(cairo);
        set_color(cairo, outline ? OUTLINE : LIGHT);
        cairo_set_line_width(cairo, outline ? 2.0 : 1.0);
        cairo_stroke(cairo);
    }
}

/* Draw a curve, with gaps where a value is not finite. */
static void draw_curve(cairo_t *cairo, const struct picture_chart *chart,
                       const struct picture_curve *curve, const struct picture_place *plot)
{
    const struct picture_axis *axis = chart->axis;
    bool joined = false;
    double last[2] = {0, 0};
    for (int64_t i = 0; i < curve->count; i++) {
        const double value = fmin(fmax(curve->y[i], axis[1].lower), axis[1].upper);
        const double x =
            plot->x + (curve->x[i] - axis[0].lower) / (axis[0].upper - axis[0].lower) * plot->width;
        const double y =
            plot->y + (axis[1].upper - value) / (axis[1].upper - axis[1].lower) * plot->height;
        const bool finite = isfinite(curve->y[i]);
        const bool near = joined && i + 1 < curve->count && fabs(x - last[0]) < 0.1 &&
                          fabs(y - last[1]) < 0.1; /* a million rows would make a huge SVG */
        if (finite && !joined) {
            cairo_move_to(cairo, x, y);
        }
        if (finite && !near) {
            cairo_line_to(cairo, x, y); /* a value without neighbours becomes a dot */
            last[0] = x;
            last[1] = y;
        }
        joined = finite;
    }
}

static void stroke(cairo_t *cairo, const struct picture_curve *curve)
{
    const double dashes[] = {9.0, 6.0};
    set_color(cairo, curve->color);
    cairo_set_line_width(cairo, 2.5);
    cairo_set_line_cap(cairo, curve->dashed ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cairo, dashes, curve->dashed ? 2 : 0, 0.0);
    cairo_stroke(cairo);
}

static void draw_curves(cairo_t *cairo, const struct picture_chart *chart,
                        const struct picture_layout *layout)
{
    for (int i = 0; i < chart->ncurves; i++) {
        draw_curve(cairo, chart, &chart->curves[i], &layout->plot);
        stroke(cairo, &chart->curves[i]);
    }
    for (int i = 0; i < layout->nkeys; i++) {
        const struct picture_place *key = &layout->keys[i];
        cairo_move_to(cairo, key->x, key->y + key->height / 2.0 + 1);
        cairo_rel_line_to(cairo, key->width, 0);
        stroke(cairo, &chart->curves[i]);
    }
}

/* Either `view`, a plane, or `chart` is NULL. */
static void draw(cairo_t *cairo, const struct picture_view *view, const struct picture_chart *chart,
                 const struct picture_layout *layout)
{
    for (int i = 0; i < layout->nlines; i++) {
        const struct picture_place *place = &layout->lines[i].place;
        set_color(cairo, layout->lines[i].color);
        cairo_rectangle(cairo, place->x, place->y, place->width, place->height);
        cairo_fill(cairo);
    }
    if (chart != NULL) {
        draw_curves(cairo, chart, layout);
    } else {
        draw_cells(cairo, view, view->values, view->samples, &layout->plot);
        if (layout->bar.width > 0) {
            draw_bar(cairo, view, &layout->bar);
        }
        draw_contours(cairo, view, layout);
    }
    for (int i = 0; i < layout->ntexts; i++) {
        const struct picture_text *text = &layout->texts[i];
        set_color(cairo, text->style->color);
        picture_font(cairo, text->style);
        cairo_move_to(cairo, text->place.x, text->baseline);
        cairo_show_text(cairo, text->text);
    }
}

static enum status draw_file(const struct picture_view *view, const struct picture_chart *chart,
                             const char *path)
{
    struct picture_layout layout;
    SCOPED_FREE char *bytes = NULL;
    size_t nbytes = 0;
    const char *dot = strrchr(path, '.');
    const bool svg = dot != NULL && strcmp(dot, ".svg") == 0;
    FILE *file = open_memstream(&bytes, &nbytes);
    TRY(CHECK_MEMORY(file != NULL, "no memory for %s", path));
    cairo_t *measure = canvas_create(1, 1, NULL);
    find_fonts(measure);
    if (chart != NULL) {
        picture_layout_chart(measure, chart, &layout);
    } else {
        picture_layout(measure, view, &layout);
    }
    cairo_destroy(measure);
    cairo_t *cairo = canvas_create(layout.width, layout.height, svg ? file : NULL);
    draw(cairo, view, chart, &layout);
    cairo_status_t drawn = cairo_status(cairo);
    if (drawn == CAIRO_STATUS_SUCCESS && !svg) {
        drawn = cairo_surface_write_to_png_stream(cairo_get_target(cairo), append, file);
    } else if (drawn == CAIRO_STATUS_SUCCESS) {
        cairo_surface_finish(cairo_get_target(cairo));
        drawn = cairo_surface_status(cairo_get_target(cairo));
    }
    cairo_destroy(cairo);
    return fclose(file) != 0 || drawn != CAIRO_STATUS_SUCCESS
               ? fail(STATUS_MEMORY, "cannot draw %s: %s", path, cairo_status_to_string(drawn))
               : file_replace(path, bytes, nbytes);
}

enum status picture_draw_chart(const struct picture_chart *chart, const char *path)
{
    return draw_file(NULL, chart, path);
}

enum status picture_draw(const struct picture_view *view, const char *path)
{
    if (view->samples[1] > 1) {
        return draw_file(view, NULL, path);
    }
    char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES];
    double x[PICTURE_MAX_SAMPLES];
    struct picture_curve curve;
    struct picture_chart chart;
    picture_chart_of(view, text, x, &curve, &chart);
    return draw_file(NULL, &chart, path);
}
