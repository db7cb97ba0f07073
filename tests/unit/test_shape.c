/* Whether a shape holds the centre of any cell: found without looking at each, against looking. */
#include "model/field/view.h"
#include "model/space/shape.h"
#include "test_settings_common.h"

static void make_grid(struct settings *settings, const int64_t cells[AXIS_COUNT], struct grid *grid)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings->grid.cells[axis] = cells[axis];
        settings->grid.lower[axis] = -0.3;
        settings->grid.upper[axis] = 0.7 + 0.1 * axis;
    }
    grid_create(settings, grid);
}

static bool holds_any(const struct grid *grid, const struct shape_setting *shape)
{
    for (int64_t cell = 0; cell < grid_total_cells(grid); cell++) {
        const int64_t index[] = {cell % grid->cells[AXIS_X],
                                 cell / grid->cells[AXIS_X] % grid->cells[AXIS_Y],
                                 cell / grid->cells[AXIS_X] / grid->cells[AXIS_Y]};
        double center[AXIS_COUNT];
        bool reaches = true;
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            center[axis] = grid_center(grid, (enum axis)axis, index[axis]);
            reaches = reaches && shape_reaches(grid, shape, (enum axis)axis, center[axis]);
        }
        if (reaches && shape_holds(grid, shape, center)) {
            return true;
        }
    }
    return false;
}

/* Spheres and boxes of many sizes at many places, from far smaller than a cell to larger than the
 * grid, some of them with a centre of a cell exactly on their edge. */
TEST(same_as_looking_at_each_cell)
{
    static const int64_t grids[][AXIS_COUNT] = {{8, 5, 3}, {7, 10, 1}, {1, 1, 16}};
    static const double sizes[] = {1e-9, 0.01, 0.03125, 0.0625, 0.1, 0.11, 0.3, 2};
    int found[2] = {0};
    for (int g = 0; g < 3; g++) {
        struct shape_setting shape = {0};
        struct settings settings = {.initial = &shape, .ninitial = 1};
        struct grid grid;
        make_grid(&settings, grids[g], &grid);
        for (int trial = 0; trial < 2 * 8 * 5 * 5 * 5; trial++) {
            const double size = sizes[trial / 2 % 8];
            shape.kind = trial % 2 == 0 ? INITIAL_SPHERE : INITIAL_BOX;
            shape.radius = size;
            for (int axis = 0, rest = trial / 16; axis < AXIS_COUNT; axis++, rest /= 5) {
                shape.center[axis] = shape.lower[axis] = -0.3 + 0.0625 * (1 + 3 * (rest % 5));
                shape.upper[axis] = shape.lower[axis] + size;
            }
            const bool expected = holds_any(&grid, &shape);
            const enum status status =
                shape_check_cells(settings.origin, &grid, "initial", &settings.initial[0], 0);
            assert_int_equal(status, expected ? STATUS_OK : STATUS_INPUT);
            found[expected]++;
        }
    }
    assert_true(found[false] > 500 && found[true] > 500);
}

TEST(the_message_has_key_and_cells)
{
    struct shape_setting shapes[] = {
        {.kind = INITIAL_UNIFORM},
        {.kind = INITIAL_SPHERE, .center = {0.2, 0.2}, .radius = 1e-6},
        {.kind = INITIAL_BOX, .lower = {-0.3, 0}, .upper = {0.7, 1e-6}},
    };
    struct settings settings = {.initial = shapes, .ninitial = 3};
    struct grid grid;
    make_grid(&settings, (const int64_t[]){20000000, 10, 1}, &grid);
    assert_int_equal(shape_check_cells(settings.origin, &grid, "initial", &settings.initial[0], 0),
                     STATUS_OK);
    assert_int_equal(shape_check_cells(settings.origin, &grid, "initial", &settings.initial[1], 1),
                     STATUS_INPUT);
    assert_string_equal(fail_message(), "initial[1].sphere: contains no cell centre and so has no "
                                        "effect; the cells are 5e-08 x 0.11 m large");
    assert_int_equal(shape_check_cells(settings.origin, &grid, "initial", &settings.initial[2], 2),
                     STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "initial[2].box: contains no cell centre"));
}

