/* Halo exchange: every halo face cell gets its neighbour's value, and nothing else is touched. */
#include "halo_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"

#undef fail /* ours, of base/status.h */

enum { MAX_WIDTH = 8 };

/* What element (i, j, k), halo included, must hold after an exchange: NaN unless it is owned or
 * lies beyond exactly one face that has a neighbour. */
static double expected_after(const struct scene *scene, const int64_t at[AXIS_COUNT], int round)
{
    const struct decomp *decomp = &scene->decomp;
    int64_t cell[AXIS_COUNT];
    int beyond = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = decomp->global_cells[axis];
        cell[axis] = scene->owned.lo[axis] + at[axis];
        if (at[axis] >= 0 && at[axis] < scene->field->layout.cells[axis]) {
            continue;
        }
        beyond++;
        if (cell[axis] < 0 || cell[axis] >= n) {
            if (!decomp->periodic[axis]) {
                return NAN;
            }
            cell[axis] = (cell[axis] + n) % n;
        }
    }
    return beyond <= 1 ? temperature(decomp, cell, round) : NAN;
}

/* The whole allocation, padding included. */
static void check_allocation(struct scene *scene, int round)
{
    const struct layout *layout = &scene->field->layout;
    void *found = rig_download(&scene->rig, scene->field->d_now, layout_bytes(layout));
    int64_t real = 0;
    int64_t at[AXIS_COUNT];
    for (at[2] = -layout->halo[2]; at[2] < layout->cells[2] + layout->halo[2]; at[2]++) {
        for (at[1] = -layout->halo[1]; at[1] < layout->cells[1] + layout->halo[1]; at[1]++) {
            for (at[0] = -layout->halo[0]; at[0] < layout->cells[0] + layout->halo[0]; at[0]++) {
                const double expected = expected_after(scene, at, round);
                const double value =
                    load(found, layout_index(layout, at[0], at[1], at[2]), scene->precision);
                check(isnan(expected) ? isnan(value) : value == expected);
                real += isnan(expected) ? 0 : 1;
            }
        }
    }
    for (int64_t e = 0; e < layout->elements; e++) {
        real -= isnan(load(found, e, scene->precision)) ? 0 : 1;
    }
    check(real == 0);
    free(found);
}

static void check_plan(const struct scene *scene)
{
    const struct box local = layout_owned(&scene->field->layout);
    int64_t cells = box_cells(&scene->plan.interior);
    int64_t sent = 0;
    for (int n = 0; n < scene->plan.nshell; n++) {
        cells += box_cells(&scene->plan.shell[n]);
    }
    check(cells == box_cells(&local));
    for (int m = 0; m < scene->plan.nmessages; m++) {
        struct box reach = scene->plan.interior;
        const struct halo_message *message = &scene->plan.message[m];
        /* interior cells, `width` layers on: still owned */
        reach = box_shrink_face(&reach, message->face, -scene->plan.width);
        check(box_is_empty(&scene->plan.interior) || box_contains(&local, &reach));
        sent += message->cells;
    }
    check(sent == decomp_halo_cells(&scene->decomp, comm_rank(MPI_COMM_WORLD)));
    check(halo_plan_bytes(&scene->plan, scene->precision) ==
          (size_t)sent * precision_bytes(scene->precision));
}

static void exchange_case(const struct decomp *decomp, const struct way *way,
                          enum precision precision)
{
    struct scene scene;
    scene_open(&scene, decomp, way, precision);
    check_plan(&scene);
    for (int round = 0; round < 3; round++) {
        struct halo_flight flight;
        scene_fill(&scene, round);
        demand(halo_begin(scene.halo, scene.rig.queue, scene.field->d_now, &flight));
        demand(halo_end(&flight));
        check(flight.halo == NULL);
        check_allocation(&scene, round);
    }
    scene_close(&scene);
}

static void halos_hold_the_neighbours_values(void **state)
{
    (void)state;
    for (int width = 1; width <= MAX_WIDTH; width++) {
        all_cases(exchange_case, width);
        settle();
    }
}

/* --- the exchange's manners ------------------------------------------------------------------ */

static struct backend counting; /* a backend whose calls are counted, and fail on demand */
static const struct backend *counted;
static int waits;
static bool pack_fails;

