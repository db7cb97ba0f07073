/* Boundary closures against the formulas of the discretisation, and messages. Radiation, formulas
 * of time and temperatures of faces: the random problems of tests/physics. */
#include <math.h>
#include <string.h>

#include "model/operator/operator.h"
#include "tests/test.h"

#define K_COPPER 400.0

struct scene {
    struct settings settings;
    struct grid grid;
    struct medium medium;
    struct boundary boundary;
};

/* hx = 0.1, hy = 0.05, z not in use. */
static void make_scene(struct scene *scene)
{
    *scene = (struct scene){0};
    struct settings *settings = &scene->settings;
    const int64_t cells[AXIS_COUNT] = {10, 20, 1};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings->grid.cells[axis] = cells[axis];
        settings->grid.upper[axis] = 1;
    }
    settings->material.conductivity = K_COPPER;
    settings->material.density = 9000;
    settings->material.heat_capacity = 385;
    settings->boundary[FACE_X_MIN] = (struct boundary_setting){.kind = BOUNDARY_TEMPERATURE,
                                                               .number[BOUNDARY_VALUE].value = 300};
    settings->boundary[FACE_X_MAX] =
        (struct boundary_setting){.kind = BOUNDARY_FLUX, .number[BOUNDARY_VALUE].value = -2500};
    settings->boundary[FACE_Y_MIN] =
        (struct boundary_setting){.kind = BOUNDARY_CONVECTION,
                                  .number[BOUNDARY_COEFFICIENT].value = 750,
                                  .number[BOUNDARY_AMBIENT].value = 273};
    settings->boundary[FACE_Y_MAX] = (struct boundary_setting){
        .kind = BOUNDARY_TEMPERATURE, .number[BOUNDARY_VALUE].formula = "273 + 100*t"};
    grid_create(settings, &scene->grid);
    assert_int_equal(medium_create(settings, &scene->medium), STATUS_OK);
}

static enum status close_at(struct scene *scene, enum precision precision, double t,
                            struct coefficients *closure)
{
    struct heat_operator op = {.all = *closure};
    assert_int_equal(boundary_create(&scene->settings, &scene->boundary), STATUS_OK);
    const struct problem problem = {.grid = scene->grid,
                                    .medium = scene->medium,
                                    .boundary = scene->boundary,
                                    .radius = 1,
                                    .precision = precision};
    const enum status status = operator_create(&problem, t, 1, &op);
    *closure = op.all;
    boundary_destroy(&scene->boundary);
    return status;
}

static void near(double found, double expected)
{
    assert_true(fabs(found - expected) <= 4e-16 * fabs(expected));
}

TEST(closures_follow_the_formulas)
{
    struct scene scene;
    struct coefficients closure = {.nsources = 0};
    make_scene(&scene);
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 0.5, &closure), STATUS_OK);
    for (int face = 0; face < FACE_COUNT; face++) {
        assert_true(closure.closed[face]);
    }
    assert_true(closure.a[FACE_X_MIN] == -1 && closure.b[FACE_X_MIN] == 600);
    assert_true(closure.a[FACE_X_MAX] == 1);
    near(closure.b[FACE_X_MAX], -2500 * 0.1 / K_COPPER);
    const double film = 750 * 0.05;
    near(closure.a[FACE_Y_MIN], (2 * K_COPPER - film) / (2 * K_COPPER + film));
    near(closure.b[FACE_Y_MIN], 2 * film * 273 / (2 * K_COPPER + film));
    assert_true(closure.a[FACE_Y_MAX] == -1 && closure.b[FACE_Y_MAX] == 2 * 323.0);
    assert_true(closure.a[FACE_Z_MIN] == 1 && closure.b[FACE_Z_MIN] == 0);
    assert_true(closure.a[FACE_Z_MAX] == 1 && closure.b[FACE_Z_MAX] == 0);
}

