/* The operations of the multigrid: every backend against plain loops over the expressions of a
 * cell, bit for bit; and what the expressions promise. */
#include "multigrid_scene.h"

static void check_coarsen(struct scene *scene)
{
    const struct multigrid *host = &scene->coarse.host;
    if (host->d_sink != NULL) {
        compare(scene, &host->layout, scene->coarse.device.d_sink, host->d_sink);
    }
    for (int n = 0; n < AXIS_COUNT + FACE_COUNT; n++) {
        const int f = n - AXIS_COUNT;
        const float *expected = n < AXIS_COUNT ? host->d_g[n] : host->d_w[f];
        if (expected != NULL) {
            compare(scene, &host->layout,
                    n < AXIS_COUNT ? scene->coarse.device.d_g[n] : scene->coarse.device.d_w[f],
                    expected);
        }
    }
}

/* Which of the operations from one array to another. */
enum transfer { RELAX, RELAX_FROM_ZERO, FLOW_OUT, LACK, GATHER_UP, INTERPOLATE, TRANSFERS };

static float gathered(const struct scene *scene, const float *in, const int64_t *cell, int64_t at)
{
    const struct multigrid *fine = &scene->fine.host;
    const struct multigrid *coarse = &scene->coarse.host;
    return fine->d_line[0] != NULL ? multigrid_mean(fine, coarse, in, cell)
                                   : multigrid_gathered(fine, coarse, in, cell, at);
}

static float on_host(const struct scene *scene, enum transfer transfer, const float *in,
                     const float *r, const int64_t *cell, int64_t at)
{
    const struct multigrid *fine = &scene->fine.host;
    const struct multigrid *coarse = &scene->coarse.host;
    const struct multigrid_around around = multigrid_around(fine, cell);
    switch (transfer) {
    case RELAX:
        return multigrid_relaxed(fine, in, r, 0.7F, &around, cell, at);
    case RELAX_FROM_ZERO:
        return multigrid_relaxed(fine, NULL, r, 0.7F, &around, cell, at);
    case FLOW_OUT:
        return -multigrid_flow(fine, in, &around, cell, at).heat;
    case LACK:
        return r[at] + multigrid_flow(fine, in, &around, cell, at).heat;
    case GATHER_UP:
        return gathered(scene, in, cell, at);
    default:
        return 0.9F * multigrid_interpolated(coarse, in, cell);
    }
}

static void on_device(const struct scene *scene, enum transfer transfer, const float *in,
                      const float *r, float *out)
{
    const struct operations *operations = scene->rig.backend->operations;
    struct queue *queue = scene->rig.queue;
    const struct multigrid fine = scene->fine.device;
    const struct multigrid coarse = scene->coarse.device;
    switch (transfer) {
    case RELAX:
    case RELAX_FROM_ZERO:
        must(ENQUEUE(operations, relax, queue, .grid = fine, .weight = 0.7F, .d_r = r,
                     .d_e = transfer == RELAX ? in : NULL, .d_out = out));
        break;
    case FLOW_OUT:
    case LACK:
        must(ENQUEUE(operations, flow_out, queue, .grid = fine, .d_e = in,
                     .d_b = transfer == LACK ? r : NULL, .d_out = out));
        break;
    case GATHER_UP:
        must(fine.d_line[0] != NULL ? ENQUEUE(operations, average, queue, .fine = fine,
                                              .coarse = coarse, .d_r = in, .d_out = out)
                                    : ENQUEUE(operations, gather_up, queue, .fine = fine,
                                              .coarse = coarse, .d_r = in, .d_out = out));
        break;
    default:
        must(ENQUEUE(operations, interpolate, queue, .fine = fine, .coarse = coarse, .factor = 0.9F,
                     .d_e = in, .d_out = out));
    }
    must(scene->rig.backend->runtime->queue_wait(queue));
}

