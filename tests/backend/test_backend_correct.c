/* The correction of a field, its residual and the means of that: every backend against a plain loop
 * over the expressions of a cell, bit for bit. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    int64_t cells[AXIS_COUNT];
    bool around[AXIS_COUNT];
    int children; /* on z */
} shapes[] = {{{13, 18, 35}, {false, false, false}, 2}, {{70, 7, 5}, {true, false, true}, 2},
              {{9, 6, 35}, {false, false, false}, 1},   {{2, 9, 3}, {false, true, false}, 2},
              {{65, 1, 1}, {false, false, false}, 1},   {{1, 31, 1}, {false, true, false}, 1}};

/* The arrays of a call, on the host or on a device. */
struct arrays {
    double *x; /* also the heat */
    double *out;
    float *e, *r;
    uint32_t *largest;
    float *mean; /* of the coarse grid */
    float *line[AXIS_COUNT];
};
enum { ARRAYS = sizeof(struct arrays) / sizeof(void *) };

/* A grid with halo on every used axis; closures of all kinds, and a field with values in its halo.
 */
static void prepare(int shape, struct correct_args *args)
{
    int halo[2][AXIS_COUNT];
    int64_t coarse[AXIS_COUNT];
    *args = (struct correct_args){.d_out = NULL};
    for (int f = 0; f < FACE_COUNT; f++) {
        const bool used = shapes[shape].cells[f / 2] > 1;
        args->closed[f] = !shapes[shape].around[f / 2];
        args->a[f] = used ? 0.3 - 0.25 * f : 1;
        args->b[f] = used ? 10 + f : 0;
        args->r[f / 2] = used ? 0.1 / (1 + f) : 0;
        args->grid.wraps[f / 2] = shapes[shape].around[f / 2];
        halo[0][f / 2] = args->closed[f] ? 0 : 1;
        halo[1][f / 2] = used ? 1 : 0;
        const int children = f / 2 == AXIS_Z ? shapes[shape].children : used ? 2 : 1;
        args->coarse.children[f / 2] = children;
        coarse[f / 2] = (shapes[shape].cells[f / 2] + children - 1) / children;
    }
    must(layout_create(coarse, halo[1], PRECISION_FLOAT32, &args->coarse.layout));
    must(layout_create(shapes[shape].cells, halo[0], PRECISION_FLOAT64, &args->layout));
    must(layout_create(shapes[shape].cells, halo[1], PRECISION_FLOAT32, &args->grid.layout));
}

static void use(struct correct_args *args, const struct arrays *arrays, bool heated, bool changed,
                bool reads)
{
    memcpy(args->coarse.d_line, arrays->line, sizeof arrays->line);
    args->d_mean = heated == reads ? arrays->mean : NULL;
    args->d_in = reads ? arrays->x : NULL;
    args->constant = 310.7;
    args->d_heat = heated ? arrays->x : NULL;
    args->d_e = changed ? arrays->e : NULL;
    args->d_out = arrays->out;
    args->d_r = arrays->r;
    args->d_largest = arrays->largest;
}

static void expect(const struct correct_args *args)
{
    const struct box owned = layout_owned(&args->layout);
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        double beside[FACE_COUNT];
        box_cell(&owned, n, cell);
        const int64_t x = layout_index(&args->layout, cell[0], cell[1], cell[2]);
        const int64_t e = layout_index(&args->grid.layout, cell[0], cell[1], cell[2]);
        for (int f = 0; f < FACE_COUNT; f++) {
            const struct correct_side side = correct_side(args, f, cell);
            beside[f] = correct_beside(args, &side, x, e);
        }
        const double c = correct_value(args, x, e);
        args->d_r[e] = (float)heat_cell_float64(
            args->d_heat != NULL ? args->d_heat[x] : 0, c, beside[0], beside[1], beside[2],
            beside[3], beside[4], beside[5], args->r[0], args->r[1], args->r[2]);
        const uint32_t bits[2] = {args->d_e != NULL ? correct_bits(args->d_e[e]) : 0,
                                  correct_bits(args->d_r[e])};
        for (int m = 0; m < 2; m++) {
            args->d_largest[m] = bits[m] > args->d_largest[m] ? bits[m] : args->d_largest[m];
        }
        args->d_out[x] = args->d_e != NULL ? c : args->d_out[x];
    }
    const struct box coarse = layout_owned(&args->coarse.layout);
    for (int64_t n = 0; n < box_cells(&coarse) && args->d_mean != NULL; n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&coarse, n, cell);
        args->d_mean[layout_index(&args->coarse.layout, cell[0], cell[1], cell[2])] =
            multigrid_mean(&args->grid, &args->coarse, args->d_r, cell);
    }
}

