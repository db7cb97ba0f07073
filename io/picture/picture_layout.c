#include "io/picture/picture_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    TICK_SPACING_MIN = 30,
    LABEL_SPACING = 24,
    LINE = 24, /* from one text to the next below */
    BAR_GAP = 28,
    BAR_WIDTH = 24,
    KEY_WIDTH = 36, /* length of a line in the legend */
    LEGEND_WIDTH = 360,
    BESIDE = 1 + TICK + TICK_TO_LABEL + 2 * GAP, /* an axis, without its labels */
    CURVE = 0xa11c5c,
};

static const struct picture_style title_style = {20, CAIRO_FONT_WEIGHT_BOLD, DARK};
static const struct picture_style label_style = {16, CAIRO_FONT_WEIGHT_NORMAL, DARK};
static const struct picture_style note_style = {16, CAIRO_FONT_WEIGHT_NORMAL, 0x606068};

/* Marks at first * step, (first + 1) * step ... with step 1, 2 or 5 times a power of ten. */
struct ticks {
    double lower; /* lower end of the axis, in `unit` */
    double upper;
    int pixels;
    double step;
    int64_t first;
    int count;
    char unit[100];
    bool logarithmic;
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

/* `align`: the part of the text to the left of x, 0 to 1; y: its top. "m^2" is shown raised. */
static void add_text(struct picture_layout *layout, cairo_t *cairo,
                     const struct picture_style *style, int x, int y, double align,
                     const char *string)
{
    if (layout->ntexts < PICTURE_MAX_TEXTS) {
        struct picture_text *text = &layout->texts[layout->ntexts++];
        snprintf(text->text, sizeof text->text, "%s", string);
        for (char *at = text->text; (at = strchr(at, '^')) != NULL; at++) {
            if (at[1] == '2' || at[1] == '3') {
                at[0] = '\xc2'; /* in UTF-8 */
                at[1] = at[1] == '2' ? '\xb2' : '\xb3';
            }
        }
        const int width = text_width(cairo, style, text->text);
        text->style = style;
        text->place =
            (struct picture_place){x - (int)lround(align * width), y, width, style->size * 5 / 4};
        text->baseline = y + style->size - 1;
    }
}

/* Write from x to the right margin, truncated where it is too long. */
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

/* The scale for values of up to `most`: the first that they reach, or the last. */
struct scale {
    const char *units; /* the first letters of those that it is for */
    const char *prefix;
    double limit;  /* it is for ranges that reach this */
    double factor; /* for the label */
    bool whole;    /* the prefix is the unit */
};

static struct ticks ticks_of(const struct picture_axis *axis, int pixels)
{
    static const struct scale scales[] = {
        {"m", "k", 1e4, 1e-3, false},
        {"m", "", 1e-2, 1.0, false},
        {"m", "m", 1e-5, 1e3, false},
        {"m", "\u00b5", 1e-8, 1e6, false},
        {"m", "n", 0.0, 1e9, false},
        {"s", "d", 259200.0, 1.0 / 86400.0, true},
        {"s", "h", 10800.0, 1.0 / 3600.0, true},
        {"s", "", 1e-1, 1.0, false},
        {"s", "m", 1e-4, 1e3, false},
        {"s", "\u00b5", 1e-7, 1e6, false},
        {"s", "n", 0.0, 1e9, false},
        {"JW", "G", 2e9, 1e-9, false},
        {"JW", "M", 2e6, 1e-6, false},
        {"JW", "k", 2e3, 1e-3, false},
        {"JW", "", 1e-2, 1.0, false},
        {"JW", "m", 0.0, 1e3, false},
    };
    const double most = fmax(fabs(axis->lower), fabs(axis->upper));
    const bool scaled = strcspn(axis->unit, "/") == 1 && !axis->logarithmic; /* m, J/m^2 */
    struct ticks ticks = {axis->lower, axis->upper, pixels, .logarithmic = axis->logarithmic};
    snprintf(ticks.unit, sizeof ticks.unit, "%.90s", axis->unit);
    for (size_t i = 0; scaled && i < sizeof scales / sizeof scales[0]; i++) {
        if (strchr(scales[i].units, axis->unit[0]) != NULL && most >= scales[i].limit) {
            snprintf(ticks.unit, sizeof ticks.unit, "%s%.90s", scales[i].prefix,
                     scales[i].whole ? "" : axis->unit);
            ticks.lower *= scales[i].factor;
            ticks.upper *= scales[i].factor;
            return ticks;
        }
    }
    return ticks;
}

static void set_step(struct ticks *ticks, int wanted)
{
    ticks->step = picture_round_step((ticks->upper - ticks->lower) / wanted);
    ticks->step = ticks->logarithmic ? fmax(ticks->step, 1.0) : ticks->step;
    ticks->first = (int64_t)ceil(ticks->lower / ticks->step - 1e-9);
    ticks->count = (int)((int64_t)floor(ticks->upper / ticks->step + 1e-9) - ticks->first) + 1;
}

static double tick_value(const struct ticks *ticks, int i)
{
    return (double)(ticks->first + i) * ticks->step;
}

/* The pixel of a tick, counted from the lower end of the axis. */
static int tick_pixel(const struct ticks *ticks, int i)
{
    const double fraction = (tick_value(ticks, i) - ticks->lower) / (ticks->upper - ticks->lower);
    return (int)lround(fraction * (ticks->pixels - 1));
}

/* %g omits trailing zeros, and 12 digits omit rounding errors; 4000000 is 4 M */
static void tick_label(const struct ticks *ticks, int i, char label[PICTURE_TEXT_BYTES])
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T"};
    const double most = fmax(fabs(ticks->lower), fabs(ticks->upper));
    const bool large = !ticks->logarithmic && most >= 1e5 && most < 1e15;
    const int thousands = large ? (int)(log10(most) / 3 + 1e-9) : 0;
    const double value = tick_value(ticks, i);
    snprintf(label, PICTURE_TEXT_BYTES, "%.12g%s",
             ticks->logarithmic ? pow(10, value) : value / pow(1e3, thousands),
             value != 0 ? prefixes[thousands] : "");
}

