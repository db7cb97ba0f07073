/* isotherm plan: the needs of a run. Runs nothing, needs no MPI. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/command/commands.h"
#include "app/command/plan.h"
#include "base/file.h"
#include "base/log.h"
#include "machine/host.h"
#include "machine/machine.h"
#include "machine/placement.h"
#include "model/space/resolution.h"
#include "model/space/shape.h"
#include "output/output.h"

static struct {
    const char *config;
    struct option_list sets;
    struct option_list machines;
    const char *output; /* of check */
    bool print;
    int64_t ranks;
    int64_t ranks_per_node;
    int64_t ranks_per_module;
} options = {.ranks = 1, .ranks_per_node = INT32_MAX, .ranks_per_module = 1};

static const struct option option_table[] = {
    {OPTION_COUNT, "--ranks", "N", "number of MPI ranks (default 1)", &options.ranks},
    {OPTION_COUNT, "--ranks-per-node", "N", "ranks per node (default all)",
     &options.ranks_per_node},
    {OPTION_COUNT, "--ranks-per-module", "N", "ranks per GPU module (MI250X: 2; default 1)",
     &options.ranks_per_module},
    {OPTION_LIST, "--machine", "NAME|FILE", "wall time there; later files add numbers",
     &options.machines},
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key, as for run (repeatable)", &options.sets},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static void warn(struct plan *plan, const char *format, ...) PRINTF_LIKE(2, 3);
static void warn(struct plan *plan, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plan->warnings++;
    printf("  warning: %s\n", log_clean(text));
}

/* Of a check that has failed, which a run repeats. */
static void warn_of(struct plan *plan, enum status status)
{
    if (status != STATUS_OK) {
        warn(plan, "%s", fail_message());
        fail_clear();
    }
}

/* Of this machine, or, as --ranks-per-module says, of another. */
static bool is_for_gpus(const struct plan *plan)
{
    return backend_has(plan->backend, BACKEND_FREE_COPIES) || options.ranks_per_module > 1;
}

static void print_blocks(const struct plan *plan)
{
    const struct grid *grid = &plan->problem.grid;
    const int64_t *n = grid->cells;
    const int *p = plan->decomp.ranks;
    printf("grid           %" PRId64 " x %" PRId64 " x %" PRId64 " = %" PRId64
           " cells, %dD, %s, %s %.4g x %.4g x %.4g m\n",
           n[0], n[1], n[2], grid_total_cells(&plan->problem.grid), plan->problem.grid.dimensions,
           precision_name(plan->problem.precision),
           grid_is_graded(grid) ? "graded, the smallest cell" : "spacing",
           grid_smallest_width(grid, AXIS_X), grid_smallest_width(grid, AXIS_Y),
           grid_smallest_width(grid, AXIS_Z));
    if (plan->problem.radius > 1) {
        printf("stencil        order %d, %d cells on either side; it has no maximum principle, so "
               "that "
               "run.watch checks the heat only\n",
               plan->problem.run.stencil_order, plan->problem.radius);
    }
    printf("decomposition  %d rank%s as %d x %d x %d (%s)\n", plan->decomp.nranks,
           plan->decomp.nranks == 1 ? "" : "s", p[0], p[1], p[2],
           plan->problem.run.decomposition_auto ? "auto: minimal halo traffic, x faces weighted"
                                                : "as configured");
    printf("cells/rank     %" PRId64 " .. %" PRId64 " (the largest is %.1f %% above the mean)\n",
           plan->min_cells, plan->max_cells,
           100.0 * ((double)plan->max_cells * plan->decomp.nranks /
                        (double)grid_total_cells(&plan->problem.grid) -
                    1.0));
    printf("memory/rank    %s on the device, %s on the host for outputs in flight\n",
           SIZE_TEXT(plan->max_bytes), SIZE_TEXT(plan->max_output_bytes));
    if (plan->max_class_bytes > 0) {
        printf("               another %s on the host for materials and properties of cells\n",
               SIZE_TEXT(plan->max_class_bytes));
    }
    if (plan->max_patch_bytes > 0) {
        printf("               another %s on the host for patches and maps on faces\n",
               SIZE_TEXT(plan->max_patch_bytes));
    }
    if (plan->max_copy_bytes > 0 && is_for_gpus(plan)) {
        printf("on a GPU       another %s on the device for outputs in flight\n",
               SIZE_TEXT(plan->max_copy_bytes));
    }
    const bool auto_steps = plan->problem.run.steps_per_pass_auto && plan->passes.most > 1;
    printf("steps/pass     %s%d (%s)\n", auto_steps ? "1 to " : "", plan->passes.most,
           plan->passes.reason);
    printf("halo/%s      %s .. %s sent by each rank, at most %d message%s\n",
           plan->passes.most > 1 ? "pass" : "step", SIZE_TEXT((double)plan->min_halo),
           SIZE_TEXT((double)plan->max_halo), plan->max_messages,
           plan->max_messages == 1 ? "" : "s");
}

static void print_surfaces(const struct problem *problem)
{
    const struct settings *settings = problem->settings;
    for (int s = 0; s < settings->nsurfaces; s++) {
        const struct surface_setting *surface = &settings->surfaces[s];
        printf("surface        %s: %.6g m^2 of cell faces between %s and %s",
               surface->name != NULL ? surface->name : "unnamed", problem->medium.cell_area[s],
               surface->between[0], surface->between[1]);
        printf(surface->area == AREA_SHAPE ? ", of %.6g m^2 of the shape\n" : "\n",
               problem->medium.surface_area[s]);
    }
}

/* The order of the ranks if nodes and modules are filled in turn. */
static enum status print_placement(const struct plan *plan)
{
    const struct decomp *decomp = &plan->decomp;
    const int nranks = decomp->nranks;
    const double width = (double)precision_bytes(plan->problem.precision);
    char reason[256];
    struct placement_order order;
    SCOPED_FREE struct rank_place *places = malloc((size_t)nranks * sizeof *places);
    TRY(CHECK_MEMORY(places != NULL, "no memory to place %d ranks", nranks));
    placement_assume(nranks, (int)options.ranks_per_node, (int)options.ranks_per_module, places);
    TRY(placement_choose(decomp, places, &order));
    placement_reason(&order, reason, sizeof reason);
    printf("placement      %s\n", reason);
    printf("links/step     ");
    if (is_for_gpus(plan)) {
        printf("%s inside modules, ", SIZE_TEXT((double)order.link_cells[LINK_GROUP] * width));
    }
    printf("%s inside nodes, %s between nodes, all ranks\n",
           SIZE_TEXT((double)order.link_cells[LINK_NODE] * width),
           SIZE_TEXT((double)order.link_cells[LINK_NETWORK] * width));
    placement_free(&order);
    return STATUS_OK;
}

static void print_launch(const struct plan *plan)
{
    char settings[LAUNCH_BYTES];
    host_launch_settings(plan->decomp.nranks, cores_count(), settings);
    if (settings[0] != '\0') {
        printf("launch         mpirun -n %d on this machine needs %s\n", plan->decomp.nranks,
               settings);
    }
}

static void warn_of_blocks(struct plan *plan)
{
    enum axis axis = AXIS_X;
    const int64_t thinnest = decomp_thinnest(&plan->decomp, &axis);
    if (thinnest < 8 && plan->decomp.ranks[axis] > 1) {
        warn(plan,
             "some blocks are only %" PRId64
             " cells thick in %s: mostly halo; use fewer ranks or another run.decomposition",
             thinnest, axis_name(axis));
    }
    const double cell_bytes = (double)precision_bytes(plan->problem.precision);
    const double share = (double)plan->max_halo / ((double)plan->min_cells * cell_bytes);
    if (share > 0.2 * plan->passes.most) {
        warn(plan, "a rank sends up to %.0f %% of its cells per step: the exchange will dominate",
             100.0 * share / plan->passes.most);
    }
    const double imbalance = (double)plan->max_cells / (double)plan->min_cells;
    if (imbalance > 1.2) {
        warn(plan, "the largest block has %.1f times the cells of the smallest: ranks will wait",
             imbalance);
    }
}

static void warn_of_cadence(struct plan *plan, const char *key, const struct cadence *cadence)
{
    const struct timeline *timeline = &plan->problem.timeline;
    const struct output_kind *kind = NULL;
    const struct output_section *section = output_section_of(key, &kind);
    const double last = cadence->ntimes > 0 ? cadence->times[cadence->ntimes - 1] : 0;
    const int64_t count = timeline_count_due(timeline, cadence) - (kind->not_at_start ? 1 : 0);
    const int64_t between = timeline_next_due(timeline, cadence, 0);
    const char *ends = kind->not_at_start ? "last state is" : "first and last state are";
    if (cadence->every > timeline->steps) {
        warn(plan, "%s.every is %" PRId64 ", more than the %" PRId64 " step%s: only the %s written",
             key, cadence->every, timeline->steps, timeline->steps == 1 ? "" : "s", ends);
    } else if (between >= 100000) {
        warn(plan,
             "dt is far below the interval of %s: %" PRId64
             " steps between two outputs; a coarser grid would allow longer steps",
             key, between);
    } else if (count > section->many + 1) {
        warn(plan, "%" PRId64 " %s will be written: %s %s%s", count, section->pieces,
             last > 0 ? "give fewer times of" : "raise", key,
             cadence->every > 0 ? ".every"
             : last > 0         ? ""
                                : ".interval");
    }
}

static void warn_of_landings(struct plan *plan)
{
    const struct timeline *timeline = &plan->problem.timeline;
    const double needed = ceil(timeline->end / timeline->dt * (1 - 1e-12));
    char key[CADENCE_KEY_BYTES + 16];
    const double interval = timeline_shortest_interval(timeline, key);
    if (isfinite(interval) && (double)timeline->steps > 1.2 * needed) {
        warn(plan,
             "landing on the times of outputs takes %" PRId64 " steps instead of %.15g of %.4g s: "
             "raise %s (%g s), or give every instead",
             timeline->steps, needed, timeline->dt, key, interval);
    }
}

static void warn_of_initial(struct plan *plan)
{
    for (int entry = 0; entry < plan->problem.ninitial; entry++) {
        warn_of(plan, shape_check_cells(plan->problem.origin, &plan->problem.grid, "initial",
                                        &plan->problem.initial[entry], entry));
    }
}

static void warn_of_values(struct plan *plan)
{
    char text[SETTINGS_WARNING];
    const struct problem *problem = &plan->problem;
    for (int index = 0;
         settings_warning(problem->settings, problem->timeline.end, true, &index, text);) {
        warn(plan, "%s", text);
    }
}

static void warn_of_shapes(struct plan *plan)
{
    char text[RESOLUTION_TEXT];
    for (int index = 0; resolution_warning(&plan->problem, index, text); index++) {
        if (text[0] != '\0') {
            warn(plan, "%s", text);
        }
    }
}

static void warn_of_time(struct plan *plan)
{
    const struct time_setting *time = &plan->problem.time;
    const struct timeline *timeline = &plan->problem.timeline;
    const double best = time->safety * timeline->dt_stable;
    if (time->scheme == SCHEME_STEADY) {
        return;
    }
    if (timeline->dt < 0.1 * best) {
        warn(plan, "dt is %.3g times smaller than necessary: %.4g s is stable and takes %.3g steps",
             best / timeline->dt, best, ceil(timeline->end / best));
    }
    warn_of_landings(plan);
    char key[CADENCE_KEY_BYTES];
    const struct cadence *cadence = NULL;
    for (int i = 0; (cadence = settings_cadence(&plan->problem.output, i, key)) != NULL; i++) {
        if (cadence_is_on(cadence)) {
            warn_of_cadence(plan, key, cadence);
        }
    }
}

static enum status warn_of_memory(struct plan *plan)
{
    const struct backend *backend = plan->backend;
    struct device *device = NULL;
    struct device_info info;
    TRY(backend->runtime->open(0, 1, &device));
    const enum status status = backend->runtime->info(device, &info);
    backend->runtime->close(device);
    TRY(status);
    printf("local device   %s, %s\n", info.name, SIZE_TEXT(info.memory_bytes));
    const double all = ((double)plan->max_bytes + (double)plan->max_output_bytes) *
                       plan->decomp.nranks; /* if the device is the host */
    const bool copies = backend_has(backend, BACKEND_FREE_COPIES) && plan->max_copy_bytes > 0;
    if (plan->max_bytes > info.memory_bytes) {
        warn(plan, "a rank needs %s, more than the %s that this device has: use more ranks",
             SIZE_TEXT(plan->max_bytes), SIZE_TEXT(info.memory_bytes));
    } else if (copies && plan->max_bytes + plan->max_copy_bytes > info.memory_bytes) {
        warn(plan,
             "no device memory for outputs in flight (%s): the steps will wait while they are "
             "copied",
             SIZE_TEXT(plan->max_copy_bytes));
    } else if (backend_has(backend, BACKEND_NODE_MEMORY) && all > (double)info.memory_bytes) {
        warn(plan, "all %d ranks on this machine need %s, more than its %s", plan->decomp.nranks,
             SIZE_TEXT(all), SIZE_TEXT(info.memory_bytes));
    }
    return STATUS_OK;
}

static void warn_of_disk(struct plan *plan, double bytes)
{
    char path[PATH_BYTES];
    directory_existing(plan->problem.output.directory, path);
    warn_of(plan, directory_check_room(path, (uint64_t)bytes));
}

static enum status show(struct plan *plan, const struct wall_time *wall_time,
                        const struct machine_model *machine)
{
    log_info("plan for %s", plan->problem.title);
    print_blocks(plan);
    print_surfaces(&plan->problem);
    TRY(print_placement(plan));
    plan_print_time(plan);
    if (options.machines.count > 0) {
        TRY(plan_print_machine(machine, plan));
    } else {
        wall_time_print(wall_time, plan);
        print_launch(plan);
        TRY(warn_of_memory(plan));
    }
    double bytes = 0;
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        bytes += output_kinds[k]->plan(&plan->problem);
    }
    warn_of_blocks(plan);
    warn_of_initial(plan);
    warn_of_shapes(plan);
    warn_of_time(plan);
    warn_of_values(plan);
    warn_of_disk(plan, bytes);
    if (plan->warnings == 0) {
        printf("no warnings\n");
    }
    return STATUS_OK;
}

