/* Steps with interior and shell around an exchange give the bits of one serial grid. */
#include "halo_scene.h"

#include <stdlib.h>

#include "base/comm.h"
#include "kernels/cell/heat_cell.h"

enum { STEPS = 4 };

static const double r_values[AXIS_COUNT] = {0.11, 0.17, 0.13};
static const double a_values[FACE_COUNT] = {-1, 1, 0.75, -1, 1, 0.5};
static const double b_values[FACE_COUNT] = {600, 3, 80, 500, -2, 160};

static struct coefficients args_of(const struct scene *scene)
{
    struct coefficients args = {.r = {0}};
    const bool single = scene->precision == PRECISION_FLOAT32;
    for (int f = 0; f < FACE_COUNT; f++) {
        const bool used = scene->decomp.used[face_axis((enum face)f)];
        const int rank = comm_rank(MPI_COMM_WORLD);
        args.closed[f] = decomp_neighbour(&scene->decomp, rank, (enum face)f) < 0;
        args.a[f] = used ? a_values[f] : 1;
        args.b[f] = used ? b_values[f] : 0;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const double r = scene->decomp.used[axis] ? r_values[axis] : 0;
        args.r[axis] = single ? (double)(float)r : r;
    }
    return args;
}

/* The value beyond or at `cell`, which may lie one cell outside the grid. */
static double neighbour_value(const struct scene *scene, const double *grid,
                              const struct coefficients *args, const int64_t cell[AXIS_COUNT],
                              enum face face)
{
    const int64_t *n = scene->decomp.global_cells;
    const enum axis axis = face_axis(face);
    int64_t at[AXIS_COUNT] = {cell[0], cell[1], cell[2]};
    at[axis] += face_side(face) == SIDE_MIN ? -1 : 1;
    const bool outside = at[axis] < 0 || at[axis] >= n[axis];
    if (outside && (!scene->decomp.used[axis] || !scene->decomp.periodic[axis])) {
        const double inside = grid[(cell[2] * n[1] + cell[1]) * n[0] + cell[0]];
        return scene->precision == PRECISION_FLOAT64
                   ? heat_outside_float64(inside, args->a[face], args->b[face])
                   : (double)heat_outside_float32((float)inside, (float)args->a[face],
                                                  (float)args->b[face]);
    }
    at[axis] = (at[axis] + n[axis]) % n[axis];
    return grid[(at[2] * n[1] + at[1]) * n[0] + at[0]];
}

/* One step of the whole grid, serially. */
static void reference_step(const struct scene *scene, const struct coefficients *args,
                           const double *now, double *next)
{
    const int64_t *n = scene->decomp.global_cells;
    const double *r = args->r;
    int64_t cell[AXIS_COUNT];
    int64_t index = 0;
    for (cell[2] = 0; cell[2] < n[2]; cell[2]++) {
        for (cell[1] = 0; cell[1] < n[1]; cell[1]++) {
            for (cell[0] = 0; cell[0] < n[0]; cell[0]++, index++) {
                double v[FACE_COUNT];
                for (int f = 0; f < FACE_COUNT; f++) {
                    v[f] = neighbour_value(scene, now, args, cell, (enum face)f);
                }
                next[index] = scene->precision == PRECISION_FLOAT64
                                  ? heat_cell_float64(now[index], now[index], v[0], v[1], v[2],
                                                      v[3], v[4], v[5], r[0], r[1], r[2])
                                  : (double)heat_cell_float32(
                                        (float)now[index], (float)now[index], (float)v[0],
                                        (float)v[1], (float)v[2], (float)v[3], (float)v[4],
                                        (float)v[5], (float)r[0], (float)r[1], (float)r[2]);
            }
        }
    }
}

/* As the program steps: overlapped, or exchange first. Nothing waits for the queue in between. */
static void step_once(struct scene *scene, const struct coefficients *args, bool overlap)
{
    const struct operations *operations = scene->rig.backend->operations;
    struct queue *queue = scene->rig.queue;
    struct field *field = scene->field;
    const struct halo_plan *plan = &scene->plan;
    struct halo_flight flight;
    const struct box all = layout_owned(&field->layout);
    struct box shell[FACE_COUNT];
    struct step_args step = {.layout = field->layout,
                             .levels = args,
                             .nsteps = 1,
                             .d_out = field->d_next,
                             .d_in = field->d_now,
                             .boxes = &plan->interior,
                             .nboxes = 1};
    demand(halo_begin(scene->halo, queue, field->d_now, &flight));
    if (overlap && !box_is_empty(&plan->interior)) {
        demand(operations->step(queue, &step));
    }
    demand(halo_end(&flight));
    step.boxes = overlap ? shell : &all;
    step.nboxes = overlap ? box_shell(&all, &plan->interior, shell) : 1;
    demand(operations->step(queue, &step));
    field_swap(field);
}

static double *reference_run(const struct scene *scene, const struct coefficients *args)
{
    const struct box whole = box_of_cells(scene->decomp.global_cells);
    double *now = malloc((size_t)box_cells(&whole) * sizeof(double));
    double *next = malloc((size_t)box_cells(&whole) * sizeof(double));
    int64_t cell[AXIS_COUNT];
    int64_t n = 0;
    for (cell[2] = 0; cell[2] < whole.hi[2]; cell[2]++) {
        for (cell[1] = 0; cell[1] < whole.hi[1]; cell[1]++) {
            for (cell[0] = 0; cell[0] < whole.hi[0]; cell[0]++) {
                now[n++] = temperature(&scene->decomp, cell, 0);
            }
        }
    }
    for (int step = 0; step < STEPS; step++) {
        reference_step(scene, args, now, next);
        double *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

static void step_case(const struct decomp *decomp, const struct way *way, enum precision precision)
{
    struct scene scene;
    scene_open(&scene, decomp, way, precision);
    const struct coefficients args = args_of(&scene);
    const struct box local = layout_owned(&scene.field->layout);
    const int64_t *n = decomp->global_cells;
    double *expected = reference_run(&scene, &args);
    void *found = malloc((size_t)box_cells(&local) * sizeof(double));
    scene_fill(&scene, 0);
    for (int step = 0; step < STEPS; step++) {
        step_once(&scene, &args, step % 3 != 2);
    }
    demand(field_read(scene.field, &local, found));
    int64_t at = 0;
    for (int64_t k = scene.owned.lo[2]; k < scene.owned.hi[2]; k++) {
        for (int64_t j = scene.owned.lo[1]; j < scene.owned.hi[1]; j++) {
            for (int64_t i = scene.owned.lo[0]; i < scene.owned.hi[0]; i++) {
                const double value = expected[(k * n[1] + j) * n[0] + i];
                check(load(found, at++, precision) == value);
            }
        }
    }
    free(found);
    free(expected);
    scene_close(&scene);
}

TEST(steps_equal_a_serial_run)
{
    for (int width = 1; width <= 3; width++) {
        all_cases(step_case, width);
        settle();
    }
}

int main(int argc, char **argv)
{
    return halo_main(argc, argv);
}
