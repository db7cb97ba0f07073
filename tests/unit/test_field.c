/* Fields: moving boxes in and out, painting shapes; on every backend, for every decomposition. */
#include "../backend/rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "config/settings.h"
#include "kernels/backends.h"
#include "model/field/field.h"
#include "model/space/grid.h"

static const int64_t cells[AXIS_COUNT] = {13, 9, 7};
static const bool open_axes[AXIS_COUNT] = {false, false, false};

static void make_grid(const int64_t n[AXIS_COUNT], struct grid *grid)
{
    struct settings settings = {0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        settings.grid.cells[axis] = n[axis];
        settings.grid.lower[axis] = -0.25;
        settings.grid.upper[axis] = 0.25 + 0.5 * axis;
    }
    grid_create(&settings, grid);
}

static struct field *make_field(struct rig *rig, const struct decomp *decomp, int rank,
                                enum precision precision)
{
    struct field *field = NULL;
    must(field_create(rig->backend, rig->device, rig->queue, decomp, rank, precision, &field));
    return field;
}

/* Run `test` on every backend with both precisions. */
static void everywhere(void (*test)(struct rig *rig, enum precision precision))
{
    for (int n = 0; n < backend_count(); n++) {
        if (backend_at(n)->runtime->probe() != STATUS_OK) {
            continue;
        }
        struct rig rig;
        rig_open(&rig, backend_at(n));
        test(&rig, PRECISION_FLOAT64);
        test(&rig, PRECISION_FLOAT32);
        rig_close(&rig);
    }
}

static void *random_values(int64_t count, enum precision precision, uint64_t *random)
{
    void *values = malloc((size_t)count * precision_bytes(precision));
    assert_non_null(values);
    for (int64_t n = 0; n < count; n++) {
        const double value = random_between(random, 200, 900);
        if (precision == PRECISION_FLOAT64) {
            ((double *)values)[n] = value;
        } else {
            ((float *)values)[n] = (float)value;
        }
    }
    return values;
}

static struct box random_box(const struct box *outer, uint64_t *random)
{
    struct box box;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t a = random_below(random, outer->hi[axis] + 1);
        const int64_t b = random_below(random, outer->hi[axis] + 1);
        box.lo[axis] = a < b ? a : b;
        box.hi[axis] = a < b ? b : a;
    }
    return box;
}

/* Boxes written one over the other into a field and into a plain array: both must agree. */
static void boxes_travel(struct rig *rig, enum precision precision)
{
    const size_t size = precision_bytes(precision);
    struct decomp decomp;
    must(decomp_create(cells, (const bool[]){true, false, true}, 1, 2, NULL, &decomp));
    struct field *field = make_field(rig, &decomp, 0, precision);
    const struct box owned = layout_owned(&field->layout);
    uint64_t random = 99;
    char *plain = random_values(box_cells(&owned), precision, &random);
    must(field_write(field, &owned, plain));
    const size_t full_stage = field->stage_bytes;
    for (int trial = 0; trial < 60; trial++) {
        /* from a whole field down to one row at a time */
        const size_t row = (size_t)cells[AXIS_X] * size;
        field->stage_bytes = trial % 4 == 0 ? full_stage : row * (size_t)(1 + trial % 23);
        const struct box box = random_box(&owned, &random);
        char *values = random_values(box_cells(&box) + 1, precision, &random);
        must(field_write(field, &box, values));
        const int64_t run = box_extent(&box, AXIS_X) * (int64_t)size;
        int64_t from = 0;
        for (int64_t k = box.lo[2]; k < box.hi[2]; k++) {
            for (int64_t j = box.lo[1]; j < box.hi[1]; j++) {
                memcpy(plain + ((k * cells[1] + j) * cells[0] + box.lo[0]) * (int64_t)size,
                       values + from, (size_t)run);
                from += run;
            }
        }
        char *back = malloc((size_t)from + 1);
        back[from] = 'x';
        must(field_read(field, &box, back));
        assert_memory_equal(back, values, (size_t)from);
        assert_int_equal(back[from], 'x');
        free(back);
        free(values);
    }
    char *all = malloc((size_t)box_cells(&owned) * size);
    must(field_read(field, &owned, all));
    assert_memory_equal(all, plain, (size_t)box_cells(&owned) * size);
    field->stage_bytes = full_stage;
    free(all);
    free(plain);
    field_destroy(field);
}

