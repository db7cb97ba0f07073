/* The colours and texts of pictures: no two texts touch, and each is drawn where it should be. */
#include "picture_rig.h"

#include <stdio.h>
#include <string.h>

#include "io/picture/picture_draw.h"

/* Entries 0, 37, 128, 200 and 255 of the published tables of 256. */
TEST(test_colormaps)
{
    static const int entries[5] = {0, 37, 128, 200, 255};
    static const uint32_t published[][5] = {
        [COLORMAP_INFERNO] = {0x000004, 0x290b55, 0xbc3754, 0xfb9d07, 0xfcffa4},
        [COLORMAP_MAGMA] = {0x000004, 0x241253, 0xb73779, 0xfd9869, 0xfcfdbf},
        [COLORMAP_VIRIDIS] = {0x440154, 0x46337f, 0x21918c, 0x70cf57, 0xfde725},
        [COLORMAP_COOLWARM] = {0x3b4cc0, 0x688aef, 0xdddcdc, 0xf08b6e, 0xb40426},
    };
    for (int map = COLORMAP_INFERNO; map <= COLORMAP_COOLWARM; map++) {
        for (int i = 0; i < 5; i++) {
            const uint32_t found = colormap_of((enum colormap)map, entries[i], 0, 255);
            for (int shift = 0; shift < 24; shift += 8) {
                const int off =
                    (int)(found >> shift & 0xFF) - (int)(published[map][i] >> shift & 0xFF);
                assert_in_range(off + 5, 0, 10);
            }
        }
    }
}

static bool apart(const struct picture_place *a, const struct picture_place *b)
{
    return a->x + a->width < b->x || b->x + b->width < a->x || a->y + a->height < b->y ||
           b->y + b->height < a->y;
}

static void expect_apart(const struct picture_layout *layout, int i, const struct picture_place *b,
                         const char *what)
{
    const struct picture_place *a = &layout->texts[i].place;
    if (!apart(a, b)) {
        print_error("'%s' (%d %d, %d x %d) touches %s (%d %d, %d x %d)\n", layout->texts[i].text,
                    a->x, a->y, a->width, a->height, what, b->x, b->y, b->width, b->height);
    }
    assert_true(apart(a, b));
}

/* Inside the image, apart from each other and from the cells and the bar. */
static void expect_tidy(const struct picture_layout *layout)
{
    assert_true(layout->ntexts < PICTURE_MAX_TEXTS && layout->nlines < PICTURE_MAX_LINES);
    for (int i = 0; i < layout->ntexts; i++) {
        const struct picture_place *place = &layout->texts[i].place;
        assert_true(place->x >= 0 && place->x + place->width <= layout->width);
        assert_true(place->y >= 0 && place->y + place->height <= layout->height);
        expect_apart(layout, i, &layout->plot, "the plot");
        if (layout->bar.width > 0) {
            expect_apart(layout, i, &layout->bar, "the bar");
        }
        for (int other = 0; other < i; other++) {
            expect_apart(layout, i, &layout->texts[other].place, layout->texts[other].text);
        }
    }
}

/* Grids and temperatures of any size. */
TEST(test_texts_never_touch)
{
    static const double lengths[][2] = {{0, 1},         {0, 1e-9},  {-1e9, 7e12},
                                        {1e6, 1e6 + 1}, {0.1, 0.9}, {-1234567, -1234566}};
    static const double ranges[][2] = {
        {0, 1}, {0, 1e-9}, {-1e12, 1e12}, {300, 300.0001}, {1e12, 1.0001e12}};
    static const int samples[][2] = {{64, 64}, {1000, 2}, {1, 799}, {534, 1}};
    const int nlengths = (int)(sizeof lengths / sizeof lengths[0]);
    const int nranges = (int)(sizeof ranges / sizeof ranges[0]);
    const int nsamples = (int)(sizeof samples / sizeof samples[0]);
    static struct picture_layout layout;
    for (int i = 0; i < nlengths * nlengths * nranges * nsamples; i++) {
        const double *x = lengths[i % nlengths];
        const double *y = lengths[i / nlengths % nlengths];
        const double *range = ranges[i / nlengths / nlengths % nranges];
        const int *n = samples[i / nlengths / nlengths / nranges];
        const struct picture_view view = {
            .title = "A title of more words than there is room for above so narrow a picture: "
                     "the quick brown fox jumps over the lazy dog",
            .step = INT64_MAX,
            .time = 1.23456e-300,
            .axis = {AXIS_X, AXIS_Y},
            .samples = {n[0], n[1]},
            .lower = {x[0], y[0]},
            .upper = {x[1], y[1]},
            .has_plane_at = true,
            .plane_axis = AXIS_Z,
            .plane_at = -1.2345e-300,
            .min = range[0],
            .max = range[1],
            .quantity = "T",
            .unit = "K",
            .color_range = {range[0], range[1]},
        };
        layout_of(&view, &layout);
        expect_tidy(&layout);
        /* the headings, the names, and one label or more on each axis */
        assert_true(layout.ntexts >= 5 + 3);
    }
}

