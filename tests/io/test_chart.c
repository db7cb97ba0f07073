/* Charts: curves where their points are, in their colours, beside a legend that hides none. */
#include "picture_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/picture/picture.h"

enum { POINTS = 5 };

static const double x_values[POINTS] = {0, 25, 50, 75, 100};

/* Curve i runs from i to i + 1; names of all lengths. */
static struct picture_chart chart_of(int ncurves, const char *unit, double scale,
                                     struct picture_curve curves[PICTURE_MAX_CURVES])
{
    static double y[PICTURE_MAX_CURVES][POINTS];
    static char names[PICTURE_MAX_CURVES][400];
    for (int i = 0; i < ncurves; i++) {
        for (int p = 0; p < POINTS; p++) {
            y[i][p] = scale * (i + 0.25 * p);
        }
        memset(names[i], 'w', sizeof names[i] - 1);
        names[i][20 * i] = '\0';
        curves[i] = (struct picture_curve){names[i], x_values, y[i], POINTS, 0, i % 2 == 1};
        curves[i].color = picture_curve_color(i);
    }
    return (struct picture_chart){
        "a title", "a note",
        "",        {{"t", "s", 0, 100, false}, {"quantity", unit, 0, scale * ncurves, false}},
        curves,    ncurves};
}

static bool apart(const struct picture_place *a, const struct picture_place *b)
{
    return a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y ||
           b->y + b->height <= a->y;
}

TEST(test_nothing_touches)
{
    static const char *const units[] = {"K", "J", "W", "m"};
    static struct picture_layout layout;
    struct picture_curve curves[PICTURE_MAX_CURVES];
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cairo = cairo_create(surface);
    for (int i = 0; i < 4 * PICTURE_MAX_CURVES; i++) {
        const int count = i / 4 + 1;
        const double scale = pow(10.0, i % 19 - 9);
        const struct picture_chart chart = chart_of(count, units[i % 4], scale, curves);
        picture_layout_chart(cairo, &chart, &layout);
        assert_int_equal(layout.nkeys, count > 1 ? count : 0);
        assert_true(layout.ntexts < PICTURE_MAX_TEXTS);
        for (int t = 0; t < layout.ntexts; t++) {
            const struct picture_place *place = &layout.texts[t].place;
            assert_true(place->x >= 0 && place->x + place->width <= layout.width);
            assert_true(place->y >= 0 && place->y + place->height <= layout.height);
            assert_true(apart(place, &layout.plot));
            for (int other = 0; other < t; other++) {
                assert_true(apart(place, &layout.texts[other].place));
            }
            for (int k = 0; k < layout.nkeys; k++) {
                assert_true(apart(place, &layout.keys[k]));
            }
        }
        for (int k = 0; k < layout.nkeys; k++) {
            assert_true(apart(&layout.keys[k], &layout.plot));
        }
    }
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
}

static bool has_text(const struct picture_layout *layout, const char *text)
{
    bool found = false;
    for (int i = 0; i < layout->ntexts; i++) {
        found = found || strcmp(layout->texts[i].text, text) == 0;
    }
    return found;
}

/* The prefix suits the range. */
TEST(test_units)
{
    static const struct {
        const char *unit;
        double most;
        const char *label;
    } cases[] = {{"J", 5e6, "quantity [MJ]"},
                 {"J", 5e2, "quantity [J]"},
                 {"W", 5e3, "quantity [kW]"},
                 {"s", 2e5, "quantity [h]"},
                 {"s", 3e7, "quantity [d]"},
                 {"s", 2e-3, "quantity [ms]"},
                 {"K", 5e6, "quantity [K]"},
                 {"m", 5e-3, "quantity [mm]"},
                 {"J/m^2", 5e6, "quantity [MJ/m\u00b2]"},
                 {"W/m", 5e3, "quantity [kW/m]"},
                 {"K/(W/m)", 5e3, "quantity [K/(W/m)]"}};
    static struct picture_layout layout;
    struct picture_curve curves[PICTURE_MAX_CURVES];
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cairo = cairo_create(surface);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct picture_chart chart = chart_of(1, cases[i].unit, cases[i].most, curves);
        picture_layout_chart(cairo, &chart, &layout);
        assert_true(has_text(&layout, cases[i].label));
    }
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
}