static void check_transfers(struct scene *scene)
{
    for (int t = 0; t < TRANSFERS; t++) {
        const struct layout *from =
            t == INTERPOLATE ? &scene->coarse.host.layout : &scene->fine.host.layout;
        const struct layout *to =
            t == GATHER_UP ? &scene->coarse.host.layout : &scene->fine.host.layout;
        float *in = random_array(scene, from);
        float *r = random_array(scene, from);
        float *expected = zeros(to);
        void *d_in = rig_upload(&scene->rig, in, layout_bytes(from));
        void *d_r = rig_upload(&scene->rig, r, layout_bytes(from));
        void *d_out = rig_upload(&scene->rig, expected, layout_bytes(to));
        FOR_CELLS(to, cell, at)
        {
            expected[at] = on_host(scene, (enum transfer)t, in, r, cell, at);
        }
        on_device(scene, (enum transfer)t, d_in, d_r, d_out);
        compare(scene, to, d_out, expected);
        scene->rig.backend->runtime->memory_free(scene->rig.device, d_in);
        scene->rig.backend->runtime->memory_free(scene->rig.device, d_r);
        scene->rig.backend->runtime->memory_free(scene->rig.device, d_out);
        free(in);
        free(r);
        free(expected);
    }
}

/* Interpolation, and the steps one by one. */
static void check_ascend(struct scene *scene)
{
    const struct multigrid *fine = &scene->fine.host;
    const struct layout *layout = &fine->layout;
    const size_t bytes = layout_bytes(layout);
    struct ascend_args args = {
        .fine = scene->fine.device,
        .coarse = scene->coarse.device,
        .factor = 1.05F,
        .nsteps = fine->d_line[0] != NULL          ? 4
                  : layout->cells[AXIS_X] % 2 == 0 ? 8
                                                   : ASCEND_MOST,
        .weight = {0.5F, 1.3F, 0.7F, 1.1F, 0.6F, 0.9F, 1.2F, 0.4F, 0.8F, 1.4F, 0.3F, 1.1F}};
    float *e = random_array(scene, &scene->coarse.host.layout);
    float *r = random_array(scene, layout);
    float *now = zeros(layout);
    float *next = zeros(layout);
    void *d_e = rig_upload(&scene->rig, e, layout_bytes(&scene->coarse.host.layout));
    void *d_r = rig_upload(&scene->rig, r, bytes);
    void *d_out = rig_upload(&scene->rig, now, bytes);
    void *d_other = rig_upload(&scene->rig, now, bytes);
    args.d_e = d_e;
    args.d_r = d_r;
    args.d_out = d_out;
    args.d_other = d_other;
    must(scene->rig.backend->operations->ascend(scene->rig.queue, &args));
    FOR_CELLS(layout, cell, at)
    {
        now[at] = 1.05F * multigrid_interpolated(&scene->coarse.host, e, cell);
    }
    for (int step = 0; step < args.nsteps; step++) {
        FOR_CELLS(layout, cell, at)
        {
            const struct multigrid_around around = multigrid_around(fine, cell);
            next[at] = multigrid_relaxed(fine, now, r, args.weight[step], &around, cell, at);
        }
        float *swap = now;
        now = next;
        next = swap;
    }
    must(scene->rig.backend->runtime->queue_wait(scene->rig.queue));
    compare(scene, layout, d_out, now);
    void *const device[] = {d_e, d_r, d_out, d_other};
    float *const host[] = {e, r, now, next};
    for (int n = 0; n < 4; n++) {
        scene->rig.backend->runtime->memory_free(scene->rig.device, device[n]);
        free(host[n]);
    }
}