static void axis_title(const char *name, const struct ticks *ticks, char title[PICTURE_TEXT_BYTES])
{
    const bool plain = ticks->unit[0] == '\0'; /* a number */
    snprintf(title, PICTURE_TEXT_BYTES, "%.140s%s%s%s", name, plain ? "" : " [", ticks->unit,
             plain ? "" : "]");
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
    if (!side_by_side) {
        int wanted = ticks->pixels / TICK_SPACING;
        do { /* closer on a short axis: with one label it has no scale */
            set_step(ticks, wanted > 2 ? wanted : 2);
        } while (ticks->count < 3 && ++wanted <= ticks->pixels / TICK_SPACING_MIN);
        return;
    }
    for (int wanted = ticks->pixels / TICK_SPACING; wanted >= 2; wanted--) {
        set_step(ticks, wanted);
        const double spacing = ticks->step / (ticks->upper - ticks->lower) * ticks->pixels;
        if (widest_label(cairo, ticks) + LABEL_SPACING <= spacing) {
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
    axis_title(name, ticks, text);
    if (edge == BELOW) {
        add_text(layout, cairo, &label_style, place->x + place->width / 2,
                 base + TICK + 2 * TICK_TO_LABEL + LINE, 0.5, text);
    } else {
        add_text(layout, cairo, &label_style, edge == RIGHT ? place->x : GAP, place->y - GAP - LINE,
                 0.0, text);
    }
}

/* The header above the picture and the footer below it. */
static void add_headings(struct picture_layout *layout, cairo_t *cairo, const char *title,
                         const char *note, const char *footer)
{
    const int x = layout->plot.x;
    add_heading(layout, cairo, &title_style, x, 2 * GAP, title);
    add_heading(layout, cairo, &note_style, x, 3 * GAP + LINE - TICK_TO_LABEL, note);
    if (footer[0] != '\0') {
        add_heading(layout, cairo, &note_style, x, layout->height - GAP - LINE, footer);
    }
}

/* The footer: step and place, and the range. */
static void describe(const struct picture_view *view,
                     char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES])
{
    const int n = snprintf(text[0], PICTURE_TEXT_BYTES, "t = %.6g s    step %" PRId64, view->time,
                           view->step);
    if (view->has_plane_at) {
        snprintf(&text[0][n], PICTURE_TEXT_BYTES - (size_t)n, "    %s = %.4g m",
                 axis_name(view->plane_axis), view->plane_at);
    }
    const char *unit = view->unit;
    const char *space = unit[0] != '\0' ? " " : "";
    snprintf(text[1], PICTURE_TEXT_BYTES, "min %.8g%s%s    max %.8g%s%s%s", view->min, space, unit,
             view->max, space, unit, view->more != NULL ? view->more : "");
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

/* The image around a plot with these ticks; `right`: the width to the right of the plot. */
static void place_plot(struct picture_layout *layout, cairo_t *cairo, const int size[2],
                       const struct ticks *across, const struct ticks *up, int right)
{
    /* the margins are as wide as the labels in them need */
    const int overhang = widest_label(cairo, across) / 2 + GAP; /* a label at the end of the axis */
    const int left = (int)fmax(BESIDE + widest_label(cairo, up), overhang);
    const int top = 5 * GAP + 3 * LINE;
    const int wanted = (int)fmax(right, fmax(overhang, 4 * GAP));
    layout->width = left + (int)fmax(size[0] + wanted, HEADER_WIDTH_MIN);
    layout->height = top + size[1] + TICK + 3 * GAP + 3 * LINE;
    layout->plot = (struct picture_place){left, top, size[0], size[1]};
    layout->bar = (struct picture_place){0};
    layout->ntexts = layout->nlines = layout->nkeys = 0;
}

/* A column of names to the right of the plot, so that it hides no curve. */
static const struct picture_place *add_key(struct picture_layout *layout, cairo_t *cairo,
                                           const char *name)
{
    const int x = layout->plot.x + layout->plot.width + 2 * GAP;
    const int y = layout->plot.y + layout->nkeys * (LINE + 2);
    struct picture_place *key = &layout->keys[layout->nkeys++];
    *key = (struct picture_place){x, y, KEY_WIDTH, label_style.size};
    add_heading(layout, cairo, &label_style, x + KEY_WIDTH + GAP, y, name);
    return key;
}

/* Boxes in the colours of the numbers that occur. */
static void add_boxes(struct picture_layout *layout, cairo_t *cairo,
                      const struct picture_view *view)
{
    bool occurs[MOST_MATERIALS] = {false};
    for (int i = 0; i < view->samples[0] * view->samples[1]; i++) {
        const double number = view->values[i];
        if (number >= 0 && number < view->nnames) {
            occurs[(int)number] = true;
        }
    }
    for (int i = 0; i < view->nnames; i++) {
        if (occurs[i] && layout->nkeys < PICTURE_MAX_CURVES) {
            const struct picture_place *key = add_key(layout, cairo, view->names[i]);
            add_line(layout, key->x, key->y, key->width, key->height,
                     colormap_of(view->colormap, i, view->color_range[0], view->color_range[1]));
            add_border(layout, key);
        }
    }
}

/* The width of a column of names. */
static int legend_width(cairo_t *cairo, const char *const *names, int count)
{
    int widest = 0;
    for (int i = 0; i < count; i++) {
        const int width = text_width(cairo, &label_style, names[i]);
        widest = width > widest ? width : widest;
    }
    widest = widest < LEGEND_WIDTH ? widest : LEGEND_WIDTH;
    return widest > 0 ? 2 * GAP + KEY_WIDTH + GAP + widest + 2 * GAP : 0;
}

void picture_layout(cairo_t *cairo, const struct picture_view *view, struct picture_layout *layout)
{
    char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES];
    int size[2];
    struct ticks ticks[2];
    plot_size(view, size);
    for (int d = 0; d < 2; d++) {
        const struct picture_axis axis = {NULL, "m", view->lower[d], view->upper[d], false};
        ticks[d] = ticks_of(&axis, size[d]);
        spread(cairo, &ticks[d], d == 0);
    }
    const struct picture_axis colors = {view->quantity, view->unit, view->color_range[0],
                                        view->color_range[1], false};
    struct ticks marks = ticks_of(&colors, size[1]);
    spread(cairo, &marks, false);
    axis_title(colors.name, &marks, text[0]);
    const int bar = (int)fmax(BAR_WIDTH + BESIDE + widest_label(cairo, &marks),
                              text_width(cairo, &label_style, text[0]) + GAP);
    place_plot(layout, cairo, size, &ticks[0], &ticks[1],
               view->names != NULL ? legend_width(cairo, view->names, view->nnames)
                                   : BAR_GAP + bar);
    describe(view, text);
    if (view->names != NULL) {
        add_boxes(layout, cairo, view);
        const int lowest = layout->plot.y + layout->nkeys * (LINE + 2) + GAP;
        layout->height = lowest > layout->height ? lowest : layout->height;
    }
    add_headings(layout, cairo, view->title, text[0], view->names != NULL ? "" : text[1]);
    add_axis(layout, cairo, &layout->plot, BELOW, axis_name(view->axis[0]), &ticks[0], false);
    add_axis(layout, cairo, &layout->plot, LEFT, axis_name(view->axis[1]), &ticks[1], false);
    add_border(layout, &layout->plot);
    if (view->names == NULL) {
        layout->bar = (struct picture_place){layout->plot.x + size[0] + BAR_GAP, layout->plot.y,
                                             BAR_WIDTH, size[1]};
        add_axis(layout, cairo, &layout->bar, RIGHT, colors.name, &marks, false);
        add_border(layout, &layout->bar);
    }
}

void picture_chart_of(const struct picture_view *view,
                      char text[PICTURE_HEADINGS][PICTURE_TEXT_BYTES], double *x,
                      struct picture_curve *curve, struct picture_chart *chart)
{
    const double spacing = (view->upper[0] - view->lower[0]) / view->samples[0];
    for (int i = 0; i < view->samples[0]; i++) {
        x[i] = view->lower[0] + (i + 0.5) * spacing;
    }
    describe(view, text);
    *curve = (struct picture_curve){NULL, x, view->values, view->samples[0], CURVE, false};
    *chart = (struct picture_chart){
        view->title,
        text[0],
        text[1],
        {{axis_name(view->axis[0]), "m", view->lower[0], view->upper[0], false},
         {view->quantity, view->unit, view->color_range[0], view->color_range[1], false}},
        curve,
        1};
}

void picture_layout_chart(cairo_t *cairo, const struct picture_chart *chart,
                          struct picture_layout *layout)
{
    const int size[2] = {PLOT_LONG_SIDE, CURVE_HEIGHT};
    const int nkeys = chart->ncurves > 1 ? chart->ncurves : 0;
    const char *names[PICTURE_MAX_CURVES];
    struct ticks ticks[2];
    for (int i = 0; i < nkeys; i++) {
        names[i] = chart->curves[i].name;
    }
    for (int d = 0; d < 2; d++) {
        ticks[d] = ticks_of(&chart->axis[d], size[d]);
        spread(cairo, &ticks[d], d == 0);
    }
    place_plot(layout, cairo, size, &ticks[0], &ticks[1], legend_width(cairo, names, nkeys));
    layout->height -= chart->footer[0] == '\0' ? GAP + LINE : 0;
    add_headings(layout, cairo, chart->title, chart->note, chart->footer);
    add_axis(layout, cairo, &layout->plot, BELOW, chart->axis[0].name, &ticks[0], true);
    add_axis(layout, cairo, &layout->plot, LEFT, chart->axis[1].name, &ticks[1], true);
    add_border(layout, &layout->plot);
    for (int i = 0; i < nkeys; i++) {
        add_key(layout, cairo, names[i]);
    }
}
