/* The operations of the multigrid: every backend against plain loops over the expressions of a
 * cell, bit for bit; and what the expressions promise. */
#include "rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cell/multigrid_cell.h"

/* Conductances per face, those and sinks per cell, or tables along the axes. */
enum content { FACES, SINKS, TABLES };

/* A grid on the host, with the same arrays on the device. */
struct twin {
    struct multigrid host, device;
};

struct scene {
    struct rig rig;
    struct twin fine, coarse;
    uint64_t random;
};

static const struct {
    int64_t cells[AXIS_COUNT];
    int children[AXIS_COUNT];
    bool wraps[AXIS_COUNT];
} shapes[] = {{{13, 8, 6}, {2, 2, 2}, {false, false, false}},
              {{12, 7, 5}, {2, 1, 2}, {true, false, true}},
              {{2, 9, 3}, {2, 2, 2}, {true, true, false}},
              {{65, 1, 1}, {2, 1, 1}, {false, false, false}},
              {{20, 31, 1}, {1, 2, 1}, {false, true, false}},
              {{70, 61, 62}, {2, 2, 2}, {false, true, false}},
              {{122, 229, 17}, {2, 2, 2}, {false, false, false}}};
enum { NSHAPES = sizeof shapes / sizeof shapes[0] };

static float *zeros(const struct layout *layout)
{
    float *values = calloc((size_t)layout->elements, sizeof *values);
    assert_non_null(values);
    return values;
}

/* Random values in the owned cells. */
static float *random_array(struct scene *scene, const struct layout *layout)
{
    float *values = zeros(layout);
    const struct box owned = layout_owned(layout);
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        values[layout_index(layout, cell[0], cell[1], cell[2])] =
            (float)random_between(&scene->random, -1, 1);
    }
    return values;
}

static void lay_out(struct multigrid *grid, int shape, bool coarse)
{
    int64_t cells[AXIS_COUNT];
    int halo[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int children = shapes[shape].children[a];
        const int64_t n = shapes[shape].cells[a];
        cells[a] = coarse ? (n + children - 1) / children : n;
        halo[a] = n > 1 ? 1 : 0;
        grid->active[a] = n > 1 && (cells[a] > 1 || !shapes[shape].wraps[a]);
        grid->wraps[a] = shapes[shape].wraps[a] && cells[a] > 1;
        grid->children[a] = children;
        grid->closed[2 * a] = grid->closed[2 * a + 1] = !shapes[shape].wraps[a];
    }
    must(layout_create(cells, halo, PRECISION_FLOAT32, &grid->layout));
}

/* Conductances from 0.001 to 1; flux faces, where nothing flows, at the lower end of x. */
static void conduct(struct scene *scene, struct multigrid *grid)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        struct box faces = layout_owned(&grid->layout);
        if (!grid->active[a]) {
            continue;
        }
        grid->d_g[a] = zeros(&grid->layout);
        faces.hi[a] += grid->wraps[a] ? 0 : 1;
        for (int64_t n = 0; n < box_cells(&faces); n++) {
            int64_t cell[AXIS_COUNT];
            box_cell(&faces, n, cell);
            const double g = pow(10, random_between(&scene->random, -3, 0));
            const bool flux = a == AXIS_X && cell[a] == 0 && !grid->wraps[a];
            grid->d_g[a][layout_index(&grid->layout, cell[0], cell[1], cell[2])] =
                flux ? 0 : (float)g;
        }
    }
}

/* The bytes of the tables of an axis. */
static size_t line_bytes(const struct multigrid *grid, int axis)
{
    return LINES * (size_t)grid->layout.cells[axis] * sizeof(float);
}

/* Tables with any values at the ends of an axis and the same between, but where nothing conducts.
 */
static void draw_lines(struct scene *scene, struct multigrid *grid)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        grid->d_line[a] = malloc(line_bytes(grid, a));
        assert_non_null(grid->d_line[a]);
        const int64_t cells = grid->layout.cells[a];
        for (int64_t n = 0; n < LINES * cells; n++) {
            const bool inside = n % cells > 2 && n % cells < cells - 2;
            grid->d_line[a][n] = !grid->active[a] ? 0
                                 : inside         ? grid->d_line[a][n - 1]
                                                  : (float)random_between(&scene->random, 0.1, 0.5);
        }
    }
}