static size_t line_bytes(const struct correct_args *args, int axis)
{
    return LINES * (size_t)args->coarse.layout.cells[axis] * sizeof(float);
}

static void draw(struct correct_args *args, uint64_t random, struct arrays *host)
{
    host->x = malloc(layout_bytes(&args->layout));
    host->out = calloc(1, layout_bytes(&args->layout));
    host->e = calloc(1, layout_bytes(&args->grid.layout));
    host->r = calloc(1, layout_bytes(&args->grid.layout));
    host->largest = calloc(2, sizeof *host->largest);
    host->mean = calloc(1, layout_bytes(&args->coarse.layout));
    assert_non_null(host->mean);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        host->line[axis] = calloc(1, line_bytes(args, axis));
        assert_non_null(host->line[axis]);
        for (int64_t n = 0; n < args->coarse.layout.cells[axis]; n++) {
            const bool alone =
                args->coarse.children[axis] < 2 || 2 * n + 1 >= args->layout.cells[axis];
            host->line[axis][LINE_SHARE * args->coarse.layout.cells[axis] + n] =
                alone ? 1 : (float)random_between(&random, 0.3, 0.7);
        }
    }
    assert_true(host->x != NULL && host->out != NULL && host->e != NULL && host->r != NULL);
    assert_non_null(host->largest);
    for (int64_t n = 0; n < args->layout.elements; n++) {
        host->x[n] = random_between(&random, 200, 400);
    }
    for (int64_t n = 0; n < args->grid.layout.elements; n++) {
        host->e[n] = (float)random_between(&random, -1, 1);
    }
}

static void check(struct rig *rig, int shape, bool heated, bool changed, bool reads)
{
    struct correct_args args;
    struct arrays host;
    prepare(shape, &args);
    draw(&args, 99 + (uint64_t)shape, &host);
    const size_t sizes[] = {layout_bytes(&args.layout),
                            layout_bytes(&args.layout),
                            layout_bytes(&args.grid.layout),
                            layout_bytes(&args.grid.layout),
                            2 * sizeof(uint32_t),
                            layout_bytes(&args.coarse.layout),
                            line_bytes(&args, 0),
                            line_bytes(&args, 1),
                            line_bytes(&args, 2)};
    void *hosts[ARRAYS];
    void *devices[ARRAYS];
    struct arrays device;
    memcpy(hosts, &host, sizeof host);
    for (int n = 0; n < ARRAYS; n++) {
        devices[n] = rig_upload(rig, hosts[n], sizes[n]);
    }
    memcpy(&device, devices, sizeof device);
    use(&args, &device, heated, changed, reads);
    must(rig->backend->operations->correct(rig->queue, &args));
    must(rig->backend->runtime->queue_wait(rig->queue));
    use(&args, &host, heated, changed, reads);
    expect(&args);
    for (int n = 0; n < ARRAYS; n++) {
        void *got = rig_download(rig, devices[n], sizes[n]);
        assert_memory_equal(got, hosts[n], sizes[n]);
        rig->backend->runtime->memory_free(rig->device, devices[n]);
        free(got);
        free(hosts[n]);
    }
}

TEST(a_field_is_corrected_and_its_residual_found)
{
    for (int n = 0; n < rig_backend_count(); n++) {
        struct rig rig;
        rig_open(&rig, rig_backend_at(n));
        for (int shape = 0; shape < (int)(sizeof shapes / sizeof shapes[0]); shape++) {
            check(&rig, shape, true, true, true);
            check(&rig, shape, false, true, true);
            check(&rig, shape, true, false, true);
            check(&rig, shape, true, true, false);
            check(&rig, shape, false, true, false);
        }
        rig_close(&rig);
    }
}

TEST_MAIN(NULL, NULL)