TEST(fluxes_of_0_insulate_a_face)
{
    static const struct {
        double flux, of_patch;
        bool has_formula, has_patch, is_insulated;
    } cases[] = {
        {0, 0, false, false, true}, {1, 0, false, false, false}, {0, 0, true, false, false},
        {0, 0, false, true, true},  {0, -2, false, true, false}, {3, 0, false, true, false},
    };
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        struct scene scene;
        make_scene(&scene);
        struct patch_setting patch = {
            .condition = {.kind = BOUNDARY_FLUX, .number[BOUNDARY_VALUE].value = cases[n].of_patch},
            .has_disc = true,
            .radius = 0.1};
        struct boundary_setting *x_max = &scene.settings.boundary[FACE_X_MAX];
        x_max->number[BOUNDARY_VALUE].value = cases[n].flux;
        x_max->number[BOUNDARY_VALUE].formula = cases[n].has_formula ? "0*t" : NULL;
        x_max->patches = &patch;
        x_max->npatches = cases[n].has_patch ? 1 : 0;
        assert_int_equal(boundary_create(&scene.settings, &scene.boundary), STATUS_OK);
        assert_true(boundary_is_insulated(&scene.boundary, FACE_X_MAX) == cases[n].is_insulated);
        assert_false(boundary_is_insulated(&scene.boundary, FACE_X_MIN));
        boundary_destroy(&scene.boundary);
        medium_destroy(&scene.medium);
    }
}

TEST(float32_closures_are_floats)
{
    struct scene scene;
    struct coefficients exact = {.nsources = 0};
    struct coefficients rounded = {.nsources = 0};
    make_scene(&scene);
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 0.123, &exact), STATUS_OK);
    assert_int_equal(close_at(&scene, PRECISION_FLOAT32, 0.123, &rounded), STATUS_OK);
    for (int face = 0; face < FACE_COUNT; face++) {
        assert_true(rounded.a[face] == (double)(float)exact.a[face]);
        assert_true(rounded.b[face] == (double)(float)exact.b[face]);
    }
    assert_true(rounded.a[FACE_Y_MIN] != exact.a[FACE_Y_MIN]);
}

TEST(periodic_faces_stay_open)
{
    struct scene scene;
    struct coefficients closure = {.nsources = 0};
    make_scene(&scene);
    scene.settings.boundary[FACE_X_MIN].kind = BOUNDARY_PERIODIC;
    scene.settings.boundary[FACE_X_MAX].kind = BOUNDARY_PERIODIC;
    /* an axis that is not in use is closed, whatever was written for it */
    scene.settings.boundary[FACE_Z_MIN].kind = BOUNDARY_PERIODIC;
    scene.settings.boundary[FACE_Z_MAX].kind = BOUNDARY_PERIODIC;
    assert_int_equal(boundary_create(&scene.settings, &scene.boundary), STATUS_OK);
    assert_true(scene.boundary.periodic[AXIS_X]);
    assert_false(scene.boundary.periodic[AXIS_Y]);
    boundary_destroy(&scene.boundary);
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 0, &closure), STATUS_OK);
    assert_false(closure.closed[FACE_X_MIN] || closure.closed[FACE_X_MAX]);
    assert_true(closure.closed[FACE_Y_MIN] && closure.closed[FACE_Y_MAX]);
    assert_true(closure.closed[FACE_Z_MIN] && closure.closed[FACE_Z_MAX]);
    assert_true(closure.a[FACE_Z_MAX] == 1 && closure.b[FACE_Z_MAX] == 0);
}

