/* Steps and passes of several steps of every backend against a plain loop, bit for bit: kinds times
 * schedules times boxes, with faces of all types, and the sums over closed faces. */
#include "problem.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With ISOTHERM_TEST_KIND only the kind of that number. */
static bool is_chosen(enum kind kind)
{
    const char *only = getenv("ISOTHERM_TEST_KIND");
    return only == NULL || strtol(only, NULL, 10) == (long)kind;
}

/* Without a copy engine the variants of that name run the kernel of `step`, and launch shapes are
 * of the march alone, which takes boxes of at least MARCH_CELLS cells. */
enum { MARCH_CELLS = 1 << 20 };
static bool has_copy_engine(void)
{
    const char *answer = getenv("ISOTHERM_TEST_COPY_ENGINE");
    return answer == NULL || strcmp(answer, "no") != 0;
}

/* Every launch shape, chosen for the first box: speed may depend on it, bits may not. */
static void check_launch_shapes(struct rig *rig, const struct problem *p)
{
    if (!has_copy_engine() && box_cells(&p->boxes[0]) < MARCH_CELLS) {
        return;
    }
    const struct operations *operations = rig->backend->operations;
    const char *const *names = NULL;
    const int nshapes = operations->step_shapes != NULL ? operations->step_shapes(&names) : 0;
    int64_t extent[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        extent[axis] = box_extent(&p->boxes[0], (enum axis)axis);
    }
    for (int shape = 0; shape < nshapes; shape++) {
        must(operations->step_shape(rig->device, p->layout.precision, extent, shape));
        problem_check_step(rig, operations->step, names[shape], p, true);
    }
}

/* Every schedule that the backend has for the problem. */
static void check_schedules(struct rig *rig, const struct problem *p)
{
    const struct operations *operations = rig->backend->operations;
    const enum kind kind = p->args.kind;
    if (p->h_start != NULL) {
        problem_check_compare(rig, p);
        return;
    }
    if (p->nsteps > 1) {
        if (problem_fits(p, operations)) {
            problem_check_step(rig, operations->step, "pass", p, true);
        }
        return;
    }
    problem_check_step(rig, operations->step, "step", p, true);
    problem_check_step(rig, operations->step, "step without sums", p, false);
    if (kind != KIND_ENTHALPY && kind != KIND_HIGH_ORDER) {
        for (int v = 0; v < operations->nvariants; v++) {
            const struct kernel_variant *variant = &operations->variants[v];
            if ((has_copy_engine() && kind != KIND_FACES && kind != KIND_GRADED) ||
                strncmp(variant->name, "staged", strlen("staged")) != 0) {
                problem_check_step(rig, variant->step, variant->name, p, true);
            }
        }
    }
    if (kind == KIND_UNIFORM) {
        check_launch_shapes(rig, p);
    }
}

static void check_problem(const struct problem *p)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        check_schedules(&rig, p);
        rig_close(&rig);
    }
}

/* Whether a backend has passes of so many steps. */
static bool is_possible(enum kind kind, int nsteps)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        if (nsteps <= rig_backend_at(b)->operations->steps_most[kind]) {
            return true;
        }
    }
    return nsteps == 1;
}

static void check(enum kind kind, const int64_t cells[AXIS_COUNT], unsigned closed_faces,
                  int nsteps, uint64_t seed)
{
    uint64_t random = seed;
    for (int n = 0; n < 2 && is_chosen(kind) && is_possible(kind, nsteps); n++) {
        struct problem p;
        problem_create_kind(&p, kind, cells, closed_faces, nsteps, (enum precision)n, &random);
        problem_choose_boxes(&p, &random);
        problem_solve(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        check_problem(&p);
        if (random_below(&random, 3) == 0) {
            problem_let_correct(&p, &random);
            problem_solve(&p);
            check_problem(&p);
        }
        const bool often = random_below(&random, 4) == 0 || kind == KIND_CLASSES;
        if (nsteps == 1 && kind != KIND_HIGH_ORDER && often) {
            problem_compare(&p, &random);
            check_problem(&p);
        }
        problem_destroy(&p);
    }
}

static void check_kinds(const int64_t cells[AXIS_COUNT], unsigned closed_faces, int nsteps,
                        uint64_t seed)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        check((enum kind)kind, cells, closed_faces, nsteps, seed);
    }
}

