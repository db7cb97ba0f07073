/* Summaries, hashes and exact sums: right, and independent of order, threads and decomposition. */
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "kernels/cell/heat_cell.h"

/* A block of a global grid with its values on the host, NaN in halo and padding. */
struct block {
    struct layout layout;
    struct placement placement;
    void *h_field;
};

static void block_create(struct block *block, const struct box *where,
                         const int64_t global[AXIS_COUNT], const double *values,
                         enum precision precision)
{
    const int64_t cells[AXIS_COUNT] = {box_extent(where, AXIS_X), box_extent(where, AXIS_Y),
                                       box_extent(where, AXIS_Z)};
    must(layout_create(cells, (const int[]){1, 2, 0}, precision, &block->layout));
    block->h_field = host_field(&block->layout);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        block->placement.global_cells[axis] = global[axis];
        block->placement.offset[axis] = where->lo[axis];
    }
    for (int64_t k = 0; k < cells[2]; k++) {
        for (int64_t j = 0; j < cells[1]; j++) {
            for (int64_t i = 0; i < cells[0]; i++) {
                const int64_t from =
                    ((where->lo[2] + k) * global[1] + where->lo[1] + j) * global[0] + where->lo[0] +
                    i;
                host_set(&block->layout, block->h_field, layout_index(&block->layout, i, j, k),
                         values[from]);
            }
        }
    }
}

static struct field_summary summary_of(struct rig *rig, const struct block *block)
{
    struct field_summary summary;
    void *d_field = rig_upload(rig, block->h_field, layout_bytes(&block->layout));
    must(ENQUEUE(rig->backend->operations, summarise, rig->queue, .layout = block->layout,
                 .placement = block->placement, .d_field = d_field, .h_summary = &summary));
    must(rig->backend->runtime->queue_wait(rig->queue));
    rig->backend->runtime->memory_free(rig->device, d_field);
    return summary;
}

static uint64_t hash_of(struct rig *rig, const struct block *block)
{
    uint64_t hash;
    void *d_field = rig_upload(rig, block->h_field, layout_bytes(&block->layout));
    must(ENQUEUE(rig->backend->operations, hash, rig->queue, .layout = block->layout,
                 .placement = block->placement, .d_field = d_field, .h_hash = &hash));
    must(rig->backend->runtime->queue_wait(rig->queue));
    rig->backend->runtime->memory_free(rig->device, d_field);
    return hash;
}

/* What summarise and hash shall find in the global grid. */
struct expectation {
    struct field_summary summary;
    uint64_t hash;
};

static struct expectation expect(const double *values, int64_t n, enum precision precision)
{
    struct expectation e = {.summary = {.min = INFINITY, .max = -INFINITY, .first_bad = -1}};
    __int128 sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const float narrow = (float)values[i];
        const double value = precision == PRECISION_FLOAT64 ? values[i] : (double)narrow;
        uint64_t bits = 0;
        memcpy(&bits, precision == PRECISION_FLOAT64 ? (const void *)&value : (const void *)&narrow,
               precision_bytes(precision));
        e.hash += heat_cell_hash((uint64_t)i, bits);
        if (!(fabs(value) < EXACT_SUM_LIMIT)) {
            e.summary.bad_cells++;
            e.summary.first_bad = e.summary.first_bad < 0 ? i : e.summary.first_bad;
            continue;
        }
        sum += fixed_point(value);
        e.summary.min = fmin(e.summary.min, value);
        e.summary.max = fmax(e.summary.max, value);
    }
    e.summary.sum = fixed_digits(sum);
    return e;
}

static void merge(struct field_summary *all, const struct field_summary *part)
{
    all->min = fmin(all->min, part->min);
    all->max = fmax(all->max, part->max);
    exact_sum_add(&all->sum, &part->sum);
    all->bad_cells += part->bad_cells;
    if (part->first_bad >= 0 && (all->first_bad < 0 || part->first_bad < all->first_bad)) {
        all->first_bad = part->first_bad;
    }
}