/* Many digits become a prefix; an axis of logarithms has decades. */
TEST(test_labels_of_ticks)
{
    static struct picture_layout layout;
    struct picture_curve curves[PICTURE_MAX_CURVES];
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cairo = cairo_create(surface);
    struct picture_chart chart = chart_of(1, "K/s", 5e6, curves);
    chart.axis[0].logarithmic = true;
    chart.axis[0].lower = -4;
    chart.axis[0].upper = 2;
    picture_layout_chart(cairo, &chart, &layout);
    assert_true(has_text(&layout, "4 M") && has_text(&layout, "0"));
    assert_true(has_text(&layout, "0.0001") && has_text(&layout, "1") && has_text(&layout, "100"));
    assert_true(has_text(&layout, "t [s]"));
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
}

static void chart_path(const char *name, char path[PATH_BYTES])
{
    must(directory_make(rig_folder));
    must(path_join(rig_folder, name, path));
}

/* Between its points, too; a gap where a value is missing. */
TEST(test_curves_are_drawn)
{
    static struct picture_layout layout;
    struct picture_curve curves[PICTURE_MAX_CURVES];
    struct picture_chart chart = chart_of(3, "K", 1.0, curves);
    const double gap[POINTS] = {2, 2.25, NAN, 2.75, 3};
    char path[PATH_BYTES];
    curves[2].y = gap;
    curves[1].dashed = false;
    chart_path("chart.png", path);
    must(picture_draw_chart(&chart, path));
    cairo_surface_t *image = decode(path);
    cairo_t *cairo = cairo_create(image);
    picture_layout_chart(cairo, &chart, &layout);
    assert_int_equal(cairo_image_surface_get_width(image), layout.width);
    assert_int_equal(cairo_image_surface_get_height(image), layout.height);
    for (int i = 0; i < 3; i++) {
        for (int x = 10; x < 100; x += 10) {
            const double value = i + x / 100.0;
            const int px = layout.plot.x + x * layout.plot.width / 100;
            const int py = layout.plot.y + (int)((1 - value / 3) * layout.plot.height);
            const bool missing = i == 2 && x > 25 && x < 75;
            assert_int_equal(pixel_at(image, px, py) == curves[i].color, !missing);
        }
        const struct picture_place *key = &layout.keys[i];
        assert_int_equal(pixel_at(image, key->x + key->width / 2, key->y + key->height / 2 + 1),
                         curves[i].color);
    }
    cairo_destroy(cairo);
    cairo_surface_destroy(image);
}

/* The ending decides; a long curve without details needs few points. */
TEST(test_svg)
{
    enum { MANY = 200000 };
    static double x[MANY];
    static double y[MANY];
    struct picture_curve curves[PICTURE_MAX_CURVES];
    struct picture_chart chart = chart_of(1, "K", 1.0, curves);
    char path[PATH_BYTES];
    char *bytes = NULL;
    size_t nbytes = 0;
    for (int i = 0; i < MANY; i++) {
        x[i] = 100.0 * i / MANY;
        y[i] = 0.5 + 0.4 * sin(0.1 * x[i]);
    }
    curves[0].x = x;
    curves[0].y = y;
    curves[0].count = MANY;
    chart_path("chart.svg", path);
    must(picture_draw_chart(&chart, path));
    must(file_read_all(path, 1 << 24, &bytes, &nbytes));
    assert_memory_equal(bytes, "<?xml", 5);
    assert_non_null(strstr(bytes, "</svg>"));
    assert_in_range(nbytes, 10000, 500000);
    free(bytes);
}

TEST_MAIN_RANKS(rig_begin, NULL)