/* Small grids, down to one cell. */
static void check_cycle(struct scene *scene)
{
    enum { GRIDS = 4 };
    struct twin grid[GRIDS] = {{.host.layout.origin = 0}};
    struct cycle_args args = {.count = GRIDS, .weight = {0.5F, 1.3F, 0.7F, 1.1F}};
    struct cycle_args alone;
    const struct operations *operations = scene->rig.backend->operations;
    struct queue *queue = scene->rig.queue;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (scene->fine.host.layout.cells[a] > CYCLE_SIDE) {
            return;
        }
    }
    alone = args;
    for (int n = 0; n < 2 * GRIDS; n++) { /* the arrays of both are the same at first */
        struct cycle_grid *of = n < GRIDS ? &args.grid[n] : &alone.grid[n - GRIDS];
        struct multigrid *host = &grid[n % GRIDS].host;
        if (n < GRIDS) {
            lay_out(host, scene->shape, n);
            draw_lines(scene, host);
            upload(scene, &grid[n]);
        }
        const size_t bytes = layout_bytes(&host->layout);
        float *r = zeros(&host->layout);
        of->m = grid[n % GRIDS].device;
        of->d_e = rig_upload(&scene->rig, r, bytes);
        of->d_other = rig_upload(&scene->rig, r, bytes);
        FOR_CELLS(&host->layout, cell, at)
        {
            r[at] = (float)(1 + cell[0] - 2 * cell[1] * cell[2]);
        }
        of->d_r = rig_upload(&scene->rig, r, bytes);
        free(r);
    }
    must(operations->cycle(queue, &args));
    const struct cycle_grid *g = alone.grid;
    for (int n = 0; n + 1 < GRIDS; n++) {
        must(ENQUEUE(operations, average, queue, .fine = g[n].m, .coarse = g[n + 1].m,
                     .d_r = g[n].d_r, .d_out = g[n + 1].d_r));
    }
    must(ENQUEUE(operations, relax, queue, .grid = g[GRIDS - 1].m, .weight = 1,
                 .d_r = g[GRIDS - 1].d_r, .d_out = g[GRIDS - 1].d_e));
    for (int n = GRIDS - 2; n >= 0; n--) {
        must(ENQUEUE(operations, ascend, queue, .fine = g[n].m, .coarse = g[n + 1].m, .factor = 1,
                     .nsteps = 4, .weight = {0.5F, 1.3F, 0.7F, 1.1F}, .d_r = g[n].d_r,
                     .d_e = g[n + 1].d_e, .d_out = g[n].d_e, .d_other = g[n].d_other));
    }
    must(scene->rig.backend->runtime->queue_wait(queue));
    float *expected = rig_download(&scene->rig, g[0].d_e, layout_bytes(&g[0].m.layout));
    compare(scene, &g[0].m.layout, args.grid[0].d_e, expected);
    free(expected);
    for (int n = 0; n < 2 * GRIDS; n++) {
        struct cycle_grid *of = n < GRIDS ? &args.grid[n] : &alone.grid[n - GRIDS];
        scene->rig.backend->runtime->memory_free(scene->rig.device, of->d_r);
        scene->rig.backend->runtime->memory_free(scene->rig.device, of->d_e);
        scene->rig.backend->runtime->memory_free(scene->rig.device, of->d_other);
        if (n < GRIDS) {
            release(scene, &grid[n]);
        }
    }
}

/* gather_up is the transpose of interpolate: r . P e = (P^T r) . e */
static void check_transpose(struct scene *scene)
{
    const struct multigrid *fine = &scene->fine.host;
    const struct multigrid *coarse = &scene->coarse.host;
    float *r = random_array(scene, &fine->layout);
    float *e = random_array(scene, &coarse->layout);
    double fine_sum = 0;
    double coarse_sum = 0;
    double scale = 0;
    FOR_CELLS(&fine->layout, cell, at)
    {
        fine_sum += (double)r[at] * multigrid_interpolated(coarse, e, cell);
        scale += fabs((double)r[at]);
    }
    FOR_CELLS(&coarse->layout, cell, at)
    {
        coarse_sum += (double)e[at] * multigrid_gathered(fine, coarse, r, cell, at);
    }
    assert_true(fabs(fine_sum - coarse_sum) <= 1e-6 * scale);
    free(r);
    free(e);
}

/* Two random arrays of float32 and one of float64, on the host and on the device. */
struct operands {
    struct layout narrow, wide;
    float *x, *y;
    double *z;
    void *d_x, *d_y, *d_z;
};

static void operands_create(struct scene *scene, struct operands *o)
{
    o->narrow = scene->fine.host.layout;
    must(layout_create(o->narrow.cells, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &o->wide));
    o->x = random_array(scene, &o->narrow);
    o->y = random_array(scene, &o->narrow);
    o->z = calloc(1, layout_bytes(&o->wide));
    assert_non_null(o->z);
    o->d_x = rig_upload(&scene->rig, o->x, layout_bytes(&o->narrow));
    o->d_y = rig_upload(&scene->rig, o->y, layout_bytes(&o->narrow));
    o->d_z = rig_upload(&scene->rig, o->z, layout_bytes(&o->wide));
}

static void operands_destroy(struct scene *scene, struct operands *o)
{
    void *const on_device[] = {o->d_x, o->d_y, o->d_z};
    for (int n = 0; n < 3; n++) {
        scene->rig.backend->runtime->memory_free(scene->rig.device, on_device[n]);
    }
    free(o->x);
    free(o->y);
    free(o->z);
}

