#include "io/picture/picture_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/picture/picture_ticks.h"

static const struct color DARK = {34, 34, 40};
static const struct color MUTED = {96, 96, 104};
static const struct color GRID = {224, 224, 228};
static const struct color CURVE = {161, 28, 92}; /* a middle tone of the colour map */

enum {
    PLOT_LONG_SIDE = 800,
    PLOT_SHORT_SIDE_MIN = 160,
    CURVE_HEIGHT = 480,
    GAP = 10,
    TICK = 6,
    BAR_GAP = 28,
    BAR_WIDTH = 24,
    LABEL_BYTES = 32,
    LINE_BYTES = 160,
};

static bool is_curve(const struct picture_view *view)
{
    return view->samples[1] == 1;
}

static int line_height(void)
{
    return canvas_text_height() + GAP;
}

/* Small grids are magnified by a whole number, so that all cells look equally large. */
static void plot_size(const struct picture_view *view, int size[2])
{
    if (is_curve(view)) {
        size[0] = PLOT_LONG_SIDE;
        size[1] = CURVE_HEIGHT;
        return;
    }
    const double length[2] = {view->upper[0] - view->lower[0], view->upper[1] - view->lower[1]};
    const int longer = length[1] > length[0];
    const int n = view->samples[longer];
    const int magnify = (PLOT_LONG_SIDE + n / 2) / n;
    size[longer] = n * (magnify > 1 ? magnify : 1);
    const double other = size[longer] * length[!longer] / length[longer];
    size[!longer] = (int)fmax(round(other), PLOT_SHORT_SIDE_MIN);
}

/* The ticks of the axis to the right or up, in pixels of the plot. */
static struct ticks axis_ticks(const struct picture_view *view, int direction, int pixels)
{
    if (direction == 1 && is_curve(view)) {
        return ticks_choose(view->color_range[0], view->color_range[1], pixels / 70, "K");
    }
    return ticks_choose(view->lower[direction], view->upper[direction],
                        pixels / (direction == 0 ? 130 : 50), "m");
}

static struct ticks bar_ticks(const struct picture_view *view, int pixels)
{
    return ticks_choose(view->color_range[0], view->color_range[1], pixels / 50, "K");
}

static int label_width_max(const struct ticks *ticks)
{
    int widest = 0;
    for (int i = 0; i < ticks->count; i++) {
        char label[LABEL_BYTES];
        ticks_label(ticks, i, label, sizeof label);
        const int width = canvas_text_width(label);
        widest = width > widest ? width : widest;
    }
    return widest;
}

struct picture_frame picture_frame_of(const struct picture_view *view)
{
    int size[2];
    plot_size(view, size);
    const struct ticks up = axis_ticks(view, 1, size[1]);
    struct picture_frame frame = {.width = size[0], .height = size[1]};
    frame.left = 2 * GAP + label_width_max(&up) + TICK + 4;
    /* title, subtitle, and the names of the upward axis and the bar */
    frame.top = 3 * GAP + 3 * line_height();
    int right = 4 * GAP;
    if (!is_curve(view)) {
        const struct ticks bar = bar_ticks(view, size[1]);
        right = BAR_GAP + BAR_WIDTH + TICK + 4 + label_width_max(&bar) + 2 * GAP;
    }
    frame.image_width = frame.left + size[0] + right;
    /* so that title and step stay readable above a narrow plane */
    frame.image_width = frame.image_width > 520 ? frame.image_width : 520;
    frame.image_height = frame.top + size[1] + TICK + 2 * GAP + 3 * line_height();
    return frame;
}

/* Cut with "..." where it is too long; a UTF-8 character counts as one. */
static void fit_text(const char *text, int pixels, char *line, size_t bytes)
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < bytes; text++) {
        const unsigned char byte = (unsigned char)*text;
        if ((byte & 0xC0) != 0x80) {
            line[n++] = (char)(byte >= 0x80 ? '?' : byte);
        }
    }
    line[n] = '\0';
    while (canvas_text_width(line) > pixels && n > 4) {
        n--;
        memcpy(&line[n - 3], "...", 4);
    }
}

