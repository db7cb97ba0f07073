/* Halo exchange: every halo cell within the plan's width and reach gets its neighbour's value, and
 * nothing else is touched. */
#include "halo_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/comm.h"
#include "kernels/backends.h"

#undef fail /* ours, of base/status.h */

enum { MAX_WIDTH = 8 };

/* What element (i, j, k), halo included, must hold after an exchange: NaN unless it is owned or
 * lies within the plan's width and reach, where there is a neighbour. */
static double expected_after(const struct scene *scene, const int64_t at[AXIS_COUNT], int round)
{
    const struct decomp *decomp = &scene->decomp;
    int64_t cell[AXIS_COUNT];
    int beyond = 0;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const int64_t n = decomp->global_cells[axis];
        const int64_t owned = scene->field->layout.cells[axis];
        cell[axis] = scene->owned.lo[axis] + at[axis];
        if (at[axis] >= 0 && at[axis] < owned) {
            continue;
        }
        beyond++;
        if (at[axis] < -scene->plan.width || at[axis] >= owned + scene->plan.width) {
            return NAN;
        }
        if (cell[axis] < 0 || cell[axis] >= n) {
            if (!decomp->periodic[axis]) {
                return NAN;
            }
            cell[axis] = (cell[axis] + n) % n;
        }
    }
    return beyond <= (int)scene->plan.reach ? temperature(decomp, cell, round) : NAN;
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
    int64_t weighted = 0;
    struct box shell[FACE_COUNT];
    const int nshell = box_shell(&local, &scene->plan.interior, shell);
    for (int n = 0; n < nshell; n++) {
        cells += box_cells(&shell[n]);
    }
    check(cells == box_cells(&local));
    for (int m = 0; m < scene->plan.nmessages; m++) {
        const struct halo_message *message = &scene->plan.message[m];
        int64_t shift[AXIS_COUNT];
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            shift[axis] = (int64_t)message->toward[axis] * scene->plan.width;
        }
        /* interior cells, `width` layers on: still owned */
        const struct box moved = box_shift(&scene->plan.interior, shift);
        check(box_is_empty(&scene->plan.interior) || box_contains(&local, &moved));
        sent += message->cells;
        weighted += message->cells * (message->toward[AXIS_X] != 0 ? DECOMP_X_FACE_WEIGHT : 1);
    }
    if (scene->plan.reach == HALO_FACES && scene->plan.width == scene->decomp.halo_width) {
        check(weighted == decomp_cost(&scene->decomp, comm_rank(MPI_COMM_WORLD)));
    }
    check(halo_plan_bytes(&scene->plan, scene->precision) ==
          (size_t)sent * precision_bytes(scene->precision));
}