static struct picture_view view_titled(const char *title)
{
    static const double values[4] = {0, 1, 2, 3};
    return (struct picture_view){
        .title = title,
        .axis = {AXIS_X, AXIS_Y},
        .samples = {2, 2},
        .upper = {1, 1},
        .values = values,
        .max = 3,
        .quantity = "T",
        .unit = "K",
        .color_range = {0, 3},
    };
}

/* UTF-8 as it is; too long a title ends in an ellipsis after a whole character. */
TEST(test_titles)
{
    static struct picture_layout layout;
    struct picture_view view = view_titled("W\u00e4rme \u706b\tin\nsteel");
    layout_of(&view, &layout);
    assert_string_equal(layout.texts[0].text, "W\u00e4rme \u706b in steel");

    char title[3001] = "";
    for (int i = 0; i < 1000; i++) {
        snprintf(&title[3 * i], 4, "\u706b");
    }
    view = view_titled(title);
    layout_of(&view, &layout);
    const char *text = layout.texts[0].text;
    const size_t n = strlen(text);
    assert_true(n % 3 == 0 && n > 30 && n < sizeof layout.texts[0].text);
    assert_memory_equal(text, title, n - 3);
    assert_string_equal(&text[n - 3], "\u2026");
    expect_tidy(&layout);
    assert_true(layout.texts[0].place.width > layout.width / 2);
}

static bool has_text(const struct picture_layout *layout, const char *text)
{
    bool found = false;
    for (int i = 0; i < layout->ntexts; i++) {
        found = found || strcmp(layout->texts[i].text, text) == 0;
    }
    return found;
}

TEST(test_units)
{
    static struct picture_layout layout;
    struct picture_view view = view_titled("units");
    view.quantity = "rate";
    view.unit = "K/s";
    layout_of(&view, &layout);
    assert_true(has_text(&layout, "rate [K/s]") && has_text(&layout, "min 0 K/s    max 3 K/s"));
    view.unit = ""; /* a number */
    layout_of(&view, &layout);
    assert_true(has_text(&layout, "rate") && has_text(&layout, "min 0    max 3"));
}

static bool inside(const struct picture_place *place, int x, int y, int margin)
{
    return x >= place->x - margin && x < place->x + place->width + margin &&
           y >= place->y - margin && y < place->y + place->height + margin;
}

/* Every text is to be seen, and nothing of it beyond its place. */
TEST(test_texts_are_drawn_in_their_places)
{
    static struct picture_layout layout;
    int dark[PICTURE_MAX_TEXTS] = {0};
    char path[PATH_BYTES];
    const struct picture_view view = view_titled("\u00c4quator (\u00c5ngstr\u00f6m), j\u00f9g");
    must(directory_make(rig_folder));
    must(path_join(rig_folder, "titled.png", path));
    must(picture_draw(&view, path));
    layout_of(&view, &layout);
    cairo_surface_t *image = decode(path);
    for (int y = 0; y < layout.height; y++) {
        for (int x = 0; x < layout.width; x++) {
            bool known = pixel_at(image, x, y) == 0xFFFFFF || inside(&layout.plot, x, y, 0) ||
                         inside(&layout.bar, x, y, 0);
            for (int i = 0; i < layout.nlines && !known; i++) {
                known = inside(&layout.lines[i].place, x, y, 0);
            }
            for (int i = 0; i < layout.ntexts && !known; i++) {
                known = inside(&layout.texts[i].place, x, y, 1);
                dark[i] += known && lightness(pixel_at(image, x, y)) < 450;
            }
            assert_true(known);
        }
    }
    for (int i = 0; i < layout.ntexts; i++) {
        assert_true(dark[i] > 5);
    }
    cairo_surface_destroy(image);
}

TEST_MAIN_RANKS(rig_begin, NULL)