TEST(boxes_travel_unchanged)
{
    everywhere(boxes_travel);
}

/* Layers of cells at every face, through stages of several sizes. */
static void layers_are_summed(struct rig *rig, enum precision precision)
{
    static const int64_t many[AXIS_COUNT] = {29, 31, 37};
    struct decomp decomp;
    must(decomp_create(many, open_axes, 1, 1, NULL, &decomp));
    struct field *field = make_field(rig, &decomp, 0, precision);
    const struct box owned = layout_owned(&field->layout);
    uint64_t random = 5;
    char *plain = random_values(box_cells(&owned), precision, &random);
    must(field_write(field, &owned, plain));
    const size_t full_stage = field->stage_bytes;
    for (int trial = 0; trial < 4 * FACE_COUNT; trial++) {
        const struct box layer = box_inside(&owned, (enum face)(trial % FACE_COUNT), 1);
        field->stage_bytes = full_stage >> trial / FACE_COUNT * 3;
        void *values = malloc((size_t)box_cells(&layer) * precision_bytes(precision));
        struct exact_parts parts = {{0}};
        struct exact_sum wanted = {{0}};
        struct exact_sum sum;
        struct field_sums queued;
        must(field_sums_begin(field, &layer, 1, &queued, &sum));
        must(field_sums_end(field, &queued));
        must(field_read(field, &layer, values));
        for (int64_t n = 0; n < box_cells(&layer); n++) {
            exact_parts_add(&parts, precision == PRECISION_FLOAT64
                                        ? ((const double *)values)[n]
                                        : (double)((const float *)values)[n]);
        }
        exact_sum_add_parts(&wanted, &parts);
        assert_memory_equal(&sum, &wanted, sizeof sum);
        free(values);
    }
    field->stage_bytes = full_stage;
    free(plain);
    field_destroy(field);
}

TEST(sums_of_layers)
{
    everywhere(layers_are_summed);
}

/* Fresh fields are NaN in every byte, halo and padding included, and writing the owned cells
 * leaves the rest alone. */
static void starts_as_nan(struct rig *rig, enum precision precision)
{
    struct decomp decomp;
    must(decomp_create(cells, (const bool[]){true, false, false}, 3, 1, (const int[]){1, 1, 3},
                       &decomp));
    struct field *field = make_field(rig, &decomp, 1, precision);
    assert_int_equal(field->layout.halo[AXIS_X], 1);
    assert_int_equal(field->layout.halo[AXIS_Y], 0);
    assert_int_equal(field->layout.halo[AXIS_Z], 1);
    const struct box owned = decomp_owned(&decomp, 1);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        assert_int_equal(field->placement.offset[axis], owned.lo[axis]);
        assert_int_equal(field->placement.global_cells[axis], cells[axis]);
    }
    const struct shape_setting uniform = {.kind = INITIAL_UNIFORM, .value = 7};
    struct grid grid;
    make_grid(cells, &grid);
    must(field_paint(field, &grid, &uniform, 1));
    const struct box local = layout_owned(&field->layout);
    void *now = rig_download(rig, field->d_now, layout_bytes(&field->layout));
    void *next = rig_download(rig, field->d_next, layout_bytes(&field->layout));
    int64_t painted = 0;
    for (int64_t e = 0; e < field->layout.elements; e++) {
        const double value = host_get(&field->layout, now, e);
        assert_true(isnan(host_get(&field->layout, next, e)));
        assert_true(value == 7 || isnan(value));
        painted += value == 7;
    }
    assert_int_equal(painted, box_cells(&local));
    free(now);
    free(next);
    const void *d_now = field->d_now;
    field_swap(field);
    assert_ptr_equal(field->d_next, d_now);
    uint64_t bytes = 0;
    must(field_bytes(rig->backend, &decomp, 1, precision, &bytes));
    assert_int_equal(bytes, 2 * layout_bytes(&field->layout) + field->stage_bytes);
    field_destroy(field);
}