static void exchange_reaching(const struct decomp *decomp, int width, enum halo_reach reach,
                              const struct way *way, enum precision precision)
{
    struct scene scene;
    scene_open_reaching(&scene, decomp, width, reach, way, precision);
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

static void exchange_case(const struct decomp *decomp, const struct way *way,
                          enum precision precision)
{
    exchange_reaching(decomp, decomp->halo_width, HALO_FACES, way, precision);
}

/* All halo layers with their corners, or in every fifth case without. */
static void far_case(const struct decomp *decomp, const struct way *way, enum precision precision)
{
    static int number; /* counts alike on all ranks */
    const enum halo_reach reach = number % 5 == 4 ? HALO_EDGES : HALO_CORNERS;
    exchange_reaching(decomp, decomp->halo_width, reach, way, precision);
    number++;
}

/* Fewer layers than the field has, each reach in turn. */
static void narrow_case(const struct decomp *decomp, const struct way *way,
                        enum precision precision)
{
    static int number;
    const int width = 1 + number % (decomp->halo_width - 1);
    /* each reach with each number of dimensions, which turn with `number` as well */
    const int reach = HALO_FACES + (number + number / 3) % 3;
    exchange_reaching(decomp, width, (enum halo_reach)reach, way, precision);
    number++;
}

/* Many ranks on few cores: every third width. */
static int next_width(void)
{
    return comm_size(MPI_COMM_WORLD) > 3 ? 3 : 1;
}

TEST(halos_hold_the_neighbours_values)
{
    for (int width = 1; width <= MAX_WIDTH; width += next_width()) {
        all_cases(exchange_case, width);
        settle();
    }
}

TEST(edges_and_corners_come_when_asked_for)
{
    for (int width = 1; width <= MAX_WIDTH; width += next_width()) {
        all_cases(far_case, width);
        settle();
    }
}

TEST(layers_beyond_the_width_are_left_alone)
{
    for (int layers = 2; layers <= MAX_WIDTH; layers += 3) {
        all_cases(narrow_case, layers);
        settle();
    }
}

/* --- the exchange's manners ------------------------------------------------------------------ */

static struct backend counting; /* a backend whose calls are counted, and fail on demand */
static struct runtime counting_runtime;
static struct operations counting_operations;
static const struct backend *counted;
static int waits, syncs;
static bool pack_fails;

static enum status count_wait(struct queue *queue)
{
    waits++;
    return counted->runtime->queue_wait(queue);
}

static enum status count_sync(struct event *event)
{
    syncs++;
    return counted->runtime->event_sync(event);
}

static enum status fail_pack(struct queue *queue, const struct pack_args *args)
{
    if (pack_fails) {
        return fail(STATUS_DEVICE, "the packing kernel is out of order");
    }
    return counted->operations->pack(queue, args);
}

static void counting_scene(struct scene *scene, const struct way *way)
{
    const int nranks = comm_size(MPI_COMM_WORLD);
    const int64_t cells[AXIS_COUNT] = {5, 6, 3 * nranks};
    const bool periodic[AXIS_COUNT] = {true, true, true};
    struct decomp decomp;
    demand(decomp_create(cells, periodic, nranks, 1, (const int[]){1, 1, nranks}, &decomp));
    counted = backend_find(way->backend);
    counting = *counted;
    counting_runtime = *counted->runtime;
    counting_runtime.queue_wait = count_wait;
    counting_runtime.event_sync = count_sync;
    counting.runtime = &counting_runtime;
    counting_operations = *counted->operations;
    counting_operations.pack = fail_pack;
    counting.operations = &counting_operations;
    pack_fails = false;
    scene_open_on(scene, &counting, &decomp, 1, HALO_FACES, &way->wishes, PRECISION_FLOAT64);
}

TEST(the_host_waits_as_little_as_can_be)
{
    for (int way = 0; way < QUICK_WAYS; way++) {
        struct scene scene;
        struct halo_flight flight;
        counting_scene(&scene, &ways[way]);
        scene_fill(&scene, 0);
        waits = 0;
        syncs = 0;
        demand(halo_begin(scene.halo, scene.rig.queue, scene.field->d_now, &flight));
        demand(halo_end(&flight));
        /* MPI sends what is packed: `staged` waits for each copy, the others once for all; flags
         * are waited for by the queue */
        const char *name = halo_transport_name(scene.halo);
        const bool in_place = strstr(name, "host") != NULL || strstr(name, "gpu-aware") != NULL;
        const bool staged = strstr(name, "staged") != NULL;
        const bool mixed = strchr(name, '+') != NULL; /* this rank may lack one kind */
        check(waits == (in_place ? 1 : 0) || (mixed && waits == 0));
        check(syncs == (staged ? scene.plan.nmessages : 0) || mixed);
        scene_close(&scene);
    }
    settle();
}

TEST(a_failed_begin_leaves_nothing_behind)
{
    for (int way = 0; way < QUICK_WAYS; way++) {
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

/* A transport that works is the fastest of those tried for the same neighbours. */
static void check_fastest(const struct halo_trial *trials, int ntrials, bool on_node,
                          const char *name)
{
    double best = 0;
    const char *fastest = NULL;
    for (int n = 0; n < ntrials; n++) {
        check((trials[n].seconds > 0) == trials[n].works);
        check((trials[n].why[0] == '\0') == trials[n].works);
        if (trials[n].on_node == on_node && trials[n].works &&
            (fastest == NULL || trials[n].seconds < best)) {
            fastest = trials[n].transport;
            best = trials[n].seconds;
        }
    }
    check(fastest == NULL || strstr(name, fastest) != NULL);
}

static void check_choice(const struct scene *scene, const struct way *way)
{
    const char *name = halo_transport_name(scene->halo);
    const struct halo_trial *trials;
    const int ntrials = halo_trials(scene->halo, &trials);
    check(strlen(halo_transport_reason(scene->halo)) > 20);
    check((ntrials > 0) == !way->wishes.unproved);
    check_fastest(trials, ntrials, true, name);
    check_fastest(trials, ntrials, false, name);
    if (strcmp(way->wishes.transport, "auto") != 0) {
        const bool mixed = way->wishes.off_node != NULL && comm_size(MPI_COMM_WORLD) > 2;
        check(strncmp(name, way->wishes.transport, strlen(way->wishes.transport)) == 0);
        check((strchr(name, '+') != NULL) == mixed);
        check(!mixed || strstr(name, way->wishes.off_node) != NULL);
        return;
    }
    bool tried_far = false;
    for (int n = 0; n < ntrials; n++) {
        tried_far = tried_far || !trials[n].on_node;
        if (strcmp(trials[n].transport, "gpu-aware") == 0 && strcmp(way->backend, "guard") != 0) {
            continue; /* as the machine's MPI is */
        }
        /* no MPI is made for memory that the host cannot touch: it crashes */
        if (strcmp(trials[n].transport, "gpu-aware") == 0) {
            check(!trials[n].works);
            check(strstr(trials[n].why, "crashed in a trial process") != NULL);
        } else {
            check(trials[n].works);
        }
    }
    check(tried_far ==
          (way->wishes.node_ranks > 0 && comm_size(MPI_COMM_WORLD) > way->wishes.node_ranks));
}

TEST(transports_are_chosen_with_a_reason)
{
    const int nways = comm_size(MPI_COMM_WORLD) > 3 ? QUICK_WAYS : WAYS; /* a proof: a process */
    for (int way = 0; way < nways; way++) {
        struct scene scene;
        counting_scene(&scene, &ways[way]);
        check_choice(&scene, &ways[way]);
        const bool guard = strcmp(ways[way].backend, "cpu") != 0;
        struct halo *halo = scene.halo;
        check(halo_create(MPI_COMM_WORLD, scene.rig.backend, scene.rig.device, &scene.plan,
                          &scene.field->layout, &(struct halo_options){.transport = "pigeon"},
                          &halo) == STATUS_INPUT);
        check(halo == NULL);
        check(strstr(fail_message(),
                     "\"pigeon\"; choose one of: auto, peer, gpu-aware, host, staged") != NULL);
        if (guard) {
            check(halo_create(MPI_COMM_WORLD, scene.rig.backend, scene.rig.device, &scene.plan,
                              &scene.field->layout, &(struct halo_options){.transport = "host"},
                              &halo) == STATUS_DEVICE);
            check(strstr(fail_message(), "\"staged\" works") != NULL);
        }
        scene_close(&scene);
    }
    halo_destroy(NULL);
    settle();
}

int main(int argc, char **argv)
{
    const int code = halo_prepare(argc, argv);
    return code >= 0 ? code : test_run_ranks(NULL, NULL);
}