static enum status count_wait(struct queue *queue)
{
    waits++;
    return counted->queue_wait(queue);
}

static enum status fail_pack(struct queue *queue, const struct layout *layout, const void *d_field,
                             const struct box *box, void *d_buffer)
{
    if (pack_fails) {
        return fail(STATUS_DEVICE, "the packing kernel is out of order");
    }
    return counted->pack(queue, layout, d_field, box, d_buffer);
}

static void counting_scene(struct scene *scene, const struct way *way)
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    const int64_t cells[AXIS_COUNT] = {5, 6, 3 * nranks};
    const bool periodic[AXIS_COUNT] = {true, true, true};
    struct decomp decomp;
    demand(decomp_create(cells, periodic, nranks, 1, (const int[]){1, 1, nranks}, &decomp));
    scene_open(scene, &decomp, way, PRECISION_FLOAT64);
    halo_destroy(scene->halo);
    counted = scene->rig.backend;
    counting = *counted;
    counting.queue_wait = count_wait;
    counting.pack = fail_pack;
    pack_fails = false;
    demand(halo_create(MPI_COMM_WORLD, &counting, scene->rig.device, &scene->plan,
                       &scene->field->layout, way->transport, &scene->halo));
}

static void one_wait_an_exchange(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct scene scene;
        struct halo_flight flight;
        counting_scene(&scene, &ways[way]);
        scene_fill(&scene, 0);
        waits = 0;
        demand(halo_begin(scene.halo, scene.rig.queue, scene.field->d_now, &flight));
        demand(halo_end(&flight));
        check(waits == 1);
        scene_close(&scene);
    }
    settle();
}

static void a_failed_begin_leaves_nothing_behind(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct scene scene;
        struct halo_flight flight;
        counting_scene(&scene, &ways[way]);
        for (int round = 0; round < 4; round++) {
            scene_fill(&scene, round);
            pack_fails = true;
            for (int times = 0; times <= round; times++) {
                check(halo_begin(scene.halo, scene.rig.queue, scene.field->d_now, &flight) ==
                      STATUS_DEVICE);
                check(flight.halo == NULL);
            }
            pack_fails = false;
            /* as the program agrees on a failure; else a neighbour's next message could meet a
             * receive that is about to be taken back */
            check(status_agree(MPI_COMM_WORLD, STATUS_DEVICE) == STATUS_DEVICE);
            demand(halo_begin(scene.halo, scene.rig.queue, scene.field->d_now, &flight));
            demand(halo_end(&flight));
            check_allocation(&scene, round);
        }
        scene_close(&scene);
    }
    settle();
}

static void transports_are_chosen_with_a_reason(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct scene scene;
        counting_scene(&scene, &ways[way]);
        const char *name = halo_transport_name(scene.halo);
        const bool automatic = strcmp(ways[way].transport, "auto") == 0;
        const bool guard = strcmp(ways[way].backend, "guard") == 0;
        check(strcmp(name, automatic ? (guard ? "staged" : "host") : ways[way].transport) == 0);
        check(strlen(halo_transport_reason(scene.halo)) > 20);
        struct halo *halo = scene.halo;
        check(halo_create(MPI_COMM_WORLD, scene.rig.backend, scene.rig.device, &scene.plan,
                          &scene.field->layout, "pigeon", &halo) == STATUS_INPUT);
        check(halo == NULL);
        check(strstr(fail_message(), "\"pigeon\"; choose one of: auto, host, staged") != NULL);
        if (guard) {
            check(halo_create(MPI_COMM_WORLD, scene.rig.backend, scene.rig.device, &scene.plan,
                              &scene.field->layout, "host", &halo) == STATUS_DEVICE);
            check(strstr(fail_message(), "\"staged\" works") != NULL);
        }
        scene_close(&scene);
    }
    halo_destroy(NULL);
    settle();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halos_hold_the_neighbours_values),
        cmocka_unit_test(one_wait_an_exchange),
        cmocka_unit_test(a_failed_begin_leaves_nothing_behind),
        cmocka_unit_test(transports_are_chosen_with_a_reason),
    };
    mpi_rig_begin(&argc, &argv);
    return mpi_rig_end(cmocka_run_group_tests_name("halo", tests, NULL, NULL));
}
