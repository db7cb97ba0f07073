#include "io/picture/picture_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    DARK = 0x222228,
    GRID = 0xe0e0e4,
    PLOT_LONG_SIDE = 800,
    PLOT_SHORT_SIDE_MIN = 160,
    CURVE_HEIGHT = 480,
    HEADER_WIDTH_MIN = 520, /* so that title and step stay readable above a narrow plane */
    GAP = 10,
    TICK = 6,
    TICK_TO_LABEL = 4,
    TICK_SPACING = 50,
    LABEL_SPACING = 24,
    LINE = 24, /* from one text to the next below */
    BAR_GAP = 28,
    BAR_WIDTH = 24,
};

static const struct picture_style title_style = {20, CAIRO_FONT_WEIGHT_BOLD, DARK};
static const struct picture_style label_style = {16, CAIRO_FONT_WEIGHT_NORMAL, DARK};
static const struct picture_style note_style = {16, CAIRO_FONT_WEIGHT_NORMAL, 0x606068};

/* Marks at first * step, (first + 1) * step ... with step 1, 2 or 5 times a power of ten. */
struct ticks {
    double lower; /* of the axis, in `unit` */
    double upper;
    int pixels;
    double step;
    int64_t first;
    int count;
    const char *unit;
};

enum edge { BELOW, LEFT, RIGHT };

/* ---- texts ----------------------------------------------------------------------------------- */

void picture_font(cairo_t *cairo, const struct picture_style *style)
{
    cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL, style->weight);
    cairo_set_font_size(cairo, style->size);
}

static int text_width(cairo_t *cairo, const struct picture_style *style, const char *text)
{
    cairo_text_extents_t extents;
    picture_font(cairo, style);
    cairo_text_extents(cairo, text, &extents);
    return (int)ceil(extents.x_advance);
}

/* `align`: the part of the text to the left of x, 0 to 1; y: its top. */
static void add_text(struct picture_layout *layout, cairo_t *cairo,
                     const struct picture_style *style, int x, int y, double align,
                     const char *string)
{
    if (layout->ntexts < PICTURE_MAX_TEXTS) {
        struct picture_text *text = &layout->texts[layout->ntexts++];
        const int width = text_width(cairo, style, string);
        snprintf(text->text, sizeof text->text, "%s", string);
        text->style = style;
        text->place =
            (struct picture_place){x - (int)lround(align * width), y, width, style->size * 5 / 4};
        text->baseline = y + style->size - 1;
    }
}

/* From x to the right margin, truncated where it is too long. */
static void add_heading(struct picture_layout *layout, cairo_t *cairo,
                        const struct picture_style *style, int x, int y, const char *string)
{
    static const char ellipsis[] = "\u2026";
    char text[PICTURE_TEXT_BYTES];
    size_t n = 0;
    for (; string[n] != '\0' && n < sizeof text - sizeof ellipsis; n++) {
        /* no tabs and ends of lines */
        text[n] = (unsigned char)string[n] < ' ' ? (char)' ' : string[n];
    }
    snprintf(&text[n], sizeof text - n, "%s", string[n] != '\0' ? ellipsis : "");
    while (n > 0 && text_width(cairo, style, text) > layout->width - GAP - x) {
        do { /* whole characters of UTF-8 */
            n--;
        } while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80);
        snprintf(&text[n], sizeof text - n, "%s", ellipsis);
    }
    add_text(layout, cairo, style, x, y, 0.0, text);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

static struct ticks ticks_of_length(double lower, double upper, int pixels)
{
    static const struct {
        const char *unit;
        double limit; /* for lengths of this many m and more */
        double per_metre;
    } prefixes[] = {{"km", 1e4, 1e-3},
                    {"m", 1e-2, 1.0},
                    {"mm", 1e-5, 1e3},
                    {"\u00b5m", 1e-8, 1e6},
                    {"nm", 0.0, 1e9}};
    int i = 0;
    while (fmax(fabs(lower), fabs(upper)) < prefixes[i].limit) {
        i++;
    }
    return (struct ticks){.lower = lower * prefixes[i].per_metre,
                          .upper = upper * prefixes[i].per_metre,
                          .pixels = pixels,
                          .unit = prefixes[i].unit};
}

