/* Random grids of a multigrid, on the host and on a device, for test_backend_multigrid.c. */
#pragma once

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
    int shape;
    struct twin fine, coarse;
    uint64_t random;
};

static const struct {
    int64_t cells[AXIS_COUNT];
    int children[AXIS_COUNT];
    bool wraps[AXIS_COUNT];
} shapes[] = {
    {{13, 8, 6}, {2, 2, 2}, {false, false, false}},
    {{12, 7, 5}, {2, 1, 2}, {true, false, true}},
    {{2, 9, 3}, {2, 2, 2}, {true, true, false}},
    {{65, 1, 1}, {2, 1, 1}, {false, false, false}},
    {{8, 5, 7}, {2, 2, 2}, {true, false, false}},
    {{20, 31, 1}, {1, 2, 1}, {false, true, false}},
    {{70, 61, 62}, {2, 2, 2}, {true, true, true}},
    {{130, 61, 34}, {2, 2, 1}, {false, false, false}},
    {{120, 56, 43}, {2, 1, 2}, {false, false, false}}, /* a tile ends with x, and with y */
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

/* The grid of a shape after it has been made coarser so many times. */
static void lay_out(struct multigrid *grid, int shape, int times)
{
    int64_t cells[AXIS_COUNT];
    int halo[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int children = shapes[shape].children[a];
        const int64_t n = shapes[shape].cells[a];
        cells[a] = n;
        for (int coarser = 0; coarser < times; coarser++) {
            cells[a] = (cells[a] + children - 1) / children;
        }
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
    scene->shape = shape;
    scene->random = 4321 + (uint64_t)shape;
    rig_open(&scene->rig, backend);
    struct multigrid *fine = &scene->fine.host;
    struct multigrid *coarse = &scene->coarse.host;
    lay_out(fine, shape, 0);
    lay_out(coarse, shape, 1);
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
