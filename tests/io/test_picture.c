/* Pictures: decoded again, the colour at every cell is that of its temperature, for any plane,
 * rank count and backend; and what cannot be written is an error on all ranks. */
#include "picture_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/picture/picture.h"
#include "io/picture/picture_draw.h"

static const double LOW = 250;
static const double HIGH = 750; /* what rig_rough gives lies between these */

static int world_size(void)
{
    return comm_size(MPI_COMM_WORLD);
}

static bool is_root(void)
{
    return comm_rank(MPI_COMM_WORLD) == 0;
}

static struct picture_setting setting_of(enum axis normal)
{
    return (struct picture_setting){
        .cadence = {.every = 1}, .plane_normal = normal, .range_auto = true};
}

static void write_picture(struct rig *rig, enum axis normal, int64_t step, char path[PATH_BYTES])
{
    if (rig_has(rig)) {
        const struct picture_setting setting = setting_of(normal);
        must(picture_write(rig->comm, rig_folder, rig->field, &rig->grid, &setting, "a t\xc3\xa9st",
                           step, 0.125, LOW, HIGH, path));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_color(uint32_t found, uint32_t expected, const char *what, int64_t a, int64_t b)
{
    if (found != expected) {
        print_error("%s (%lld, %lld): colour %06x, expected %06x\n", what, (long long)a,
                    (long long)b, found, expected);
    }
    assert_int_equal(found, expected);
}

static uint32_t inferno(double value)
{
    return colormap_of(COLORMAP_INFERNO, value, LOW, HIGH);
}

/* The cells' place in the picture of this rig, found from the rig alone; the image's size is as
 * it should be. `bar` (may be NULL) receives the place of the colour bar. */
static struct picture_place plot_for(const struct rig *rig, enum axis across, enum axis up,
                                     cairo_surface_t *image, struct picture_place *bar)
{
    const struct picture_view view = {
        .title = "",
        .axis = {across, up},
        .samples = {(int)fmin((double)rig->grid.cells[across], PICTURE_MAX_SAMPLES),
                    (int)fmin((double)rig->grid.cells[up], PICTURE_MAX_SAMPLES)},
        .lower = {rig->grid.lower[across], rig->grid.lower[up]},
        .upper = {rig->grid.upper[across], rig->grid.upper[up]},
        .quantity = "T",
        .unit = "K",
        .color_range = {LOW, HIGH},
    };
    static struct picture_layout layout;
    layout_of(&view, &layout);
    assert_int_equal(cairo_image_surface_get_width(image), layout.width);
    assert_int_equal(cairo_image_surface_get_height(image), layout.height);
    if (bar != NULL) {
        *bar = layout.bar;
    }
    return layout.plot;
}

/* The global index of cell (p, q) of a mid-plane. */
static int64_t plane_index(const struct rig *rig, enum axis across, enum axis up, int64_t p,
                           int64_t q)
{
    int64_t at[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        at[a] = rig->grid.cells[a] / 2;
    }
    at[across] = p;
    at[up] = q;
    return (at[AXIS_Z] * rig->grid.cells[AXIS_Y] + at[AXIS_Y]) * rig->grid.cells[AXIS_X] +
           at[AXIS_X];
}

static double stored(const struct rig *rig, double value)
{
    return rig->field->layout.precision == PRECISION_FLOAT64 ? value : (double)(float)value;
}

/* Every cell, at the pixel in its middle; row 0 of the cells is the lowest. */
static void expect_cells(const struct rig *rig, const char *path, enum axis across, enum axis up,
                         int seed)
{
    cairo_surface_t *image = decode(path);
    const struct picture_place plot = plot_for(rig, across, up, image, NULL);
    const int64_t np = rig->grid.cells[across];
    const int64_t nq = rig->grid.cells[up];
    const double aspect = (rig->grid.upper[up] - rig->grid.lower[up]) /
                          (rig->grid.upper[across] - rig->grid.lower[across]);
    assert_true(fabs(plot.height - aspect * plot.width) <= 1);
    for (int64_t q = 0; q < nq; q++) {
        for (int64_t p = 0; p < np; p++) {
            const int x = plot.x + (int)((2 * p + 1) * plot.width / (2 * np));
            const int y = plot.y + plot.height - 1 - (int)((2 * q + 1) * plot.height / (2 * nq));
            const double value = stored(rig, rig_rough(plane_index(rig, across, up, p, q), seed));
            expect_color(pixel_at(image, x, y), inferno(value), "cell", p, q);
        }
    }
    cairo_surface_destroy(image);
}

static void check_planes(const int64_t cells[AXIS_COUNT], enum precision precision,
                         const char *backend)
{
    const enum axis across[AXIS_COUNT] = {AXIS_Y, AXIS_X, AXIS_X};
    const enum axis up[AXIS_COUNT] = {AXIS_Z, AXIS_Z, AXIS_Y};
    struct rig rig;
    char path[PATH_BYTES];
    rig_open(&rig, world_size(), cells, precision, backend);
    rig_fill_rough(&rig, 3);
    for (int normal = 0; normal < AXIS_COUNT; normal++) {
        write_picture(&rig, (enum axis)normal, normal, path);
        const enum axis real = cells[AXIS_Z] == 1 ? AXIS_Z : (enum axis)normal;
        if (is_root()) {
            expect_cells(&rig, path, across[real], up[real], 3);
        }
    }
    rig_close(&rig);
}

TEST(test_every_cell_has_its_color)
{
    folder_make_empty(rig_folder);
    check_planes((const int64_t[]){13, 9, 11}, PRECISION_FLOAT64, "cpu");
    check_planes((const int64_t[]){13, 9, 11}, PRECISION_FLOAT32, "guard");
    check_planes((const int64_t[]){37, 23, 1}, PRECISION_FLOAT64, "guard");
}

/* More cells than are shown: evenly spread ones, from the middle of equal parts. */
TEST(test_large_planes_are_thinned)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), (const int64_t[]){2500, 3001, 1}, PRECISION_FLOAT32, "cpu");
    rig_fill_rough(&rig, 1);
    write_picture(&rig, AXIS_Z, 1, path);
    if (is_root()) {
        cairo_surface_t *image = decode(path);
        const struct picture_place plot = plot_for(&rig, AXIS_X, AXIS_Y, image, NULL);
        assert_int_equal(plot.width, PICTURE_MAX_SAMPLES);
        for (int64_t s = 0; s < plot.height; s += 7) {
            const int64_t q = (2 * ((2 * s + 1) * PICTURE_MAX_SAMPLES / (2 * plot.height)) + 1) *
                              3001 / (2 * PICTURE_MAX_SAMPLES);
            for (int64_t x = 0; x < plot.width; x += 11) {
                const int64_t p = (2 * x + 1) * 2500 / (2 * PICTURE_MAX_SAMPLES);
                const double value =
                    stored(&rig, rig_rough(plane_index(&rig, AXIS_X, AXIS_Y, p, q), 1));
                expect_color(pixel_at(image, plot.x + (int)x, plot.y + plot.height - 1 - (int)s),
                             inferno(value), "cell", p, q);
            }
        }
        cairo_surface_destroy(image);
    }
    rig_close(&rig);
}