TEST(fresh_fields_are_nan)
{
    everywhere(starts_as_nan);
}

/* Paint on every rank of a decomposition and gather the whole grid as doubles. */
static void paint_and_gather(struct rig *rig, const struct decomp *decomp, enum precision precision,
                             const struct grid *grid, const struct shape_setting *shapes,
                             int nshapes, double *whole)
{
    for (int rank = 0; rank < decomp->nranks; rank++) {
        struct field *field = make_field(rig, decomp, rank, precision);
        /* one row at a time on every other rank */
        if (rank % 2 == 1) {
            field->stage_bytes = (size_t)field->layout.cells[AXIS_X] * precision_bytes(precision);
        }
        for (int n = 0; n < nshapes; n++) {
            must(field_paint(field, grid, &shapes[n], 1));
        }
        const struct box local = layout_owned(&field->layout);
        const struct box owned = decomp_owned(decomp, rank);
        void *values = malloc((size_t)box_cells(&local) * precision_bytes(precision));
        must(field_read(field, &local, values));
        int64_t n = 0;
        for (int64_t k = owned.lo[2]; k < owned.hi[2]; k++) {
            for (int64_t j = owned.lo[1]; j < owned.hi[1]; j++) {
                for (int64_t i = owned.lo[0]; i < owned.hi[0]; i++) {
                    whole[(k * grid->cells[1] + j) * grid->cells[0] + i] =
                        host_get(&field->layout, values, n++);
                }
            }
        }
        free(values);
        field_destroy(field);
    }
}

enum { SHAPES = 4 };
static char formula[] = "300 + 10*sin(3*x) + y*z";
static const struct shape_setting shapes[SHAPES] = {
    {.kind = INITIAL_EXPRESSION, .expression = formula},
    {.kind = INITIAL_SPHERE, .value = 900.1, .center = {0, 0.2, 0.4}, .radius = 0.31},
    {.kind = INITIAL_BOX, .value = 77.7, .lower = {0.05, -0.25, 0.3}, .upper = {0.25, 0.1, 1.25}},
    {.kind = INITIAL_BOX, .value = 5.5, .lower = {-0.25, -0.25, -0.25}, .upper = {-0.2, 0, 0}},
};

/* What the shapes mean, written down once more. */
static double expected_at(const struct grid *grid, int64_t i, int64_t j, int64_t k)
{
    const double x = grid_center(grid, AXIS_X, i);
    const double y = grid_center(grid, AXIS_Y, j);
    const double z = grid_center(grid, AXIS_Z, k);
    double value = 300 + 10 * sin(3 * x) + y * z;
    const double dy = grid->used[AXIS_Y] ? y - 0.2 : 0;
    const double dz = grid->used[AXIS_Z] ? z - 0.4 : 0;
    if (x * x + dy * dy + dz * dz <= 0.31 * 0.31) {
        value = 900.1;
    }
    const bool flat_y = !grid->used[AXIS_Y];
    const bool flat_z = !grid->used[AXIS_Z];
    if (x >= 0.05 && (flat_y || y < 0.1) && (flat_z || z >= 0.3)) {
        value = 77.7;
    }
    if (x < -0.2 && (flat_y || y < 0) && (flat_z || z < 0)) {
        value = 5.5;
    }
    return value;
}