static void draw_header(struct canvas *canvas, const struct picture_view *view,
                        const struct picture_frame *frame)
{
    const int room = frame->image_width - frame->left - GAP;
    char line[LINE_BYTES];
    fit_text(view->title, room, line, sizeof line);
    /* twice, a pixel apart: bold */
    canvas_text(canvas, frame->left, 2 * GAP, line, DARK);
    canvas_text(canvas, frame->left + 1, 2 * GAP, line, DARK);

    char plane[48] = "";
    if (view->has_plane_at) {
        snprintf(plane, sizeof plane, "   %s = %.4g m", axis_name(view->plane_axis),
                 view->plane_at);
    }
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "t = %.6g s   step %lld%s", view->time, (long long)view->step,
             plane);
    fit_text(text, room, line, sizeof line);
    canvas_text(canvas, frame->left, 2 * GAP + line_height(), line, MUTED);
}

static void draw_footer(struct canvas *canvas, const struct picture_view *view,
                        const struct picture_frame *frame)
{
    char text[LINE_BYTES];
    char line[LINE_BYTES];
    snprintf(text, sizeof text, "min %.6g K   max %.6g K", view->min, view->max);
    fit_text(text, frame->image_width - frame->left - GAP, line, sizeof line);
    canvas_text(canvas, frame->left, frame->image_height - GAP - line_height(), line, MUTED);
}

static void draw_border(struct canvas *canvas, int x, int y, int width, int height)
{
    canvas_rectangle(canvas, x - 1, y - 1, width + 2, 1, DARK);
    canvas_rectangle(canvas, x - 1, y + height, width + 2, 1, DARK);
    canvas_rectangle(canvas, x - 1, y, 1, height, DARK);
    canvas_rectangle(canvas, x + width, y, 1, height, DARK);
}

/* The pixel of a tick, counted from the axis's lower end. */
static int tick_pixel(const struct ticks *ticks, int i, int pixels)
{
    const int at = (int)lround(ticks_fraction(ticks, i) * pixels);
    return at < pixels ? at : pixels - 1;
}

static void draw_axis_across(struct canvas *canvas, const struct picture_view *view,
                             const struct picture_frame *frame)
{
    const struct ticks ticks = axis_ticks(view, 0, frame->width);
    const int base = frame->top + frame->height;
    char label[LABEL_BYTES];
    for (int i = 0; i < ticks.count; i++) {
        const int x = frame->left + tick_pixel(&ticks, i, frame->width);
        if (is_curve(view)) {
            canvas_rectangle(canvas, x, frame->top, 1, frame->height, GRID);
        }
        canvas_rectangle(canvas, x, base + 1, 1, TICK, DARK);
        ticks_label(&ticks, i, label, sizeof label);
        canvas_text(canvas, x - canvas_text_width(label) / 2, base + TICK + 6, label, DARK);
    }
    snprintf(label, sizeof label, "%s [%s]", axis_name(view->axis[0]), ticks.unit);
    canvas_text(canvas, frame->left + (frame->width - canvas_text_width(label)) / 2,
                base + TICK + 6 + line_height(), label, DARK);
}

static void draw_axis_up(struct canvas *canvas, const struct picture_view *view,
                         const struct picture_frame *frame)
{
    const struct ticks ticks = axis_ticks(view, 1, frame->height);
    char label[LABEL_BYTES];
    for (int i = 0; i < ticks.count; i++) {
        const int y = frame->top + frame->height - 1 - tick_pixel(&ticks, i, frame->height);
        if (is_curve(view)) {
            canvas_rectangle(canvas, frame->left, y, frame->width, 1, GRID);
        }
        canvas_rectangle(canvas, frame->left - 1 - TICK, y, TICK, 1, DARK);
        ticks_label(&ticks, i, label, sizeof label);
        canvas_text(canvas, frame->left - TICK - 6 - canvas_text_width(label),
                    y - canvas_text_height() / 2, label, DARK);
    }
    const char *name = is_curve(view) ? "T" : axis_name(view->axis[1]);
    snprintf(label, sizeof label, "%s [%s]", name, ticks.unit);
    const int right = frame->left - TICK - 6;
    const int x = right - canvas_text_width(label);
    canvas_text(canvas, x > GAP ? x : GAP, frame->top - line_height() - 4, label, DARK);
}