TEST(test_same_bytes_on_any_ranks)
{
    char *bytes[2] = {NULL, NULL};
    size_t nbytes[2] = {0, 0};
    folder_make_empty(rig_folder);
    const int64_t shapes[][AXIS_COUNT] = {{13, 9, 11}, {37, 23, 1}, {51, 1, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int pass = 0; pass < 2; pass++) {
            struct rig rig;
            char path[PATH_BYTES];
            rig_open(&rig, pass == 0 ? 1 : world_size(), shapes[s], PRECISION_FLOAT64, "cpu");
            rig_fill_rough(&rig, 5);
            write_picture(&rig, AXIS_X, 7, path);
            if (is_root()) {
                must(file_read_all(path, 1 << 24, &bytes[pass], &nbytes[pass]));
            }
            rig_close(&rig);
        }
        if (is_root()) {
            assert_int_equal(nbytes[0], nbytes[1]);
            assert_memory_equal(bytes[0], bytes[1], nbytes[0]);
            free(bytes[0]);
            free(bytes[1]);
        }
    }
}

/* The curve passes through every cell's temperature, and is thin. */
TEST(test_curve)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), (const int64_t[]){12, 1, 1}, PRECISION_FLOAT64, "guard");
    rig_fill_rough(&rig, 2);
    write_picture(&rig, AXIS_Z, 1, path);
    if (is_root()) {
        cairo_surface_t *image = decode(path);
        const struct picture_place plot = plot_for(&rig, AXIS_X, AXIS_Y, image, NULL);
        for (int64_t i = 0; i < 12; i++) {
            /* 5 % of the range stay free at either end */
            const double up = (rig_rough(i, 2) - LOW + 25) / (HIGH - LOW + 50);
            const int x = plot.x + (int)((2 * i + 1) * plot.width / 24);
            const int y = plot.y + (int)((1 - up) * plot.height);
            const uint32_t on = pixel_at(image, x, y);
            assert_true(lightness(on) < 450);
            assert_true((on >> 16) > (on >> 8 & 0xFF) + 60);
        }
        int dark = 0;
        for (int y = plot.y; y < plot.y + plot.height; y++) {
            dark += lightness(pixel_at(image, plot.x + plot.width / 24, y)) < 450;
        }
        assert_in_range(dark, 1, 40);
        cairo_surface_destroy(image);
    }
    rig_close(&rig);
}