static void check_single(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    check_kinds(cells, closed_faces, 1, seed);
}

TEST(single_shapes_of_all_kinds)
{
    rig_shapes_of_all_kinds(check_single);
}

TEST(single_faces_in_all_combinations)
{
    rig_faces_in_all_combinations(check_single);
}

/* Several threads, chunks of a row, tiles, the fast kernels; axes out of use; columns of staged
 * planes, and those that begin next to a face. */
TEST(single_large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {33, 17, 40},  {20011, 1, 1}, {300, 40, 1}, {64, 100, 2}, {1, 95, 97},   {4100, 3, 1},
        {100, 130, 3}, {1, 1, 9000},  {3, 2900, 1}, {260, 33, 9}, {400, 70, 41}, {125, 7, 3},
        {126, 13, 2},  {127, 6, 7},   {128, 7, 3},  {8, 9, 200},  {65, 35, 17},  {131, 50, 18},
        {67, 9, 40},   {64, 64, 10},  {1100, 8, 9}, {20, 307, 35}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            if (!rig_leaves_out(s, seed)) {
                check_single(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                             100 * s + seed);
            }
        }
    }
}

/* Of high order: as thick as the radius, between neighbours or with one closed face. */
TEST(single_thin_blocks)
{
    for (unsigned n = 0; n < 81; n++) {
        const unsigned closed = (n % 3) | (n / 3 % 3) << 2 | (n / 9 % 3) << 4;
        check(KIND_HIGH_ORDER, (const int64_t[]){2, 2 + n % 3, 2}, closed, 1, n);
    }
}

/* Every pattern and number of classes, in boxes that the fast kernels take. */
TEST(single_patterns_of_classes)
{
    static const int nclasses[] = {1, 2, 8, 64, 255};
    uint64_t random = 5;
    for (int n = 0; n < 5 * PATTERN_COUNT * 2 && is_chosen(KIND_CLASSES); n++) {
        struct problem p;
        if (rig_leaves_out(0, (uint64_t)n)) {
            continue;
        }
        problem_create(&p, (const int64_t[]){231, 37, 11}, random_below(&random, 2) == 0 ? 18 : 63,
                       nclasses[n / 2 / PATTERN_COUNT], (enum pattern)(n / 2 % PATTERN_COUNT),
                       (enum precision)(n % 2), &random);
        problem_solve_owned(&p);
        check_problem(&p);
        problem_destroy(&p);
    }
}

/* The same field in 1 and in 13 boxes, on 1 and 3 threads: the same face sums, by digits. */
TEST(single_face_sums_do_not_depend_on_the_partition)
{
    uint64_t random = 77;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct problem p;
        problem_create_kind(&p, (enum kind)kind, (const int64_t[]){31, 30, 29}, 63, 1,
                            PRECISION_FLOAT64, &random);
        const struct box owned = layout_owned(&p.layout);
        p.nboxes = random_partition(&random, &owned, 1, p.boxes);
        problem_solve(&p);
        for (int threads = 1; threads <= 3 && is_chosen((enum kind)kind); threads++) {
            omp_set_num_threads(threads);
            check_problem(&p);
            p.nboxes = random_partition(&random, &owned, 13, p.boxes);
        }
        problem_destroy(&p);
    }
}