/* Cut the grid at random, reduce the blocks, and compare what they give together. */
static void check_reductions(struct rig *rig, const int64_t global[AXIS_COUNT],
                             const double *values, enum precision precision, int nblocks)
{
    uint64_t random = (uint64_t)nblocks;
    const struct box grid = box_of_cells(global);
    struct box pieces[16];
    const int npieces = random_partition(&random, &grid, nblocks, pieces);
    struct field_summary all = {.min = INFINITY, .max = -INFINITY, .first_bad = -1};
    uint64_t hash = 0;
    for (int p = 0; p < npieces; p++) {
        struct block block;
        block_create(&block, &pieces[p], global, values, precision);
        const struct field_summary part = summary_of(rig, &block);
        merge(&all, &part);
        hash += hash_of(rig, &block);
        free(block.h_field);
    }
    const struct expectation e = expect(values, box_cells(&grid), precision);
    assert_int_equal(hash, e.hash);
    assert_memory_equal(&all, &e.summary, sizeof all);
}

static void check_everywhere(const int64_t global[AXIS_COUNT], const double *values)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (int nblocks = 1; nblocks <= 13; nblocks += 4) {
            omp_set_num_threads(1 + nblocks % 3);
            check_reductions(&rig, global, values, PRECISION_FLOAT64, nblocks);
            check_reductions(&rig, global, values, PRECISION_FLOAT32, nblocks);
        }
        rig_close(&rig);
    }
}

TEST(reductions_do_not_depend_on_the_decomposition)
{
    static const int64_t grids[][AXIS_COUNT] = {{1, 1, 1},    {1500, 1, 1}, {37, 41, 1},
                                                {19, 23, 29}, {1, 5, 7},    {40, 33, 17}};
    uint64_t random = 3;
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        const int64_t n = grids[g][0] * grids[g][1] * grids[g][2];
        double *values = malloc((size_t)n * sizeof *values);
        for (int64_t i = 0; i < n; i++) {
            values[i] =
                random_between(&random, -1e4, 1e4) * (random_below(&random, 3) == 0 ? 1e-9 : 1.0);
        }
        check_everywhere(grids[g], values);
        /* bad cells: named by the lowest index, and in no minimum, maximum or sum */
        static const double bad[] = {NAN, INFINITY, -INFINITY, 0x1p40, -0x1p40, 1e300};
        for (int64_t i = n / 3; i < n; i += 1 + random_below(&random, n)) {
            values[i] = bad[random_below(&random, 6)];
        }
        check_everywhere(grids[g], values);
        for (int64_t i = 0; i < n; i++) {
            values[i] = NAN;
        }
        check_everywhere(grids[g], values);
        free(values);
    }
}

/* Rows of one binade may be added otherwise: its first and last number, those beside it, and the
 * binades at the ends of what the sum holds; then with a cell that does not belong there. */
TEST(binades_add_up_exactly)
{
    static const int exponents[] = {-1022, -60, -29, -28, -27, -10, -1, 0, 8, 11, 12, 13, 33, 39};
    static const double strangers[] = {NAN, INFINITY, -INFINITY, -1.0, 0.0, 0x1p40, 0x1p-1074};
    enum { STRANGERS = sizeof strangers / sizeof strangers[0], MOST = 700 * 3 * 2 };
    uint64_t random = 5;
    double *values = malloc(MOST * sizeof *values);
    assert_non_null(values);
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        const bool large = exponents[e] > 33; /* more of them would not fit fixed_point's sum */
        const int64_t grid[AXIS_COUNT] = {large ? 100 : 700, large ? 1 : 3, large ? 1 : 2};
        const int64_t n = grid[0] * grid[1] * grid[2];
        const double low = ldexp(1.0, exponents[e]);
        for (int64_t i = 0; i < n; i++) {
            values[i] = low * random_between(&random, 1.0, 2.0);
        }
        values[3] = low;
        values[4] = nextafter(2 * low, 0);
        check_everywhere(grid, values);
        values[5] = nextafter(low, 0);
        values[n / 2] = 2 * low;
        check_everywhere(grid, values);
        values[n / 3] = strangers[e % STRANGERS];
        check_everywhere(grid, values);
    }
    free(values);
}

/* -0 == 0, so which of them is the minimum must not depend on who came first. */
TEST(zeros_of_both_signs_give_plus_zero)
{
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        struct block block;
        const double values[6] = {-0.0, 0.0, -0.0, -0.0, 0.0, -0.0};
        const int64_t cells[AXIS_COUNT] = {6, 1, 1};
        const struct box whole = box_of_cells(cells);
        block_create(&block, &whole, cells, values, PRECISION_FLOAT64);
        const struct field_summary summary = summary_of(&rig, &block);
        const double zero = 0.0;
        assert_memory_equal(&summary.min, &zero, sizeof zero);
        assert_memory_equal(&summary.max, &zero, sizeof zero);
        free(block.h_field);
        rig_close(&rig);
    }
}