static enum status execute(void)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    SCOPED_BY(plan_destroy) struct plan plan = {0};
    SCOPED_BY(machine_model_destroy) struct machine_model machine = {0};
    struct wall_time wall_time = {0};
    FAIL_IF(options.ranks_per_node > INT32_MAX || options.ranks_per_module > INT32_MAX,
            fail(STATUS_INPUT, "--ranks-per-node and --ranks-per-module: at most %d", INT32_MAX));
    TRY(configuration_read(MPI_COMM_NULL, options.config, &options.sets, NULL, NULL, &settings));
    if (options.machines.count > 0) {
        TRY(plan_read_machine(&options.machines, &machine));
        options.ranks_per_node = (int64_t)machine.number[MACHINE_RANKS_PER_NODE].low;
        options.ranks_per_module = (int64_t)machine.number[MACHINE_RANKS_PER_MODULE].low;
    } else {
        wall_time_measure(settings, options.ranks, options.ranks_per_node, &wall_time);
    }
    TRY(plan_create(settings, options.ranks, &plan));
    return show(&plan, &wall_time, &machine);
}

const struct command command_plan = {
    .name = "plan",
    .summary = "show the needs of a run without running it",
    .line =
        {.usage = "isotherm plan CONFIG [options]",
         .about =
             "Show what `isotherm run` would do: decomposition, memory per rank, halo traffic,\n"
             "time step and its limit, wall time, file sizes, and warnings about performance\n"
             "problems. Runs the first second on this machine, in a temporary folder;\n"
             "with --machine it runs nothing and predicts the run by that machine's numbers.",
         .example = "  $ isotherm plan configs/weak_scaling.yaml --ranks 64 --machine frontier",
         .options = option_table,
         OPERAND_CONFIG},
    .execute = execute,
};