static void upload(struct scene *scene, struct twin *twin)
{
    const size_t bytes = layout_bytes(&twin->host.layout);
    twin->device = twin->host;
    if (twin->host.d_sink != NULL) {
        twin->device.d_sink = rig_upload(&scene->rig, twin->host.d_sink, bytes);
    }
    for (int a = 0; a < AXIS_COUNT && twin->host.d_line[0] != NULL; a++) {
        twin->device.d_line[a] =
            rig_upload(&scene->rig, twin->host.d_line[a], line_bytes(&twin->host, a));
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (twin->host.d_g[a] != NULL) {
            twin->device.d_g[a] = rig_upload(&scene->rig, twin->host.d_g[a], bytes);
        }
    }
    for (int f = 0; f < FACE_COUNT; f++) {
        if (twin->host.d_w[f] != NULL) {
            twin->device.d_w[f] = rig_upload(&scene->rig, twin->host.d_w[f], bytes);
        }
    }
}

static void release(struct scene *scene, struct twin *twin)
{
    free(twin->host.d_sink);
    scene->rig.backend->runtime->memory_free(scene->rig.device, twin->device.d_sink);
    for (int a = 0; a < AXIS_COUNT; a++) {
        free(twin->host.d_line[a]);
        scene->rig.backend->runtime->memory_free(scene->rig.device, twin->device.d_line[a]);
    }
    for (int n = 0; n < AXIS_COUNT + FACE_COUNT; n++) {
        const int f = n - AXIS_COUNT;
        free(n < AXIS_COUNT ? twin->host.d_g[n] : twin->host.d_w[f]);
        scene->rig.backend->runtime->memory_free(
            scene->rig.device, n < AXIS_COUNT ? twin->device.d_g[n] : twin->device.d_w[f]);
    }
}

static void compare(struct scene *scene, const struct layout *layout, const void *d_got,
                    const float *expected)
{
    void *got = rig_download(&scene->rig, d_got, layout_bytes(layout));
    assert_same_field(layout, got, expected, scene->rig.backend->name);
    free(got);
}

/* body for each owned cell of a layout */
#define FOR_CELLS(layout, cell, at)                                                                \
    for (int64_t n_ = 0, cell[AXIS_COUNT], at = 0;                                                 \
         n_ < (layout)->cells[0] * (layout)->cells[1] * (layout)->cells[2] &&                      \
         (box_cell(&(struct box){{0, 0, 0},                                                        \
                                 {(layout)->cells[0], (layout)->cells[1], (layout)->cells[2]}},    \
                   n_, cell),                                                                      \
          at = layout_index(layout, cell[0], cell[1], cell[2]), true);                             \
         n_++)

/* Fine and coarse grid of a shape; the coarse one by the backend and by a loop, but for tables. */
static void scene_open(struct scene *scene, const struct backend *backend, int shape,
                       enum content content)
{
    memset(scene, 0, sizeof *scene);
    scene->random = 4321 + (uint64_t)shape;
    rig_open(&scene->rig, backend);
    struct multigrid *fine = &scene->fine.host;
    struct multigrid *coarse = &scene->coarse.host;
    lay_out(fine, shape, false);
    lay_out(coarse, shape, true);
    if (content == TABLES) {
        draw_lines(scene, fine);
        draw_lines(scene, coarse);
        upload(scene, &scene->fine);
        upload(scene, &scene->coarse);
        return;
    }
    conduct(scene, fine);
    if (content == SINKS) {
        fine->d_sink = random_array(scene, &fine->layout);
        coarse->d_sink = zeros(&coarse->layout);
        fine->sink = 0.3F;
        for (int64_t n = 0; n < fine->layout.elements; n++) {
            fine->d_sink[n] = fabsf(fine->d_sink[n]);
        }
    }
    for (int n = 0; n < AXIS_COUNT + FACE_COUNT; n++) {
        const int axis = n < AXIS_COUNT ? n : (n - AXIS_COUNT) / 2;
        if (coarse->active[axis]) {
            *(n < AXIS_COUNT ? &coarse->d_g[n] : &coarse->d_w[n - AXIS_COUNT]) =
                zeros(&coarse->layout);
        }
    }
    upload(scene, &scene->fine);
    upload(scene, &scene->coarse);
    FOR_CELLS(&coarse->layout, cell, at)
    {
        for (int a = 0; a < AXIS_COUNT; a++) {
            if (coarse->active[a]) {
                multigrid_coarsen(fine, coarse, a, cell, at);
            }
        }
        if (coarse->d_sink != NULL) {
            coarse->d_sink[at] = multigrid_sink(fine, coarse, cell);
        }
    }
    must(ENQUEUE(backend->operations, coarsen, scene->rig.queue, .fine = scene->fine.device,
                 .coarse = scene->coarse.device));
    must(backend->runtime->queue_wait(scene->rig.queue));
}