static void check_painted(const struct grid *grid, enum precision precision, const double *painted)
{
    for (int64_t c = 0; c < grid_total_cells(grid); c++) {
        const double expected =
            expected_at(grid, c % grid->cells[0], c / grid->cells[0] % grid->cells[1],
                        c / grid->cells[0] / grid->cells[1]);
        const double tolerance = precision == PRECISION_FLOAT64 ? 1e-12 : 1e-4;
        assert_true(fabs(painted[c] - expected) <= tolerance);
        if (expected == 900.1 || expected == 77.7) {
            assert_true(painted[c] ==
                        (precision == PRECISION_FLOAT64 ? expected : (double)(float)expected));
        }
    }
}

static void paints_like_the_formulas(struct rig *rig, enum precision precision)
{
    static const int64_t grids[][AXIS_COUNT] = {{13, 9, 7}, {16, 11, 1}, {29, 1, 1}};
    static double first[13 * 9 * 7];
    static double whole[13 * 9 * 7];
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        struct grid grid;
        make_grid(grids[g], &grid);
        const int64_t n = grid_total_cells(&grid);
        for (int nranks = 1; nranks <= 8; nranks++) {
            struct decomp decomp;
            must(decomp_create(grids[g], open_axes, nranks, 1, NULL, &decomp));
            paint_and_gather(rig, &decomp, precision, &grid, shapes, SHAPES,
                             nranks == 1 ? first : whole);
            if (nranks > 1) {
                assert_memory_equal(whole, first, (size_t)n * sizeof(double));
            }
        }
        check_painted(&grid, precision, first);
    }
}

TEST(shapes_paint_the_same_everywhere)
{
    everywhere(paints_like_the_formulas);
}

enum { THREAD_COUNTS = 4 };
static const int thread_counts[THREAD_COUNTS] = {1, 2, 3, 5};

/* Paint all shapes over a fresh field on one rank, with as much of a stage, and get it as bytes. */
static void *paint_with(struct rig *rig, const struct grid *grid, enum precision precision,
                        int nthreads, size_t stage_bytes)
{
    struct decomp decomp;
    must(decomp_create(grid->cells, open_axes, 1, 1, NULL, &decomp));
    struct field *field = make_field(rig, &decomp, 0, precision);
    assert_true(stage_bytes <= field->stage_bytes);
    field->stage_bytes = stage_bytes;
    omp_set_num_threads(nthreads);
    for (int n = 0; n < SHAPES; n++) {
        must(field_paint(field, grid, &shapes[n], 1));
    }
    const struct box owned = layout_owned(&field->layout);
    void *values = malloc((size_t)box_cells(&owned) * precision_bytes(precision));
    assert_non_null(values);
    must(field_read(field, &owned, values));
    field_destroy(field);
    return values;
}

/* Enough cells for a share a thread, of which few begin or end with a row. */
static void threads_paint_alike(struct rig *rig, enum precision precision)
{
    static const int64_t grids[][AXIS_COUNT] = {{67, 53, 41}, {251, 197, 1}, {50021, 1, 1}};
    const int nthreads_before = omp_get_max_threads();
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        struct grid grid;
        make_grid(grids[g], &grid);
        const size_t count = (size_t)grid_total_cells(&grid);
        const size_t row = (size_t)grids[g][AXIS_X] * precision_bytes(precision);
        const size_t all = count * precision_bytes(precision);
        void *alone = paint_with(rig, &grid, precision, 1, all);
        double *first = malloc(count * sizeof *first);
        assert_non_null(first);
        for (size_t c = 0; c < count; c++) {
            first[c] = precision == PRECISION_FLOAT64 ? ((const double *)alone)[c]
                                                      : (double)((const float *)alone)[c];
        }
        check_painted(&grid, precision, first);
        const size_t stages[] = {all, 100 * row, 9 * row};
        for (int t = 0; t < THREAD_COUNTS; t++) {
            for (int n = 0; n < 3; n++) {
                void *values = paint_with(rig, &grid, precision, thread_counts[t],
                                          stages[n] < all ? stages[n] : all);
                assert_memory_equal(values, alone, all);
                free(values);
            }
        }
        free(first);
        free(alone);
    }
    omp_set_num_threads(nthreads_before);
}