/* The bar runs from the map's first colour at the bottom to its last on top. */
static void expect_bar(cairo_surface_t *image, const struct picture_place *bar)
{
    for (int i = 0; i < 256; i++) {
        const int y = bar->y + bar->height - 1 - (2 * i + 1) * bar->height / 512;
        expect_color(pixel_at(image, bar->x + bar->width / 2, y),
                     colormap_of(COLORMAP_VIRIDIS, i + 0.5, 0, 256), "bar", i, 0);
    }
}

/* A range from the configuration clips; a value that is not finite is grey; the map is the one
 * that is asked for. */
TEST(test_fixed_range_and_bad_cells)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, 1, (const int64_t[]){3, 3, 1}, PRECISION_FLOAT64, "guard");
    if (rig_has(&rig)) {
        const double values[9] = {-10, 0, 100, 200, NAN, 300, 400, 600, INFINITY};
        const struct box owned = layout_owned(&rig.field->layout);
        must(field_write(rig.field, &owned, values));
        struct picture_setting setting = setting_of(AXIS_Z);
        setting.range_auto = false;
        setting.range[0] = 0;
        setting.range[1] = 400;
        setting.colormap = COLORMAP_VIRIDIS;
        must(picture_write(rig.comm, rig_folder, rig.field, &rig.grid, &setting, "", 1, 0, -10, 600,
                           path));
        cairo_surface_t *image = decode(path);
        const uint32_t expected[9] = {0x440154, 0x440154, 0x3b528b, 0x20908d, 0x808080,
                                      0x5cc963, 0xfde725, 0xfde725, 0x808080};
        struct picture_place bar;
        const struct picture_place plot = plot_for(&rig, AXIS_X, AXIS_Y, image, &bar);
        for (int c = 0; c < 9; c++) {
            expect_color(pixel_at(image, plot.x + plot.width * (2 * (c % 3) + 1) / 6,
                                  plot.y + plot.height * (5 - 2 * (c / 3)) / 6),
                         expected[c], "cell", c % 3, c / 3);
        }
        expect_bar(image, &bar);
        cairo_surface_destroy(image);
    }
    rig_close(&rig);
}

/* One value everywhere, or none that is a number: still a picture. */
TEST(test_without_a_range)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), (const int64_t[]){5, 4, 3}, PRECISION_FLOAT32, "cpu");
    const struct picture_setting setting = setting_of(AXIS_Y);
    const double ranges[][2] = {{300, 300}, {INFINITY, -INFINITY}, {NAN, NAN}, {0, 0}};
    for (int i = 0; i < 4; i++) {
        must(picture_write(rig.comm, rig_folder, rig.field, &rig.grid, &setting, "", i, 0,
                           ranges[i][0], ranges[i][1], path));
        assert_true(!is_root() || file_exists(path));
    }
    rig_close(&rig);
}

TEST(test_names_and_temporaries)
{
    struct rig rig;
    char path[PATH_BYTES];
    char expected[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), (const int64_t[]){5, 4, 3}, PRECISION_FLOAT64, "cpu");
    rig_fill_rough(&rig, 1);
    write_picture(&rig, AXIS_Z, 1234, path);
    const struct picture_setting setting = setting_of(AXIS_Z);
    must(picture_write(rig.comm, rig_folder, rig.field, &rig.grid, &setting, "", 1235, 0, LOW, HIGH,
                       NULL));
    if (is_root()) {
        snprintf(expected, sizeof expected, "%.2000s/pictures/step_0000001234.png", rig_folder);
        assert_string_equal(path, expected);
        snprintf(expected, sizeof expected, "%.2000s/pictures/step_0000001234.png.tmp", rig_folder);
        assert_false(file_exists(expected));
    }
    rig_close(&rig);
}

/* A file stands where the folder should be; then a folder where the file should be. */
TEST(test_no_place_to_write)
{
    struct rig rig;
    char path[PATH_BYTES];
    folder_make_empty(rig_folder);
    rig_open(&rig, world_size(), (const int64_t[]){6, 5, 4}, PRECISION_FLOAT64, "cpu");
    rig_fill_rough(&rig, 1);
    const struct picture_setting setting = setting_of(AXIS_Z);
    snprintf(path, sizeof path, "%.2000s/pictures", rig_folder);
    must(status_agree(MPI_COMM_WORLD, is_root() ? file_replace(path, "x", 1) : STATUS_OK));
    must_fail(STATUS_FILE, "pictures",
              picture_write(rig.comm, rig_folder, rig.field, &rig.grid, &setting, "", 1, 0, LOW,
                            HIGH, NULL));
    folder_make_empty(rig_folder);
    snprintf(path, sizeof path, "%.2000s/pictures/step_0000000001.png/x", rig_folder);
    must(status_agree(MPI_COMM_WORLD, is_root() ? directory_make(path) : STATUS_OK));
    must_fail(STATUS_FILE, "step_0000000001.png",
              picture_write(rig.comm, rig_folder, rig.field, &rig.grid, &setting, "", 1, 0, LOW,
                            HIGH, NULL));
    rig_close(&rig);
}

TEST_MAIN_RANKS(rig_begin, NULL)