static void scene_close(struct scene *scene)
{
    release(scene, &scene->fine);
    release(scene, &scene->coarse);
    rig_close(&scene->rig);
}

static void for_each_scene(void (*check)(struct scene *scene), enum content content)
{
    const int nshapes = content == TABLES ? NSHAPES : NSHAPES - 1; /* the last is for tables */
    for (int n = 0; n < rig_backend_count() * nshapes; n++) {
        struct scene scene;
        scene_open(&scene, rig_backend_at(n / nshapes), n % nshapes, content);
        check(&scene);
        scene_close(&scene);
    }
}

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
enum transfer { RELAX, RELAX_FROM_ZERO, FLOW_OUT, GATHER_UP, INTERPOLATE, TRANSFERS };

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
        must(ENQUEUE(operations, flow_out, queue, .grid = fine, .d_e = in, .d_out = out));
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
    struct ascend_args args = {.fine = scene->fine.device,
                               .coarse = scene->coarse.device,
                               .factor = 1.05F,
                               .nsteps = fine->d_line[0] != NULL ? 4 : 8,
                               .weight = {0.5F, 1.3F, 0.7F, 1.1F, 0.6F, 0.9F, 1.2F, 0.4F}};
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

static void check_combine(struct scene *scene)
{
    const struct layout *narrow = &scene->fine.host.layout;
    const struct backend *backend = scene->rig.backend;
    struct layout wide;
    must(layout_create(narrow->cells, (const int[]){0, 0, 0}, PRECISION_FLOAT64, &wide));
    float *x = random_array(scene, narrow);
    float *y = random_array(scene, narrow);
    double *z = calloc(1, layout_bytes(&wide));
    assert_non_null(z);
    void *d_x = rig_upload(&scene->rig, x, layout_bytes(narrow));
    void *d_y = rig_upload(&scene->rig, y, layout_bytes(narrow));
    void *d_z = rig_upload(&scene->rig, z, layout_bytes(&wide));
    const struct operand of_x = {*narrow, d_x};
    const struct operand of_y = {*narrow, d_y};
    const struct operand of_z = {wide, d_z};
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = wide, .d_out = d_z,
                 .factor = 1.0 / 3, .x = of_x, .y = of_y));
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = wide, .d_out = d_z,
                 .factor = -0.7, .x = of_x, .z = of_z));
    must(ENQUEUE(backend->operations, combine, scene->rig.queue, .layout = *narrow, .d_out = d_y,
                 .factor = 8, .x = of_z));
    must(backend->runtime->queue_wait(scene->rig.queue));
    FOR_CELLS(narrow, cell, at)
    {
        double *value = &z[layout_index(&wide, cell[0], cell[1], cell[2])];
        *value = fma(-0.7 * (double)x[at], 1, fma(1.0 / 3 * (double)x[at], y[at], 0));
        y[at] = (float)(8 * *value);
    }
    double *got = rig_download(&scene->rig, d_z, layout_bytes(&wide));
    FOR_CELLS(&wide, cell, at)
    {
        assert_memory_equal(&got[at], &z[at], sizeof *got);
        (void)cell;
    }
    compare(scene, narrow, d_y, y);
    backend->runtime->memory_free(scene->rig.device, d_x);
    backend->runtime->memory_free(scene->rig.device, d_y);
    backend->runtime->memory_free(scene->rig.device, d_z);
    free(got);
    free(x);
    free(y);
    free(z);
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
}

TEST(residuals_are_gathered_by_the_transpose_of_the_interpolation)
{
    for_each_scene(check_transpose, FACES);
}

TEST(fields_are_combined)
{
    for_each_scene(check_combine, FACES);
}

TEST_MAIN(NULL, NULL)
