/* The step and the conversions in a medium whose properties depend on temperature, of every backend
 * that has them, against a plain triple loop, bit for bit. */
#include "medium_problem.h"

#include <stdlib.h>
#include <string.h>

#include <omp.h>

static void check_convert(struct rig *rig, const struct problem *p)
{
    const size_t bytes = layout_bytes(&p->layout);
    for (int c = CONVERT_TO_ENTHALPY; c <= CONVERT_TO_LIQUID; c++) {
        void *h_expected = host_field(&p->layout);
        memcpy(h_expected, p->h_out, bytes);
        nonlinear_convert(p, (enum enthalpy_conversion)c, p->h_in, h_expected);
        void *d_in = rig_upload(rig, p->h_in, bytes);
        void *d_out = rig_upload(rig, p->h_out, bytes);
        const struct medium_args medium = problem_upload(rig, p);
        struct medium_args given = medium;
        must(rig->backend->operations->convert(rig->queue, &p->layout, &given,
                                               (enum enthalpy_conversion)c, d_in, d_out));
        memset(&given, 0xFF, sizeof given);
        must(rig->backend->runtime->queue_wait(rig->queue));
        void *h_got = rig_download(rig, d_out, bytes);
        assert_memory_equal(h_got, h_expected, bytes);
        free(h_got);
        free(h_expected);
        problem_free_medium(rig, &medium);
        rig->backend->runtime->memory_free(rig->device, d_in);
        rig->backend->runtime->memory_free(rig->device, d_out);
    }
}

static void check_shape(const int64_t cells[AXIS_COUNT], unsigned closed_faces, uint64_t seed)
{
    static const int nclasses[] = {1, 2, 8, 40};
    uint64_t random = seed;
    for (int precision = 0; precision < 2; precision++) {
        struct problem p;
        problem_create(&p, cells, closed_faces, nclasses[random_below(&random, 4)],
                       (enum pattern)random_below(&random, PATTERN_COUNT),
                       (enum precision)precision, &random);
        problem_make_nonlinear(&p, 1 << random_below(&random, 6), &random);
        const struct box owned = layout_owned(&p.layout);
        const int most[] = {1, 7, MAX_BOXES};
        const int64_t kind = random_below(&random, 3);
        p.nboxes = random_partition(&random, &owned, most[kind], p.boxes);
        p.nboxes = kind == 2 ? (p.nboxes + 1) / 2 : p.nboxes;
        problem_solve(&p);
        omp_set_num_threads(1 + (int)random_below(&random, 3));
        for (int b = 0; b < rig_backend_count(); b++) {
            struct rig rig;
            rig_open(&rig, rig_backend_at(b));
            if (rig.backend->operations->convert != NULL) {
                problem_check_step(&rig, rig.backend->operations->step, "step", &p, true);
                problem_check_step(&rig, rig.backend->operations->step, "without sums", &p, false);
                check_convert(&rig, &p);
            }
            rig_close(&rig);
        }
        problem_destroy(&p);
    }
}

static void shapes_of_all_kinds(void **state)
{
    (void)state;
    static const int64_t nx[] = {1, 2, 3, 7, 8, 17, 64, 125, 126, 127, 128, 513};
    static const int64_t ny[] = {1, 2, 3, 6, 7, 13};
    static const int64_t nz[] = {1, 2, 3, 7};
    uint64_t random = 1;
    for (size_t x = 0; x < sizeof nx / sizeof nx[0]; x++) {
        for (int n = 0; n < 8; n++) {
            const int64_t cells[AXIS_COUNT] = {nx[x], ny[random_below(&random, 6)],
                                               nz[random_below(&random, 4)]};
            check_shape(cells, (unsigned)random_below(&random, 64), random_bits(&random));
        }
    }
}

static void faces_in_all_combinations(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 64; closed++) {
        check_shape((const int64_t[]){18, 5, 3}, closed, closed);
        check_shape((const int64_t[]){1 + closed % 3, 3 - closed % 2, 1}, closed, closed);
    }
}

/* Large enough for several threads and for the fast kernels. */
static void large_shapes(void **state)
{
    (void)state;
    static const int64_t shapes[][AXIS_COUNT] = {{33, 17, 40}, {20011, 1, 1}, {300, 40, 1},
                                                 {64, 100, 2}, {260, 33, 9},  {231, 37, 21}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            check_shape(shapes[s], seed == 0 ? 63 : (unsigned)(37 * s + 11 * seed) % 64,
                        100 * s + seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_all_kinds),
        cmocka_unit_test(faces_in_all_combinations),
        cmocka_unit_test(large_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