static void check_combine(struct scene *scene)
{
    const struct layout *narrow = &scene->fine.host.layout;
    const struct backend *backend = scene->rig.backend;
    struct operands o;
    operands_create(scene, &o);
    const struct operand of_x = {*narrow, o.d_x};
    const struct operand of_y = {*narrow, o.d_y};
    const struct operand of_z = {o.wide, o.d_z};
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = o.wide, .d_out = o.d_z,
                 .factor = 1.0 / 3, .x = of_x, .y = of_y));
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = o.wide, .d_out = o.d_z,
                 .factor = -0.7, .x = of_x, .z = of_z));
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = *narrow, .d_out = o.d_y,
                 .factor = 8, .x = of_z));
    must(backend->runtime->queue_wait(scene->rig.queue));
    FOR_CELLS(narrow, cell, at)
    {
        double *value = &o.z[layout_index(&o.wide, cell[0], cell[1], cell[2])];
        *value = fma(-0.7 * (double)o.x[at], 1, fma(1.0 / 3 * (double)o.x[at], o.y[at], 0));
        o.y[at] = (float)(8 * *value);
    }
    double *got = rig_download(&scene->rig, o.d_z, layout_bytes(&o.wide));
    FOR_CELLS(&o.wide, cell, at)
    {
        assert_memory_equal(&got[at], &o.z[at], sizeof *got);
        (void)cell;
    }
    compare(scene, narrow, o.d_y, o.y);
    free(got);
    operands_destroy(scene, &o);
}

/* The summary of products is that of an array that has them in float64. */
static void check_products(struct scene *scene)
{
    const struct layout *narrow = &scene->fine.host.layout;
    const struct operations *operations = scene->rig.backend->operations;
    const struct placement placement = {
        .global_cells = {narrow->cells[0], narrow->cells[1], narrow->cells[2]}};
    struct field_summary got, expected;
    double sum = 0;
    double scale = 0;
    struct operands o;
    operands_create(scene, &o);
    must(ENQUEUE(operations, summarise, scene->rig.queue, .layout = *narrow, .placement = placement,
                 .d_field = o.d_x, .d_times = o.d_y, .h_summary = &got));
    must(ENQUEUE(operations, combine, scene->rig.queue, .layout = o.wide, .d_out = o.d_z,
                 .factor = 1, .x = {*narrow, o.d_x}, .y = {*narrow, o.d_y}));
    must(ENQUEUE(operations, summarise, scene->rig.queue, .layout = o.wide, .placement = placement,
                 .d_field = o.d_z, .h_summary = &expected));
    must(scene->rig.backend->runtime->queue_wait(scene->rig.queue));
    FOR_CELLS(narrow, cell, at)
    {
        sum += (double)o.x[at] * (double)o.y[at];
        scale += fabs((double)o.x[at] * (double)o.y[at]);
        (void)cell;
    }
    assert_true(fabs(exact_sum_value(&got.sum) - sum) <= 1e-12 * scale);
    assert_memory_equal(&got.sum, &expected.sum, sizeof got.sum);
    assert_true(got.min == expected.min && got.max == expected.max && got.bad_cells == 0);
    operands_destroy(scene, &o);
}

TEST(coarse_conductances_and_weights)
{
    for_each_scene(check_coarsen, FACES);
    for_each_scene(check_coarsen, SINKS);
}

TEST(steps_and_transfers)
{
    for (int content = FACES; content <= TABLES; content++) {
        for_each_scene(check_transfers, (enum content)content);
    }
}

TEST(corrections_of_a_coarse_grid_are_interpolated_and_smoothed)
{
    for (int content = FACES; content <= TABLES; content++) {
        for_each_scene(check_ascend, (enum content)content);
    }
    for_each_scene(check_cycle, TABLES);
}

TEST(residuals_are_gathered_by_the_transpose_of_the_interpolation)
{
    for_each_scene(check_transpose, FACES);
}

TEST(fields_are_combined)
{
    for_each_scene(check_combine, FACES);
}

TEST(products_are_summed_exactly)
{
    for_each_scene(check_products, FACES);
}

TEST_MAIN(NULL, NULL)