TEST(passes_of_small_shapes)
{
    static const int64_t nx[] = {1, 2, 5, 8, 17, 33, 64, 131};
    static const int64_t ny[] = {1, 2, 3, 9, 21};
    static const int64_t nz[] = {1, 2, 7, 15};
    uint64_t random = 1;
    for (int nsteps = 2; nsteps <= STEPS_MOST; nsteps++) {
        for (int n = 0; n < 24; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[random_below(&random, 8)],
                                               ny[random_below(&random, 5)],
                                               nz[random_below(&random, 4)]};
            const unsigned closed = (unsigned)random_below(&random, 64);
            const uint64_t seed = random_bits(&random);
            if (!rig_leaves_out((size_t)nsteps, (uint64_t)(n / 2))) {
                check(KIND_UNIFORM, cells, closed, nsteps, seed);
                for (int k = 0; k < 2 && n % 2 == 0; k++) { /* the reference takes longer */
                    check(k == 0 ? KIND_CLASSES : KIND_FACES, cells, closed, nsteps, seed);
                }
            }
        }
    }
}

TEST(passes_with_faces_in_all_combinations)
{
    for (unsigned closed = 0; closed < 64; closed++) {
        check_kinds((const int64_t[]){18, 9, 11}, closed, 2 + (int)closed % 3, closed);
    }
}

/* Several tiles on every axis, on the backends that divide a box into tiles. */
TEST(passes_of_large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {520, 100, 20}, {129, 97, 67}, {1000, 500, 1}, {70001, 1, 1}, {130, 3, 150}, {66, 50, 130},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 0; n < 3; n++) {
            if (!rig_leaves_out(s, (uint64_t)n)) {
                check(KIND_UNIFORM, shapes[s],
                      n == 0 ? 63 : (unsigned)(37 * s + 11 * (size_t)n) % 64, 2 + n,
                      10 * s + (size_t)n);
            }
        }
    }
}

TEST(passes_of_fairly_large_shapes)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {200, 70, 40}, {1000, 60, 1}, {9001, 1, 1}, {130, 3, 201}, {66, 50, 193}, {1300, 8, 20},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 0; n < 2; n++) {
            if (!rig_leaves_out(s, (uint64_t)n + KIND_CLASSES)) {
                const unsigned closed = n == 0 ? 63 : (unsigned)(37 * s + 11) % 64;
                check(KIND_CLASSES, shapes[s], closed, 2 + n + (int)s % 2, 10 * s + (size_t)n);
                for (size_t m = 0; m < (s == 0 ? 6 : 1); m++) { /* a few without radiation */
                    check(KIND_FACES, shapes[s], closed, 2, 10 * s + (size_t)n + 7 * m);
                }
            }
        }
    }
}

/* Two and three steps, which have schedules of their own on some chips. */
TEST(passes_of_classes)
{
    static const int64_t shapes[][AXIS_COUNT] = {{200, 70, 30}, {131, 52, 33}, {66, 97, 21}};
    for (uint64_t n = 0; n < 24; n++) {
        if (!rig_leaves_out(0, n)) {
            check(KIND_CLASSES, shapes[n / 3 % 3], n % 2 == 0 ? 63 : (unsigned)(41 * n) % 64,
                  n < 12 ? 3 : 2, 700 + n);
        }
    }
}

/* Where flags say that a wave has one class, three steps look it up once; and where all faces are
 * closed, planes of one class each have kernels of their own, for two steps and for three. */
TEST(passes_of_layers)
{
    uint64_t random = 3;
    for (int found = 0; found < 8 && is_possible(KIND_CLASSES, 3);) {
        struct problem p;
        problem_create_kind(&p, KIND_CLASSES, (const int64_t[]){found < 4 ? 66 : 150, 52, 40},
                            found % 4 != 3 ? 63 : 21, found % 3 == 0 ? 2 : 3,
                            found % 4 == 2 ? PRECISION_FLOAT32 : PRECISION_FLOAT64, &random);
        const bool fits = p.medium.nclasses <= 16 && (found % 2 != 0 || p.medium.dt_number == 0);
        if (fits && problem_is_of_layers(&p) && ++found > 0) {
            problem_solve_owned(&p);
            check_problem(&p);
        }
        problem_destroy(&p);
    }
}

/* As many steps as a tile is wide; rows that are divided, and end within a line; a pass that is
 * longer than what stays in registers. */