static void set_step(struct ticks *ticks, int wanted)
{
    const double least = (ticks->upper - ticks->lower) / wanted;
    const double power = pow(10.0, floor(log10(least)));
    const double factor = least / power / (1.0 + 1e-9); /* a rounding error above 2 is still 2 */
    ticks->step = power * (factor <= 1.0 ? 1.0 : factor <= 2.0 ? 2.0 : factor <= 5.0 ? 5.0 : 10.0);
    ticks->first = (int64_t)ceil(ticks->lower / ticks->step - 1e-9);
    ticks->count = (int)((int64_t)floor(ticks->upper / ticks->step + 1e-9) - ticks->first) + 1;
}

static double tick_value(const struct ticks *ticks, int i)
{
    return (double)(ticks->first + i) * ticks->step;
}

/* Counted from the axis's lower end. */
static int tick_pixel(const struct ticks *ticks, int i)
{
    const double fraction = (tick_value(ticks, i) - ticks->lower) / (ticks->upper - ticks->lower);
    return (int)lround(fraction * (ticks->pixels - 1));
}

/* %g prints no more digits than needed, 12 leave rounding errors out */
static void tick_label(const struct ticks *ticks, int i, char label[PICTURE_TEXT_BYTES])
{
    snprintf(label, PICTURE_TEXT_BYTES, "%.12g", tick_value(ticks, i));
}