TEST(threads_paint_the_same_bits)
{
    everywhere(threads_paint_alike);
}

TEST(box_edges_are_half_open)
{
    /* centres at 0.5, 1.5, ... 7.5 */
    const int64_t n[AXIS_COUNT] = {8, 1, 1};
    struct settings settings = {.grid = {.cells = {8, 1, 1}, .upper = {8, 1, 1}}};
    struct grid grid;
    grid_create(&settings, &grid);
    struct decomp decomp;
    must(decomp_create(n, open_axes, 3, 1, NULL, &decomp));
    struct rig rig;
    rig_open(&rig, backend_find("cpu"));
    const struct shape_setting steps[] = {
        {.kind = INITIAL_UNIFORM, .value = 1},
        {.kind = INITIAL_BOX, .value = 2, .lower = {1.5}, .upper = {4.5}},
        {.kind = INITIAL_SPHERE, .value = 3, .center = {6}, .radius = 0.5},
    };
    double whole[8];
    paint_and_gather(&rig, &decomp, PRECISION_FLOAT64, &grid, steps, 3, whole);
    const double expected[8] = {1, 2, 2, 2, 1, 3, 3, 1};
    assert_memory_equal(whole, expected, sizeof whole);
    rig_close(&rig);
}

/* A formula that is bad in many cells, or in the last one only: the message is of the first. */
TEST(threads_name_the_first_bad_cell)
{
    const int64_t n[AXIS_COUNT] = {64, 40, 32};
    struct settings settings = {.grid = {.cells = {64, 40, 32}, .upper = {64, 40, 32}}};
    const int nthreads_before = omp_get_max_threads();
    static char texts[][48] = {
        "0 / 0",
        "sqrt(20 - z)",
        "y > 39 || z > 5 ? 1e12 : 1",
        "x > 33 && y > 21 && z > 4 ? 1e12 : 1",
        "x > 63 && y > 39 && z > 31 ? -1e12 : 1",
        "300 + w",
    };
    static const char *const places[] = {
        "gives nan K at x = 0.5, y = 0.5, z = 0.5 m;",
        "gives nan K at x = 0.5, y = 0.5, z = 20.5 m;",
        "gives 1e+12 K at x = 0.5, y = 39.5, z = 0.5 m;",
        "gives 1e+12 K at x = 33.5, y = 21.5, z = 4.5 m;",
        "gives -1e+12 K at x = 63.5, y = 39.5, z = 31.5 m;",
        "",
    };
    struct grid grid;
    grid_create(&settings, &grid);
    struct decomp decomp;
    must(decomp_create(n, open_axes, 1, 1, NULL, &decomp));
    struct rig rig;
    rig_open(&rig, backend_find("cpu"));
    struct field *field = make_field(&rig, &decomp, 0, PRECISION_FLOAT64);
    const size_t full_stage = field->stage_bytes;
    for (int trial = 0; trial < 6 * 2 * THREAD_COUNTS; trial++) {
        const int bad = trial / (2 * THREAD_COUNTS);
        struct shape_setting shape = {.kind = INITIAL_EXPRESSION, .expression = texts[bad]};
        field->stage_bytes = trial % 2 == 0 ? full_stage : 11 * 64 * sizeof(double);
        omp_set_num_threads(thread_counts[trial / 2 % THREAD_COUNTS]);
        fail_clear();
        assert_int_equal(field_paint(field, &grid, &shape, 1), STATUS_INPUT);
        assert_non_null(strstr(fail_message(), places[bad]));
    }
    omp_set_num_threads(nthreads_before);
    field->stage_bytes = full_stage;
    field_destroy(field);
    rig_close(&rig);
}

TEST_MAIN(NULL, NULL)