TEST(passes_that_are_long)
{
    static const int64_t shapes[][AXIS_COUNT] = {
        {1101, 40, 9}, {1300, 1, 20}, {5, 300, 12}, {1031, 90, 1}, {9001, 1, 1}, {64, 1, 90},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int n = 5; n <= STEPS_MOST; n++) {
            if (!rig_leaves_out(s, (uint64_t)n)) {
                check(KIND_UNIFORM, shapes[s],
                      n == 5 ? 63 : (unsigned)(29 * s + 13 * (size_t)n) % 64, n,
                      100 * s + (size_t)n);
            }
        }
    }
}

/* Large enough for the cpu backend to try its ways and tiles, one call after the other: no call may
 * differ by a bit. */
static void check_calls(const struct problem *p)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        const struct operations *operations = rig_backend_at(b)->operations;
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        /* a GPU is told its launch shape, and tries nothing by itself */
        const int calls = backend_has(rig.backend, BACKEND_GPU) ? 2 : 17;
        for (int call = 0; call < calls; call++) {
            if (p->nsteps == 1 || problem_fits(p, operations)) {
                problem_check_step(&rig, operations->step, "call", p, true);
            }
        }
        rig_close(&rig);
    }
}

/* `nclasses` 0: a uniform medium. */
static void check_first_calls(const int64_t cells[AXIS_COUNT], int nsteps, int nclasses,
                              enum precision precision, uint64_t seed)
{
    uint64_t random = seed;
    struct problem p;
    if (!is_chosen(nclasses > 0 ? KIND_CLASSES : KIND_UNIFORM)) {
        return;
    }
    if (nclasses > 0) {
        problem_create(&p, cells, precision == PRECISION_FLOAT64 ? 63 : 60, nclasses,
                       PATTERN_BLOCKS, precision, &random);
    } else {
        problem_create_kind(&p, KIND_UNIFORM, cells, 63, nsteps, precision, &random);
    }
    problem_solve_owned(&p);
    check_calls(&p);
    problem_destroy(&p);
}

TEST(single_first_calls_and_later_ones)
{
    static const int64_t cells[AXIS_COUNT] = {500, 101, 23};
    check_first_calls(cells, 1, 0, PRECISION_FLOAT64, 123);
    check_first_calls(cells, 1, 8, PRECISION_FLOAT32, 136);
    check_first_calls(cells, 1, 8, PRECISION_FLOAT64, 136);
}

TEST(passes_first_calls_and_later_ones)
{
    check_first_calls((const int64_t[]){150, 130, 60}, 3, 0, PRECISION_FLOAT64, 5);
}

/* --- sleeping tiles -------------------------------------------------------------------------- */

static struct rig *tiles_rig;

static void *zeros(size_t bytes)
{
    void *h_zeros = calloc(1, bytes);
    assert_non_null(h_zeros);
    void *d_zeros = rig_upload(tiles_rig, h_zeros, bytes);
    free(h_zeros);
    return d_zeros;
}

static struct tiles tiles_of(const struct step_args *args)
{
    const int64_t wide = args->layout.precision == PRECISION_FLOAT64 ? 32 : 64;
    struct tiles tiles = {
        .size = {wide, 16, 8},
        .radius = args->levels->kind == KIND_HIGH_ORDER ? args->levels->high_order.radius : 1};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        tiles.cells[axis] = args->layout.cells[axis];
        tiles.count[axis] = (tiles.cells[axis] + tiles.size[axis] - 1) / tiles.size[axis];
    }
    for (int face = 0; face < FACE_COUNT; face++) {
        tiles.open[face] = !args->levels->closed[face];
    }
    const size_t total = (size_t)tiles_total(&tiles);
    tiles.d_changed = zeros(total * sizeof *tiles.d_changed);
    tiles.d_list = zeros(total * sizeof *tiles.d_list);
    tiles.d_awake = zeros(sizeof *tiles.d_awake);
    tiles.d_sums = zeros(total * FACE_COUNT * sizeof *tiles.d_sums);
    return tiles;
}