static int widest_label(cairo_t *cairo, const struct ticks *ticks)
{
    int widest = 0;
    for (int i = 0; i < ticks->count; i++) {
        char label[PICTURE_TEXT_BYTES];
        tick_label(ticks, i, label);
        const int width = text_width(cairo, &label_style, label);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* As many ticks as have room for their labels; side by side it may be one. */
static void spread(cairo_t *cairo, struct ticks *ticks, bool side_by_side)
{
    for (int wanted = ticks->pixels / TICK_SPACING; wanted >= 2; wanted--) {
        set_step(ticks, wanted);
        const double spacing = ticks->step / (ticks->upper - ticks->lower) * ticks->pixels;
        if (!side_by_side || widest_label(cairo, ticks) + LABEL_SPACING <= spacing) {
            return;
        }
    }
    ticks->count = ticks->count > 1 ? 1 : ticks->count;
}

/* ---- the parts of a picture ------------------------------------------------------------------ */

static void add_line(struct picture_layout *layout, int x, int y, int width, int height,
                     uint32_t color)
{
    if (layout->nlines < PICTURE_MAX_LINES) {
        layout->lines[layout->nlines++] = (struct picture_line){{x, y, width, height}, color};
    }
}

static void add_border(struct picture_layout *layout, const struct picture_place *around)
{
    add_line(layout, around->x - 1, around->y - 1, around->width + 2, 1, DARK);
    add_line(layout, around->x - 1, around->y + around->height, around->width + 2, 1, DARK);
    add_line(layout, around->x - 1, around->y, 1, around->height, DARK);
    add_line(layout, around->x + around->width, around->y, 1, around->height, DARK);
}

/* Ticks, labels and the name, at an edge of `place`; lines through it for a curve. */
static void add_axis(struct picture_layout *layout, cairo_t *cairo,
                     const struct picture_place *place, enum edge edge, const char *name,
                     const struct ticks *ticks, bool grid)
{
    const int base = place->y + place->height;
    const int tick_x = edge == RIGHT ? place->x + place->width + 1 : place->x - 1 - TICK;
    char text[PICTURE_TEXT_BYTES];
    for (int i = 0; i < ticks->count; i++) {
        tick_label(ticks, i, text);
        if (edge == BELOW) {
            const int x = place->x + tick_pixel(ticks, i);
            add_line(layout, x, base + 1, 1, TICK, DARK);
            if (grid) {
                add_line(layout, x, place->y, 1, place->height, GRID);
            }
            add_text(layout, cairo, &label_style, x, base + TICK + 2 * TICK_TO_LABEL, 0.5, text);
        } else {
            const int y = base - 1 - tick_pixel(ticks, i);
            const int x = edge == RIGHT ? tick_x + TICK + TICK_TO_LABEL : tick_x - TICK_TO_LABEL;
            add_line(layout, tick_x, y, TICK, 1, DARK);
            if (grid) {
                add_line(layout, place->x, y, place->width, 1, GRID);
            }
            /* the middle of the digits at the tick */
            add_text(layout, cairo, &label_style, x, y - label_style.size * 9 / 16,
                     edge == RIGHT ? 0.0 : 1.0, text);
        }
    }
    snprintf(text, sizeof text, "%s [%s]", name, ticks->unit);
    if (edge == BELOW) {
        add_text(layout, cairo, &label_style, place->x + place->width / 2,
                 base + TICK + 2 * TICK_TO_LABEL + LINE, 0.5, text);
    } else {
        add_text(layout, cairo, &label_style, edge == RIGHT ? place->x : GAP, place->y - GAP - LINE,
                 0.0, text);
    }
}

/* Title, step and place above the picture, the range below. */
static void add_headings(struct picture_layout *layout, cairo_t *cairo,
                         const struct picture_view *view)
{
    const int x = layout->plot.x;
    char text[PICTURE_TEXT_BYTES];
    add_heading(layout, cairo, &title_style, x, 2 * GAP, view->title);
    const int n =
        snprintf(text, sizeof text, "t = %.6g s    step %" PRId64, view->time, view->step);
    if (view->has_plane_at) {
        snprintf(&text[n], sizeof text - (size_t)n, "    %s = %.4g m", axis_name(view->plane_axis),
                 view->plane_at);
    }
    add_heading(layout, cairo, &note_style, x, 3 * GAP + LINE - TICK_TO_LABEL, text);
    snprintf(text, sizeof text, "min %.8g K    max %.8g K", view->min, view->max);
    add_heading(layout, cairo, &note_style, x, layout->height - GAP - LINE, text);
}

/* Small grids are magnified by an integer, so that all cells have the same size. */
static void plot_size(const struct picture_view *view, int size[2])
{
    const double length[2] = {view->upper[0] - view->lower[0], view->upper[1] - view->lower[1]};
    const int longer = length[1] > length[0];
    const int n = view->samples[longer];
    const int magnify = (PLOT_LONG_SIDE + n / 2) / n;
    size[longer] = n * (magnify > 1 ? magnify : 1);
    const double other = size[longer] * length[!longer] / length[longer];
    size[!longer] = (int)fmax(round(other), PLOT_SHORT_SIDE_MIN);
}

void picture_layout(cairo_t *cairo, const struct picture_view *view, struct picture_layout *layout)
{
    const bool curve = view->samples[1] == 1;
    int size[2] = {PLOT_LONG_SIDE, CURVE_HEIGHT};
    if (!curve) {
        plot_size(view, size);
    }
    struct ticks across = ticks_of_length(view->lower[0], view->upper[0], size[0]);
    struct ticks kelvins = {view->color_range[0], view->color_range[1], size[1], .unit = "K"};
    struct ticks up = curve ? kelvins : ticks_of_length(view->lower[1], view->upper[1], size[1]);
    spread(cairo, &across, true);
    spread(cairo, &kelvins, false);
    spread(cairo, &up, false);

    /* the margins are as wide as the labels in them need */
    const int beside = 1 + TICK + TICK_TO_LABEL + 2 * GAP;
    const int overhang = widest_label(cairo, &across) / 2 + GAP; /* of a label at the axis's end */
    const int bar = curve ? 0 : BAR_GAP + BAR_WIDTH + beside + widest_label(cairo, &kelvins);
    const int left = (int)fmax(beside + widest_label(cairo, &up), overhang);
    const int right = (int)fmax(size[0] + fmax(bar, fmax(overhang, 4 * GAP)), HEADER_WIDTH_MIN);
    const int top = 5 * GAP + 3 * LINE;
    layout->width = left + right;
    layout->height = top + size[1] + TICK + 3 * GAP + 3 * LINE;
    layout->plot = (struct picture_place){left, top, size[0], size[1]};
    layout->bar = (struct picture_place){left + size[0] + BAR_GAP, top, BAR_WIDTH, size[1]};
    layout->ntexts = layout->nlines = 0;

    add_headings(layout, cairo, view);
    add_axis(layout, cairo, &layout->plot, BELOW, axis_name(view->axis[0]), &across, curve);
    add_axis(layout, cairo, &layout->plot, LEFT, curve ? "T" : axis_name(view->axis[1]), &up,
             curve);
    add_border(layout, &layout->plot);
    if (curve) {
        layout->bar = (struct picture_place){0};
        return;
    }
    add_axis(layout, cairo, &layout->bar, RIGHT, "T", &kelvins, false);
    add_border(layout, &layout->bar);
}