/* ---- check: the same without the numbers ---- */

static const struct option check_options[] = {
    {OPTION_COUNT, "--ranks", "N", "number of MPI ranks (default 1)", &options.ranks},
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key, as for run (repeatable)", &options.sets},
    {OPTION_STRING, "--output", "DIR", "output folder, as for run", &options.output},
    {OPTION_FLAG, "--print", "", "print the configuration with these values", &options.print},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static enum status check(void)
{
    SCOPED_BY(settings_release) struct settings *settings = NULL;
    SCOPED_BY(plan_destroy) struct plan plan = {0};
    TRY(configuration_read(MPI_COMM_NULL, options.config, &options.sets, options.output, NULL,
                           &settings));
    TRY(plan_create(settings, options.ranks, &plan));
    if (options.print) {
        log_info("%s", settings->text);
    } else {
        log_info("%s is valid: %" PRId64 " cells, %" PRId64 " step%s, %d rank%s", options.config,
                 grid_total_cells(&plan.problem.grid), plan.problem.timeline.steps,
                 plan.problem.timeline.steps == 1 ? "" : "s", plan.decomp.nranks,
                 plan.decomp.nranks == 1 ? "" : "s");
    }
    settings_warn(settings, plan.problem.timeline.end, true);
    resolution_warn(&plan.problem);
    return STATUS_OK;
}

const struct command command_check = {
    .name = "check",
    .summary = "check a configuration",
    .line = {.usage = "isotherm check CONFIG [options]",
             .about =
                 "Check a configuration: one line and exit code 0 if it is valid, else all errors\n"
                 "with their lines, and exit code 2. `isotherm plan` makes the same checks and\n"
                 "shows what the run needs, with warnings.",
             .example = "  $ isotherm check configs/quickstart.yaml --ranks 4 --set time.end=60",
             .options = check_options,
             OPERAND_CONFIG},
    .execute = check,
};