static void draw_bar(struct canvas *canvas, const struct picture_view *view,
                     const struct picture_frame *frame)
{
    const int x = frame->left + frame->width + BAR_GAP;
    for (int row = 0; row < frame->height; row++) {
        const int entry = (2 * row + 1) * COLORMAP_SIZE / (2 * frame->height);
        canvas_rectangle(canvas, x, frame->top + frame->height - 1 - row, BAR_WIDTH, 1,
                         colormap_inferno[entry]);
    }
    draw_border(canvas, x, frame->top, BAR_WIDTH, frame->height);

    const struct ticks ticks = bar_ticks(view, frame->height);
    char label[LABEL_BYTES];
    for (int i = 0; i < ticks.count; i++) {
        const int y = frame->top + frame->height - 1 - tick_pixel(&ticks, i, frame->height);
        canvas_rectangle(canvas, x + BAR_WIDTH + 1, y, TICK, 1, DARK);
        ticks_label(&ticks, i, label, sizeof label);
        canvas_text(canvas, x + BAR_WIDTH + TICK + 6, y - canvas_text_height() / 2, label, DARK);
    }
    snprintf(label, sizeof label, "T [%s]", ticks.unit);
    canvas_text(canvas, x, frame->top - line_height() - 4, label, DARK);
}

static void draw_cells(struct canvas *canvas, const struct picture_view *view,
                       const struct picture_frame *frame)
{
    for (int y = 0; y < frame->height; y++) {
        /* y upward */
        const int64_t row = (int64_t)(frame->height - 1 - y) * view->samples[1] / frame->height;
        for (int x = 0; x < frame->width; x++) {
            const int64_t column = (int64_t)x * view->samples[0] / frame->width;
            const double value = view->values[row * view->samples[0] + column];
            canvas_set(canvas, frame->left + x, frame->top + y,
                       colormap_of(value, view->color_range[0], view->color_range[1]));
        }
    }
}

/* A gap where a value is not finite: each run of finite values is a line of its own. */
static enum status draw_curve(struct canvas *canvas, const struct picture_view *view,
                              const struct picture_frame *frame)
{
    const double low = view->color_range[0];
    const double high = view->color_range[1];
    double points[PICTURE_MAX_SAMPLES][2];
    int n = 0;
    for (int i = 0; i <= view->samples[0]; i++) {
        const bool good = i < view->samples[0] && isfinite(view->values[i]);
        if (good) {
            const double value = fmin(fmax(view->values[i], low), high);
            const double up = (value - low) / (high - low) * frame->height;
            points[n][0] = frame->left + (i + 0.5) * frame->width / view->samples[0];
            points[n][1] = frame->top + frame->height - up;
            n++;
        } else if (n > 0) {
            TRY(canvas_polyline(canvas, points, n, 2.5, CURVE));
            n = 0;
        }
    }
    return STATUS_OK;
}

enum status picture_draw(const struct picture_view *view, struct canvas *canvas)
{
    const struct picture_frame frame = picture_frame_of(view);
    struct canvas fresh = {0};
    TRY(canvas_create(frame.image_width, frame.image_height, &fresh));
    draw_header(&fresh, view, &frame);
    draw_footer(&fresh, view, &frame);
    draw_axis_across(&fresh, view, &frame);
    draw_axis_up(&fresh, view, &frame);
    enum status status = STATUS_OK;
    if (is_curve(view)) {
        status = draw_curve(&fresh, view, &frame);
    } else {
        draw_cells(&fresh, view, &frame);
        draw_bar(&fresh, view, &frame);
    }
    draw_border(&fresh, frame.left, frame.top, frame.width, frame.height);
    if (status != STATUS_OK) {
        canvas_destroy(&fresh);
        return status;
    }
    *canvas = fresh;
    return STATUS_OK;
}
