/* Drawing with Cairo; picture_none.c replaces it in builds without. */
#include <cairo.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "io/picture/colormap.h"
#include "io/picture/picture.h"
#include "io/picture/picture_layout.h"

enum { CURVE = 0xa11c5c, BAR_SAMPLES = 256 };

bool picture_supported(void)
{
    return true;
}

/* Load the fonts with standard error closed: fontconfig complains there when it finds no fonts or
 * no cache, although Cairo then uses a font of its own. */
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

static cairo_t *canvas_create(int width, int height)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
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
    cairo_surface_t *cells = cairo_image_surface_create(CAIRO_FORMAT_RGB24, samples[0], samples[1]);
    unsigned char *row = cairo_image_surface_get_data(cells);
    for (int up = samples[1] - 1; row != NULL && up >= 0; up--) {
        for (int p = 0; p < samples[0]; p++) {
            ((uint32_t *)(void *)row)[p] =
                colormap_of(view->colormap, values[(int64_t)up * samples[0] + p],
                            view->color_range[0], view->color_range[1]);
        }
        row += cairo_image_surface_get_stride(cells);
    }
    cairo_surface_mark_dirty(cells);
    cairo_save(cairo);
    cairo_rectangle(cairo, place->x, place->y, place->width, place->height);
    cairo_translate(cairo, place->x, place->y);
    cairo_scale(cairo, (double)place->width / samples[0], (double)place->height / samples[1]);
    cairo_set_source_surface(cairo, cells, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
    cairo_fill(cairo);
    cairo_restore(cairo);
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

/* With gaps where a value is not finite. */
static void draw_curve(cairo_t *cairo, const struct picture_view *view,
                       const struct picture_place *plot)
{
    const double low = view->color_range[0];
    const double high = view->color_range[1];
    bool joined = false;
    for (int i = 0; i < view->samples[0]; i++) {
        const double value = fmin(fmax(view->values[i], low), high);
        const double x = plot->x + (i + 0.5) * plot->width / view->samples[0];
        const double y = plot->y + (high - value) / (high - low) * plot->height;
        const bool finite = isfinite(view->values[i]);
        if (finite && !joined) {
            cairo_move_to(cairo, x, y);
        }
        if (finite) {
            cairo_line_to(cairo, x, y); /* a value without neighbours becomes a dot */
        }
        joined = finite;
    }
    set_color(cairo, CURVE);
    cairo_set_line_width(cairo, 2.5);
    cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(cairo);
}

static void draw(cairo_t *cairo, const struct picture_view *view,
                 const struct picture_layout *layout)
{
    for (int i = 0; i < layout->nlines; i++) {
        const struct picture_place *place = &layout->lines[i].place;
        set_color(cairo, layout->lines[i].color);
        cairo_rectangle(cairo, place->x, place->y, place->width, place->height);
        cairo_fill(cairo);
    }
    if (layout->bar.width > 0) {
        draw_cells(cairo, view, view->values, view->samples, &layout->plot);
        draw_bar(cairo, view, &layout->bar);
    } else {
        draw_curve(cairo, view, &layout->plot);
    }
    for (int i = 0; i < layout->ntexts; i++) {
        const struct picture_text *text = &layout->texts[i];
        set_color(cairo, text->style->color);
        picture_font(cairo, text->style);
        cairo_move_to(cairo, text->place.x, text->baseline);
        cairo_show_text(cairo, text->text);
    }
}

static cairo_status_t append(void *file, const unsigned char *bytes, unsigned nbytes)
{
    return fwrite(bytes, 1, nbytes, file) == nbytes ? CAIRO_STATUS_SUCCESS
                                                    : CAIRO_STATUS_WRITE_ERROR;
}

static enum status write_png(cairo_t *cairo, const char *path)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    FILE *file = open_memstream(&bytes, &nbytes);
    TRY(CHECK_MEMORY(file != NULL, "no memory for %s", path));
    cairo_status_t drawn = cairo_status(cairo);
    if (drawn == CAIRO_STATUS_SUCCESS) {
        drawn = cairo_surface_write_to_png_stream(cairo_get_target(cairo), append, file);
    }
    const enum status status =
        fclose(file) != 0 || drawn != CAIRO_STATUS_SUCCESS
            ? fail(STATUS_MEMORY, "cannot draw %s: %s", path, cairo_status_to_string(drawn))
            : file_replace(path, bytes, nbytes);
    free(bytes);
    return status;
}

enum status picture_draw(const struct picture_view *view, const char *path)
{
    struct picture_layout layout;
    cairo_t *measure = canvas_create(1, 1);
    find_fonts(measure);
    picture_layout(measure, view, &layout);
    cairo_destroy(measure);
    cairo_t *cairo = canvas_create(layout.width, layout.height);
    draw(cairo, view, &layout);
    const enum status status = write_png(cairo, path);
    cairo_destroy(cairo);
    return status;
}