TEST(bad_values_are_caught)
{
    struct scene scene;
    struct coefficients closure = {.a = {[FACE_X_MIN] = 77}};
    make_scene(&scene);
    scene.settings.boundary[FACE_Y_MAX].number[BOUNDARY_VALUE].formula = "sqrt(1 - t)";
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 1, &closure), STATUS_OK);
    closure.a[FACE_X_MIN] = 77;
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 2, &closure), STATUS_NUMERICS);
    assert_string_equal(fail_message(),
                        "boundary.y_max.value: \"sqrt(1 - t)\" gives nan K at t = 2 s; a "
                        "temperature must be finite and below 5.5e+11 K in magnitude");
    assert_true(closure.a[FACE_X_MIN] == 77);
    make_scene(&scene);
    scene.settings.boundary[FACE_X_MAX].number[BOUNDARY_VALUE].formula = "1/(t - 2)";
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 2, &closure), STATUS_NUMERICS);
    assert_string_equal(fail_message(), "boundary.x_max.value: \"1/(t - 2)\" gives inf W/m^2 at "
                                        "t = 2 s; a heat flux must be finite");
    make_scene(&scene);
    scene.settings.boundary[FACE_Y_MIN].number[BOUNDARY_COEFFICIENT].formula = "1 - t";
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 2, &closure), STATUS_NUMERICS);
    assert_string_equal(fail_message(),
                        "boundary.y_min.coefficient: \"1 - t\" gives -1 W/(m^2 K) at t = 2 s; a "
                        "heat transfer coefficient must be finite and not negative");
    make_scene(&scene);
    scene.settings.boundary[FACE_Y_MIN].number[BOUNDARY_AMBIENT].formula = "20 - 30*t";
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 1, &closure), STATUS_NUMERICS);
    assert_non_null(strstr(fail_message(), "boundary.y_min.ambient: \"20 - 30*t\" at t = 1 s: "
                                           "kelvins? -10 K is below absolute zero"));
    make_scene(&scene);
    scene.settings.boundary[FACE_Y_MIN].emissivity = 1;
    scene.settings.boundary[FACE_Y_MIN].number[BOUNDARY_AMBIENT].formula = "1e6*t";
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 1, &closure), STATUS_NUMERICS);
    assert_non_null(strstr(fail_message(), "boundary.y_min.ambient: a face that radiates to 1e+06 "
                                           "K cannot be solved for on this grid"));
    make_scene(&scene);
    scene.settings.boundary[FACE_X_MAX].number[BOUNDARY_VALUE].value = 1e17;
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 0, &closure), STATUS_NUMERICS);
    assert_string_equal(fail_message(),
                        "boundary.x_max.value: this flux (1e+17 W/m^2) changes the temperature by "
                        "2.5e+13 K within one cell; give one that changes it by less than 1.1e+12 "
                        "K, or a finer grid");
    make_scene(&scene);
    scene.settings.boundary[FACE_Y_MIN].number[BOUNDARY_AMBIENT].value = -9e11;
    scene.settings.boundary[FACE_Y_MIN].number[BOUNDARY_COEFFICIENT].value = 1e9;
    assert_int_equal(close_at(&scene, PRECISION_FLOAT64, 0, &closure), STATUS_NUMERICS);
    assert_string_equal(fail_message(),
                        "boundary.y_min.ambient: this temperature (-9e+11 K) is too far from 0; "
                        "give one below 5.5e+11 K in magnitude");
}

TEST(bad_formulas_name_their_face)
{
    static const char text[] = "grid: {cells: [10], lower: [0], upper: [1]}\n"
                               "material: {conductivity: 1, density: 1, heat_capacity: 1}\n"
                               "initial: [{uniform: {value: 300}}]\n"
                               "boundary:\n"
                               "  x_min: {type: temperature, value: 300}\n"
                               "  x_max: {type: flux, value: 0}\n"
                               "time: {steps: 1}\n";
    struct settings *settings = NULL;
    assert_int_equal(settings_read_text("case.yaml", text, NULL, 0, &settings), STATUS_OK);
    char formula[] = "300 + (t";
    settings->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula = formula;
    struct boundary boundary = {.periodic = {true, false, false}};
    assert_int_equal(boundary_create(settings, &boundary), STATUS_INPUT);
    assert_non_null(strstr(fail_message(), "case.yaml:5"));
    assert_non_null(strstr(fail_message(), "boundary.x_min.value"));
    assert_true(boundary.periodic[AXIS_X]); /* nothing half-built is handed out */
    settings->boundary[FACE_X_MIN].number[BOUNDARY_VALUE].formula = NULL;
    settings_destroy(settings);
}

TEST_MAIN(NULL, NULL)