TEST(any_flipped_bit_changes_the_hash)
{
    const int64_t cells[AXIS_COUNT] = {13, 7, 5};
    const struct box whole = box_of_cells(cells);
    double values[13 * 7 * 5];
    uint64_t random = 21;
    for (int i = 0; i < 13 * 7 * 5; i++) {
        values[i] = random_between(&random, 200.0, 900.0);
    }
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (int precision = 0; precision < 2; precision++) {
            struct block block;
            block_create(&block, &whole, cells, values, (enum precision)precision);
            const int64_t bytes = (int64_t)precision_bytes((enum precision)precision);
            const uint64_t before = hash_of(&rig, &block);
            for (int trial = 0; trial < 300; trial++) {
                const int64_t at = layout_index(&block.layout, random_below(&random, 13),
                                                random_below(&random, 7), random_below(&random, 5));
                unsigned char *byte =
                    (unsigned char *)block.h_field + at * bytes + random_below(&random, bytes);
                const unsigned char bit = (unsigned char)(1U << random_below(&random, 8));
                *byte ^= bit;
                assert_int_not_equal(hash_of(&rig, &block), before);
                *byte ^= bit;
            }
            /* two cells that change places are noticed too */
            const double first = host_get(&block.layout, block.h_field, block.layout.origin);
            const double second = host_get(&block.layout, block.h_field, block.layout.origin + 1);
            host_set(&block.layout, block.h_field, block.layout.origin, second);
            host_set(&block.layout, block.h_field, block.layout.origin + 1, first);
            assert_int_not_equal(hash_of(&rig, &block), before);
            free(block.h_field);
        }
        rig_close(&rig);
    }
}

static struct exact_sum sum_of(const double *values, int n)
{
    struct exact_sum sum = {{0}};
    struct exact_parts parts = {{0}};
    for (int i = 0; i < n; i++) {
        exact_parts_add(&parts, values[i]);
        if (i % 1000 == 999) {
            exact_sum_add_parts(&sum, &parts);
            parts = (struct exact_parts){{0}};
        }
    }
    exact_sum_add_parts(&sum, &parts);
    return sum;
}

