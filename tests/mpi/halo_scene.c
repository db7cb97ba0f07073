#include "halo_scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "halo/probe.h"
#include "kernels/backends.h"
#include "kernels/cell/heat_cell.h"

struct way ways[WAYS] = {
    {"cpu", {.transport = "host", .unproved = true}},
    {"guard", {.transport = "peer", .unproved = true}},
    {"cpu", {.transport = "peer", .unproved = true}},
    {"guard", {.transport = "staged", .unproved = true}},
    {"cpu", {.transport = "peer", .node_ranks = 2, .off_node = "host", .unproved = true}},
    {"cpu", {.transport = "staged", .unproved = true}},
    {"guard", {.transport = "peer", .node_ranks = 2, .off_node = "staged", .unproved = true}},
    {"cpu", {.transport = "gpu-aware"}},
    {"guard", {.transport = "peer"}},
    {"cpu", {.transport = "auto"}},
    {"guard", {.transport = "auto"}},
    {"cpu", {.transport = "auto", .node_ranks = 2}},
    {"guard", {.transport = "auto", .node_ranks = 2}},
};

static void use_backend(const char *name)
{
    for (int n = 0; n < WAYS; n++) {
        if (strcmp(ways[n].backend, "guard") == 0) {
            ways[n].backend = name;
        }
    }
}

int halo_prepare(int argc, char **argv)
{
    if (halo_probe_is_asked(argc, argv)) {
        return halo_probe_main(argc, argv);
    }
    if (argc > 1) {
        use_backend(argv[1]);
    }
    MPI_Init(&argc, &argv);
    return -1;
}

void scene_open(struct scene *scene, const struct decomp *decomp, const struct way *way,
                enum precision precision)
{
    scene_open_reaching(scene, decomp, decomp->halo_width, HALO_FACES, way, precision);
}

void scene_open_reaching(struct scene *scene, const struct decomp *decomp, int width,
                         enum halo_reach reach, const struct way *way, enum precision precision)
{
    scene_open_on(scene, backend_find(way->backend), decomp, width, reach, &way->wishes, precision);
}

void scene_open_on(struct scene *scene, const struct backend *backend, const struct decomp *decomp,
                   int width, enum halo_reach reach, const struct halo_options *wishes,
                   enum precision precision)
{
    const int rank = comm_rank(MPI_COMM_WORLD);
    rig_open(&scene->rig, backend);
    scene->decomp = *decomp;
    scene->owned = decomp_owned(decomp, rank);
    scene->precision = precision;
    demand(field_create(scene->rig.backend, scene->rig.device, scene->rig.queue, decomp, rank,
                        precision, &scene->field));
    demand(halo_plan_create(decomp, rank, &scene->field->layout, width, reach, &scene->plan));
    demand(halo_create(MPI_COMM_WORLD, scene->rig.backend, scene->rig.device, &scene->plan,
                       &scene->field->layout, wishes, &scene->halo));
}

void scene_close(struct scene *scene)
{
    demand(scene->rig.backend->runtime->queue_wait(scene->rig.queue));
    halo_destroy(scene->halo);
    field_destroy(scene->field);
    rig_close(&scene->rig);
}

double temperature(const struct decomp *decomp, const int64_t cell[AXIS_COUNT], int round)
{
    const int64_t *n = decomp->global_cells;
    const int64_t index = (cell[AXIS_Z] * n[AXIS_Y] + cell[AXIS_Y]) * n[AXIS_X] + cell[AXIS_X];
    return 200 + (double)(heat_mix64((uint64_t)(index * 16 + round)) >> 44) * 0x1p-11;
}

static void store(void *values, int64_t n, enum precision precision, double value)
{
    if (precision == PRECISION_FLOAT64) {
        ((double *)values)[n] = value;
    } else {
        ((float *)values)[n] = (float)value;
    }
}

double load(const void *values, int64_t n, enum precision precision)
{
    return precision == PRECISION_FLOAT64 ? ((const double *)values)[n]
                                          : (double)((const float *)values)[n];
}

void scene_fill(struct scene *scene, int round)
{
    const struct box local = layout_owned(&scene->field->layout);
    void *values = malloc((size_t)box_cells(&local) * sizeof(double));
    int64_t n = 0;
    int64_t cell[AXIS_COUNT];
    for (cell[2] = scene->owned.lo[2]; cell[2] < scene->owned.hi[2]; cell[2]++) {
        for (cell[1] = scene->owned.lo[1]; cell[1] < scene->owned.hi[1]; cell[1]++) {
            for (cell[0] = scene->owned.lo[0]; cell[0] < scene->owned.hi[0]; cell[0]++) {
                store(values, n++, scene->precision, temperature(&scene->decomp, cell, round));
            }
        }
    }
    demand(field_write(scene->field, &local, values));
    free(values);
}

/* Uneven blocks of at least `width` cells for exactly these blocks an axis. Axes beyond
 * `dimensions` are not in use. */
static void one_case(case_function *run, const int ranks[AXIS_COUNT], int dimensions, int width,
                     unsigned periodic_axes, int number)
{
    int64_t cells[AXIS_COUNT];
    bool periodic[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int uneven = 1 + (number + axis) % (ranks[axis] + 1);
        cells[axis] = axis < dimensions ? ranks[axis] * width + uneven : 1;
        periodic[axis] = ((periodic_axes >> axis) & 1) != 0;
    }
    struct decomp decomp;
    demand(decomp_create(cells, periodic, comm_size(MPI_COMM_WORLD), width, ranks, &decomp));
    run(&decomp, &ways[number % QUICK_WAYS],
        number % 3 == 0 ? PRECISION_FLOAT32 : PRECISION_FLOAT64);
}

void all_cases(case_function *run, int width)
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    int number = width;
    for (int px = 1; px <= nranks; px++) {
        for (int py = 1; px * py <= nranks; py++) {
            const int ranks[AXIS_COUNT] = {px, py, nranks / (px * py)};
            if (px * py * ranks[AXIS_Z] != nranks) {
                continue;
            }
            for (unsigned periodic = 0; periodic < 8; periodic++) {
                for (int dimensions = 1; dimensions <= 3; dimensions++) {
                    if ((dimensions < 3 && ranks[AXIS_Z] > 1) || (dimensions < 2 && py > 1)) {
                        continue;
                    }
                    one_case(run, ranks, dimensions, width, periodic, number++);
                }
            }
        }
    }
}