static void free_tiles(const struct tiles *tiles)
{
    void (*release)(struct device *, void *) = tiles_rig->backend->runtime->memory_free;
    release(tiles_rig->device, tiles->d_changed);
    release(tiles_rig->device, tiles->d_list);
    release(tiles_rig->device, tiles->d_awake);
    release(tiles_rig->device, tiles->d_sums);
}

/* The same step three times: of all tiles, its sums to other memory; after a pause in which nothing
 * changes, of none but those at open faces; and of those around one cell. What is left out has its
 * result and its sums by then. */
static enum status step_of_tiles(struct queue *queue, const struct step_args *args)
{
    const struct operations *operations = tiles_rig->backend->operations;
    struct tiles tiles = tiles_of(args);
    struct exact_sum *d_other = zeros(sizeof *d_other);
    struct coefficients elsewhere = *args->levels;
    struct step_args all = *args;
    struct step_args some = *args;
    const struct box cell = {{args->layout.cells[0] / 2, args->layout.cells[1] / 2, 0},
                             {args->layout.cells[0] / 2 + 1, args->layout.cells[1] / 2 + 1, 1}};
    for (int face = 0; face < FACE_COUNT; face++) {
        if (elsewhere.d_face_sum[face] != NULL) {
            elsewhere.d_face_sum[face] = d_other;
        }
    }
    tiles.step = 1;
    tiles.all = true;
    all.levels = &elsewhere;
    all.tiles = some.tiles = &tiles;
    TRY(operations->step(queue, &all));
    tiles.step = 8; /* as if there had been others; counts alternate */
    tiles.all = false;
    TRY(operations->step(queue, &all));
    TRY(operations->add_source(queue, &(struct add_source_args){.layout = args->layout,
                                                                .d_field = args->d_out,
                                                                .box = cell,
                                                                .d_sum = d_other,
                                                                .tiles = &tiles}));
    tiles.step = 9;
    TRY(operations->step(queue, &some));
    TRY(tiles_rig->backend->runtime->queue_wait(queue));
    struct tiles_awake *awake = rig_download(tiles_rig, tiles.d_awake, sizeof *awake);
    assert_true(awake->advanced > (uint64_t)tiles_total(&tiles));
    assert_true(awake->count[1] > 0 && awake->count[1] <= tiles_total(&tiles));
    const bool closed = args->levels->closed[0] && args->levels->closed[1] &&
                        args->levels->closed[2] && args->levels->closed[3] &&
                        args->levels->closed[4] && args->levels->closed[5];
    assert_true(!closed || awake->count[1] <= 6);
    free(awake);
    tiles_rig->backend->runtime->memory_free(tiles_rig->device, d_other);
    free_tiles(&tiles);
    return STATUS_OK;
}

TEST(single_tiles)
{
    static const int64_t shapes[][AXIS_COUNT] = {{70, 35, 20}, {131, 17, 9}, {64, 1, 33},
                                                 {200, 40, 1}, {9, 8, 50},   {1, 40, 17}};
    uint64_t random = 31;
    for (int n = 0; n < 6 * KIND_COUNT * 2; n++) {
        const enum kind kind = (enum kind)(n / 2 % KIND_COUNT);
        struct problem p;
        if (!is_chosen(kind) || rig_leaves_out(0, (uint64_t)(n / 2))) {
            continue;
        }
        problem_create_kind(&p, kind, shapes[n / 2 / KIND_COUNT],
                            n % 4 == 0 ? (unsigned)random_below(&random, 64) : 63, 1,
                            (enum precision)(n % 2), &random);
        problem_solve_owned(&p);
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            tiles_rig = &rig;
            problem_check_step(&rig, step_of_tiles, "tiles", &p, true);
            problem_check_step(&rig, step_of_tiles, "tiles without sums", &p, false);
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

/* Which: a pattern of names of tests, such as "single*". */
int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return test_run(NULL, NULL);
}