/* Magnitudes from 2^-70 to 2^39, both signs, forwards, backwards and shuffled. */
TEST(exact_sums_do_not_depend_on_the_order)
{
    enum { N = 5000 };
    static double values[N];
    uint64_t random = 33;
    __int128 reference = 0;
    for (int i = 0; i < N; i++) {
        values[i] = ldexp(random_between(&random, -1.0, 1.0), (int)random_below(&random, 110) - 70);
        reference += fixed_point(values[i]);
    }
    const struct exact_sum expected = fixed_digits(reference);
    for (int shuffle = 0; shuffle < 5; shuffle++) {
        const struct exact_sum sum = sum_of(values, N);
        assert_memory_equal(&sum, &expected, sizeof sum);
        for (int i = N - 1; i > 0; i--) {
            const int64_t j = random_below(&random, i + 1);
            const double kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
    }
}

TEST(exact_sums_cancel)
{
    const double cancelling[] = {1e11, 0x1p-80, -1e11, 300.0, -0x1.8p-40, 0x1.8p-40, -300.0};
    const struct exact_sum sum = sum_of(cancelling, 7);
    assert_true(exact_sum_value(&sum) == 0x1p-80);

    const double negative[] = {-1.5, -0x1p-60, -0x1.fffffffffffffp39};
    const struct exact_sum below = sum_of(negative, 3);
    const struct exact_sum expected = fixed_digits(
        fixed_point(negative[0]) + fixed_point(negative[1]) + fixed_point(negative[2]));
    assert_memory_equal(&below, &expected, sizeof below);
    assert_true(below.digit[3] < 0);
    assert_true(fabs(exact_sum_value(&below) + 0x1p40) <= 2.0);

    /* small and negative: 2^40 K of one digit cancel in another */
    const double cold[] = {-50.3, 0x1p-60};
    const struct exact_sum small = sum_of(cold, 2);
    assert_true(exact_sum_value(&small) == -50.3);

    /* as much as one set of counters may take, at the largest magnitude */
    struct exact_parts parts = {{0}};
    for (int i = 0; i < EXACT_PARTS_MAX_TERMS; i++) {
        exact_parts_add(&parts, 0x1.fffffffffffffp39);
    }
    struct exact_sum many = {{0}};
    exact_sum_add_parts(&many, &parts);
    assert_true(exact_sum_value(&many) == 0x1.fffffffffffffp39 * EXACT_PARTS_MAX_TERMS);
}

/* Twice, the second time with no effect but on the number. */
static void check_planes(struct rig *rig, const int64_t *cells, enum precision precision)
{
    const struct operations *operations = rig->backend->operations;
    const size_t count = 1 + (size_t)(cells[0] + cells[1] + cells[2]);
    const double limit = 250;
    uint64_t random = (uint64_t)cells[0];
    uint64_t *wanted = calloc(count, sizeof *wanted);
    struct layout layout;
    must(layout_create(cells, (const int[]){1, 0, 2}, precision, &layout));
    void *h_field = host_field(&layout); /* NaN around the cells */
    uint64_t *d_planes = rig_upload(rig, wanted, count * sizeof *wanted);
    for (int64_t c = 0; c < cells[0] * cells[1] * cells[2]; c++) {
        const int64_t at[AXIS_COUNT] = {c % cells[0], c / cells[0] % cells[1],
                                        c / (cells[0] * cells[1])};
        const int64_t element = layout_index(&layout, at[0], at[1], at[2]);
        host_set(&layout, h_field, element,
                 c % 5 == 0 ? limit : random_between(&random, -300, 300));
        const double value = host_get(&layout, h_field, element);
        uint64_t *planes = wanted + 1;
        wanted[0] += value > limit ? 2 : 0;
        for (int a = 0; a < AXIS_COUNT; a++) {
            planes[at[a]] =
                class_key_of(value) > planes[at[a]] ? class_key_of(value) : planes[at[a]];
            planes += cells[a];
        }
    }
    void *d_field = rig_upload(rig, h_field, layout_bytes(&layout));
    must(ENQUEUE(operations, plane_maxima, rig->queue, .layout = layout, .d_field = d_field,
                 .limit = limit, .d_planes = d_planes));
    must(ENQUEUE(operations, plane_maxima, rig->queue, .layout = layout, .d_field = d_field,
                 .limit = limit, .d_planes = d_planes));
    uint64_t *found = rig_download(rig, d_planes, count * sizeof *found);
    assert_memory_equal(found, wanted, count * sizeof *found);
    /* and the other field differs where values are high */
    uint64_t extremes[DIFFERENCE_KEYS] = {0};
    for (int64_t c = 0; c < cells[0] * cells[1] * cells[2]; c++) {
        const int64_t element =
            layout_index(&layout, c % cells[0], c / cells[0] % cells[1], c / (cells[0] * cells[1]));
        const double value = host_get(&layout, h_field, element);
        const double of_cell[] = {fabs(value - (value > limit ? 7 : value)), value, -value};
        host_set(&layout, h_field, element, value > limit ? 7 : value);
        for (int n = 0; n < DIFFERENCE_KEYS; n++) {
            const uint64_t key = class_key_of(of_cell[n]);
            extremes[n] = key > extremes[n] ? key : extremes[n];
        }
    }
    void *d_other = rig_upload(rig, h_field, layout_bytes(&layout));
    const uint64_t none[DIFFERENCE_KEYS] = {0};
    uint64_t *d_keys = rig_upload(rig, none, sizeof none);
    must(ENQUEUE(operations, compare, rig->queue, .layout = layout, .d_a = d_field, .d_b = d_other,
                 .d_keys = d_keys));
    uint64_t *keys = rig_download(rig, d_keys, sizeof none);
    assert_memory_equal(keys, extremes, sizeof extremes);
    free(keys);
    rig->backend->runtime->memory_free(rig->device, d_keys);
    rig->backend->runtime->memory_free(rig->device, d_other);
    rig->backend->runtime->memory_free(rig->device, d_planes);
    rig->backend->runtime->memory_free(rig->device, d_field);
    free(found);
    free(h_field);
    free(wanted);
}

TEST(every_plane_has_its_highest_cell)
{
    static const int64_t shapes[][AXIS_COUNT] = {{37, 11, 29}, {1, 1, 1},   {700, 1, 1},
                                                 {5, 1300, 2}, {2, 3, 170}, {513, 33, 3}};
    for (int b = 0; b < rig_backend_count(); b++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(b));
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            check_planes(&rig, shapes[s], PRECISION_FLOAT64);
            check_planes(&rig, shapes[s], PRECISION_FLOAT32);
        }
        rig_close(&rig);
    }
}

TEST_MAIN(NULL, NULL)