TEST(empty_regions_are_refused)
{
    static const char *const cases[][2] = {
        {"box: {lower: [0.013, 0], upper: [0.037, 0.1]}",
         "c.yaml:24: output.regions[0].box: no cell is left in x; the cells are 0.025 m long, and "
         "those whose centre lies in the box are selected"},
        {"stride: [4, 9], box: {lower: [0, 0.05], upper: [0.4, 0.15]}",
         "c.yaml:24: output.regions[0].stride: no cell is left in y; the cells are 0.025 m long, "
         "and those of the box whose index is a multiple of the stride are selected"},
        {"box: {lower: [0.01, 0], upper: [0.039, 0.1]}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char output[256];
        snprintf(output, sizeof output,
                 "output:\n  regions:\n    - {name: a, every: 1, %s}\ntime:\n  end: 10\n",
                 cases[i][0]);
        char *text = base_with("time:\n  end: 10\n", output);
        struct settings *settings = read_good(text, NULL, 0);
        const enum status status = view_check_regions(settings);
        assert_int_equal(status, cases[i][1] != NULL ? STATUS_INPUT : STATUS_OK);
        if (status != STATUS_OK) {
            assert_string_equal(fail_message(), cases[i][1]);
        }
        settings_destroy(settings);
        free(text);
    }
}

/* The corners and the middle are looked at; nothing between two centres is. */
TEST(formulas_are_tried)
{
    static const struct {
        const char *formula, *says; /* NULL: nothing */
    } cases[] = {
        {"300 + x*y*z", NULL},
        {"1/(x + 0.3)", NULL},
        {"1/0", "\"1/0\" gives inf K at x = -0.25"},
        {"0/0", "gives nan K"},
        {"x > 0.6 && y > 0.7 && z > 0.8 ? 1e12 : 1", "at x = 0.65, y = 0.75, z = 0.85 m"},
        {"abs(x - 0.15) < 0.01 ? -1e13 : 300", "gives -1e+13 K at x = 0.15"},
    };
    struct settings settings = {0};
    struct grid grid;
    make_grid(&settings, (const int64_t[]){10, 11, 12}, &grid);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char formula[64];
        snprintf(formula, sizeof formula, "%s", cases[i].formula);
        const struct shape_setting shape = {.kind = INITIAL_EXPRESSION, .expression = formula};
        const enum status status = shape_try_formula(&shape, &grid);
        assert_int_equal(status, cases[i].says == NULL ? STATUS_OK : STATUS_INPUT);
        if (cases[i].says != NULL && strstr(fail_message(), cases[i].says) == NULL) {
            fail_msg("%s: %s", formula, fail_message());
        }
    }
}

/* Edges end exactly where the axis does, so that the address sanitizer sees a read beyond them. */
TEST(area_of_a_body_at_the_end_of_graded_axes)
{
    static const double corners[4][AXIS_COUNT] = {
        {-5, -5, -5}, {13.2, -5, -5}, {-5, 13.2, -5}, {-5, -5, 13.2}};
    const struct shape_setting shape = {.kind = PART_STL};
    struct settings settings = {0};
    struct grid grid;
    struct brush brush = {.grid = &grid, .shape = &shape};
    double *edges[AXIS_COUNT];
    make_grid(&settings, (const int64_t[]){3, 2, 1}, &grid);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        edges[axis] = malloc((size_t)(grid.cells[axis] + 1) * sizeof *edges[axis]);
        for (int64_t i = 0; i <= grid.cells[axis]; i++) {
            edges[axis][i] = (double)i;
        }
        grid.graded[axis].edges = edges[axis];
    }
    grid_complete(&grid);
    triangle *triangles = malloc(4 * sizeof *triangles);
    for (int n = 0; n < 12; n++) { /* each without one corner */
        const int corner = (n / 3 + 1 + n % 3) % 4;
        memcpy(triangles[n / 3][n % 3], corners[corner], sizeof corners[corner]);
    }
    assert_int_equal(solid_create(&grid, triangles, 4, &brush.solid), STATUS_OK);
    /* across the plane x + y + z = 3.2, from the last cells of y and z */
    const double area = brush_area(&brush, 1, &grid, (const int64_t[]){0, 1, 0}, AXIS_X);
    assert_true(fabs(area - 1 / sqrt(3)) < 1e-12);
    solid_destroy(&brush.solid);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        free(edges[axis]);
    }
}

TEST_MAIN(NULL, NULL)
