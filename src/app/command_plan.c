/* isotherm plan: the needs of a run. Runs nothing, needs no MPI. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/configuration.h"
#include "base/file.h"
#include "base/log.h"
#include "machine/placement.h"
#include "model/derived.h"
#include "model/field.h"
#include "model/problem.h"
#include "model/shape.h"
#include "output/output.h"
#include "solve/classes.h"
#include "solve/engine.h"
#include "solve/initial.h"
#include "solve/source_files.h"

static struct {
    const char *config;
    struct option_list sets;
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
    {OPTION_LIST, "--set", "KEY=VALUE", "override a key, as for run (repeatable)", &options.sets},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

static const struct command_line line = {
    .usage = "isotherm plan CONFIG [options]",
    .about = "Show what `isotherm run` would do: decomposition, memory per rank, halo traffic,\n"
             "time step and its limit, file sizes, and warnings about performance problems.\n"
             "Runs nothing and writes nothing; works on a login node.",
    .example = "  isotherm plan configs/weak_scaling.yaml --ranks 64",
    .options = option_table,
    .operand = "CONFIG",
    .min_operands = 1,
    .max_operands = 1,
    .operands = &options.config,
};

struct plan {
    const struct settings *settings;
    const struct backend *backend;
    struct problem problem;
    struct decomp decomp;
    int64_t min_cells, max_cells; /* per rank */
    int64_t min_halo, max_halo;   /* cells sent per step */
    int max_messages;
    int64_t thinnest; /* of a block, on a divided axis */
    enum axis thinnest_axis;
    uint64_t max_bytes;        /* device memory, largest of all ranks */
    uint64_t max_output_bytes; /* host memory for outputs, likewise */
    uint64_t max_copy_bytes;   /* device memory for background copies, likewise */
    int warnings;
};

static int count_messages(const struct decomp *decomp, int rank)
{
    int count = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        count += decomp_neighbour(decomp, rank, (enum face)f) >= 0 ? 1 : 0;
    }
    return count;
}

static enum status examine_rank(struct plan *plan, int rank)
{
    const struct box owned = decomp_owned(&plan->decomp, rank);
    const int64_t cells = box_cells(&owned);
    const int64_t halo = decomp_halo_cells(&plan->decomp, rank);
    const int messages = count_messages(&plan->decomp, rank);
    plan->min_cells = rank == 0 || cells < plan->min_cells ? cells : plan->min_cells;
    plan->max_cells = cells > plan->max_cells ? cells : plan->max_cells;
    plan->min_halo = rank == 0 || halo < plan->min_halo ? halo : plan->min_halo;
    plan->max_halo = halo > plan->max_halo ? halo : plan->max_halo;
    plan->max_messages = messages > plan->max_messages ? messages : plan->max_messages;
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t extent = box_extent(&owned, (enum axis)a);
        if (plan->decomp.ranks[a] > 1 && (plan->thinnest == 0 || extent < plan->thinnest)) {
            plan->thinnest = extent;
            plan->thinnest_axis = (enum axis)a;
        }
    }
    uint64_t bytes = 0;
    uint64_t derived = 0;
    TRY(field_bytes(plan->backend, &plan->decomp, rank, plan->settings->run.precision, &bytes));
    TRY(derived_bytes(&owned, derived_of_settings(plan->settings), &derived));
    bytes += derived + classes_bytes(&plan->problem, &owned) +
             source_files_bytes(&plan->problem, &owned);
    plan->max_bytes = bytes > plan->max_bytes ? bytes : plan->max_bytes;
    struct output_memory need = {0};
    TRY(output_memory_need(&plan->problem, &owned, &need));
    plan->max_copy_bytes =
        need.device_bytes > plan->max_copy_bytes ? need.device_bytes : plan->max_copy_bytes;
    plan->max_output_bytes =
        need.host_bytes > plan->max_output_bytes ? need.host_bytes : plan->max_output_bytes;
    return STATUS_OK;
}

/* An earlier job may create the file. */
static bool is_missing(const struct initial_setting *shape)
{
    return shape->kind == INITIAL_FILE && !file_exists(shape->path);
}

static enum status check_initial(const struct plan *plan)
{
    for (int entry = 0; entry < plan->settings->ninitial; entry++) {
        if (!is_missing(&plan->settings->initial[entry])) {
            TRY(initial_check(plan->settings, &plan->problem.grid, entry));
        }
    }
    return STATUS_OK;
}

static enum status make_plan(const struct settings *settings, struct plan *plan)
{
    char why[256];
    *plan = (struct plan){.settings = settings};
    TRY(problem_create(settings, &plan->problem));
    TRY(classes_survey_alone(&plan->problem));
    TRY(check_initial(plan));
    if (options.ranks > INT32_MAX) {
        return fail(STATUS_INPUT, "--ranks %" PRId64 " is more than MPI supports", options.ranks);
    }
    if (options.ranks_per_node > INT32_MAX || options.ranks_per_module > INT32_MAX) {
        return fail(STATUS_INPUT, "--ranks-per-node and --ranks-per-module: at most %d", INT32_MAX);
    }
    TRY(problem_decompose(&plan->problem, (int)options.ranks, &plan->decomp));
    TRY(engine_choose(settings, &plan->backend, why, sizeof why));
    for (int rank = 0; rank < plan->decomp.nranks; rank++) {
        TRY(examine_rank(plan, rank));
    }
    return STATUS_OK;
}

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

static void print_blocks(const struct plan *plan)
{
    char memory[BYTES_TEXT];
    char low[BYTES_TEXT];
    char high[BYTES_TEXT];
    const int64_t *n = plan->problem.grid.cells;
    const int *p = plan->decomp.ranks;
    const double width = (double)precision_bytes(plan->settings->run.precision);
    printf("grid           %" PRId64 " x %" PRId64 " x %" PRId64 " = %" PRId64
           " cells, %dD, %s, spacing %.4g x %.4g x %.4g m\n",
           n[0], n[1], n[2], grid_total_cells(&plan->problem.grid), plan->problem.grid.dimensions,
           precision_name(plan->settings->run.precision), plan->problem.grid.spacing[0],
           plan->problem.grid.spacing[1], plan->problem.grid.spacing[2]);
    printf("decomposition  %d rank%s as %d x %d x %d (%s)\n", plan->decomp.nranks,
           plan->decomp.nranks == 1 ? "" : "s", p[0], p[1], p[2],
           plan->settings->run.decomposition_auto ? "auto: minimal halo traffic, x faces weighted"
                                                  : "as configured");
    printf("cells/rank     %" PRId64 " .. %" PRId64 " (the largest is %.1f %% above the mean)\n",
           plan->min_cells, plan->max_cells,
           100.0 * ((double)plan->max_cells * plan->decomp.nranks /
                        (double)grid_total_cells(&plan->problem.grid) -
                    1.0));
    printf("memory/rank    %s on the device, %s on the host for outputs in flight\n",
           bytes_text((double)plan->max_bytes, memory),
           bytes_text((double)plan->max_output_bytes, low));
    if (plan->max_copy_bytes > 0) {
        printf("on a GPU       another %s on the device for outputs in flight\n",
               bytes_text((double)plan->max_copy_bytes, low));
    }
    printf("halo/step      %s .. %s sent by each rank, at most %d message%s\n",
           bytes_text((double)plan->min_halo * width, low),
           bytes_text((double)plan->max_halo * width, high), plan->max_messages,
           plan->max_messages == 1 ? "" : "s");
}

/* The order of the ranks if nodes and modules are filled in turn. */
static enum status print_placement(const struct plan *plan)
{
    const struct decomp *decomp = &plan->decomp;
    const int nranks = decomp->nranks;
    const double width = (double)precision_bytes(plan->settings->run.precision);
    char module[BYTES_TEXT];
    char node[BYTES_TEXT];
    char network[BYTES_TEXT];
    char reason[256];
    struct placement_order order;
    struct rank_place *places = malloc((size_t)nranks * sizeof *places);
    if (places == NULL) {
        return fail(STATUS_MEMORY, "no memory to place %d ranks", nranks);
    }
    placement_assume(nranks, (int)options.ranks_per_node, (int)options.ranks_per_module, places);
    const enum status status = placement_choose(decomp, places, &order);
    free(places);
    TRY(status);
    placement_reason(&order, reason, sizeof reason);
    printf("placement      %s\n", reason);
    printf("links/step     %s inside modules, %s inside nodes, %s between nodes, all ranks\n",
           bytes_text((double)order.link_cells[LINK_GROUP] * width, module),
           bytes_text((double)order.link_cells[LINK_NODE] * width, node),
           bytes_text((double)order.link_cells[LINK_NETWORK] * width, network));
    placement_free(&order);
    return STATUS_OK;
}

static void print_time(const struct plan *plan)
{
    const struct settings *settings = plan->settings;
    const struct timeline *timeline = &plan->problem.timeline;
    printf("time step      %s%.6g s", timeline->nstretches > 1 ? "at most " : "", timeline->dt);
    if (settings->time.dt_auto) {
        printf(" = safety %g x the largest stable step %.6g s\n", settings->time.safety,
               timeline->dt_stable);
    } else {
        printf(" as configured; the largest stable step is %.6g s\n", timeline->dt_stable);
    }
    printf("steps          %" PRId64 " to t = %.6g s", timeline->steps, timeline->end);
    if (timeline->nstretches > 1) {
        printf(", landing on %" PRId64 " intermediate time%s: %.6g s per step on average",
               timeline->nstretches - 1, timeline->nstretches == 2 ? "" : "s",
               timeline->end / (double)timeline->steps);
    }
    if (timeline->dt_last != timeline->dt) {
        printf(", the last one shortened to %.6g s", timeline->dt_last);
    }
    printf("\n");
}

static double print_files(const struct plan *plan)
{
    double total = 0;
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        total += output_kinds[k]->plan(&plan->problem);
    }
    return total;
}

static void warn_of_blocks(struct plan *plan)
{
    const int64_t thin = 8;
    if (plan->thinnest > 0 && plan->thinnest < thin) {
        warn(plan,
             "some blocks are only %" PRId64
             " cells thick in %s: mostly halo; use fewer ranks or another run.decomposition",
             plan->thinnest, axis_name(plan->thinnest_axis));
    }
    const double share = (double)plan->max_halo / (double)plan->min_cells;
    if (share > 0.2) {
        warn(plan, "a rank sends up to %.0f %% of its cells per step: the exchange will dominate",
             100.0 * share);
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
    const char *unit = cadence->every > 0 ? "every" : "interval";
    const int64_t count = timeline_count_due(timeline, cadence) - (kind->not_at_start ? 1 : 0);
    const int64_t between = timeline_next_due(timeline, cadence, 0);
    const char *ends = kind->not_at_start ? "last state is" : "first and last state are";
    if (cadence->every > timeline->steps) {
        warn(plan, "%s.every is %" PRId64 ", more than the %" PRId64 " step%s: only the %s written",
             key, cadence->every, timeline->steps, timeline->steps == 1 ? "" : "s", ends);
    } else if (cadence->interval > timeline->end) {
        warn(plan, "%s.interval is %g s, more than the %g s of the run: only the %s written", key,
             cadence->interval, timeline->end, ends);
    } else if (between >= 100000) {
        warn(plan,
             "dt is far below the interval of %s: %" PRId64
             " steps between two outputs; a coarser grid would allow longer steps",
             key, between);
    } else if (count > section->many + 1) {
        warn(plan, "%" PRId64 " %s will be written: raise %s.%s", count, section->pieces, key,
             unit);
    }
}

static void warn_of_landings(struct plan *plan)
{
    const struct timeline *timeline = &plan->problem.timeline;
    const double needed = ceil(timeline->end / timeline->dt * (1 - 1e-12));
    char key[CADENCE_KEY_BYTES];
    char shortest[CADENCE_KEY_BYTES] = "";
    double interval = INFINITY;
    const struct cadence *cadence = NULL;
    for (int i = 0; (cadence = settings_cadence(plan->settings, i, key)) != NULL; i++) {
        if (cadence->interval > 0 && cadence->interval < interval) {
            interval = cadence->interval;
            memcpy(shortest, key, sizeof shortest);
        }
    }
    if (isfinite(interval) && (double)timeline->steps > 1.2 * needed) {
        warn(plan,
             "landing on the times of outputs takes %" PRId64 " steps instead of %.15g of %.4g s: "
             "raise %s.interval (%g s), or give every instead",
             timeline->steps, needed, timeline->dt, shortest, interval);
    }
}

static void warn_of_initial(struct plan *plan)
{
    for (int entry = 0; entry < plan->settings->ninitial; entry++) {
        if (shape_check_cells(plan->settings, &plan->problem.grid, "initial",
                              &plan->settings->initial[entry], entry) != STATUS_OK) {
            warn(plan, "%s", fail_message());
            fail_clear();
        }
        if (is_missing(&plan->settings->initial[entry])) {
            warn(plan, "initial[%d].file: %.200s does not exist yet; a run will need it", entry,
                 plan->settings->initial[entry].path);
        }
    }
}

static void warn_of_time(struct plan *plan)
{
    const struct settings *settings = plan->settings;
    const struct timeline *timeline = &plan->problem.timeline;
    const double best = settings->time.safety * timeline->dt_stable;
    if (timeline->dt < 0.1 * best) {
        warn(plan, "dt is %.3g times smaller than necessary: %.4g s is stable and takes %.3g steps",
             best / timeline->dt, best, ceil(timeline->end / best));
    }
    warn_of_landings(plan);
    char key[CADENCE_KEY_BYTES];
    const struct cadence *cadence = NULL;
    for (int i = 0; (cadence = settings_cadence(settings, i, key)) != NULL; i++) {
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
    char need[BYTES_TEXT];
    char have[BYTES_TEXT];
    printf("local device   %s, %s\n", info.name, bytes_text((double)info.memory_bytes, have));
    const double all = ((double)plan->max_bytes + (double)plan->max_output_bytes) *
                       plan->decomp.nranks; /* if the device is the host */
    const bool copies = backend_has(backend, BACKEND_FREE_COPIES) && plan->max_copy_bytes > 0;
    if (plan->max_bytes > info.memory_bytes) {
        warn(plan, "a rank needs %s, more than the %s that this device has: use more ranks",
             bytes_text((double)plan->max_bytes, need),
             bytes_text((double)info.memory_bytes, have));
    } else if (copies && plan->max_bytes + plan->max_copy_bytes > info.memory_bytes) {
        warn(plan,
             "no device memory for outputs in flight (%s): the steps will wait while they are "
             "copied",
             bytes_text((double)plan->max_copy_bytes, need));
    } else if (backend_has(backend, BACKEND_NODE_MEMORY) && all > (double)info.memory_bytes) {
        warn(plan, "all %d ranks on this machine need %s, more than its %s", plan->decomp.nranks,
             bytes_text(all, need), bytes_text((double)info.memory_bytes, have));
    }
    return STATUS_OK;
}

static void warn_of_disk(struct plan *plan, double bytes)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", plan->settings->output.directory);
    while (!file_exists(path)) {
        char *slash = strrchr(path, '/');
        if (slash == NULL || slash == path) {
            snprintf(path, sizeof path, "%s", slash == NULL ? "." : "/");
            break;
        }
        *slash = '\0';
    }
    if (directory_check_room(path, (uint64_t)bytes) != STATUS_OK) {
        warn(plan, "%s", fail_message());
        fail_clear();
    }
}

static enum status show(struct plan *plan)
{
    log_info("plan for %s", plan->settings->title);
    print_blocks(plan);
    TRY(print_placement(plan));
    print_time(plan);
    const double bytes = print_files(plan);
    TRY(warn_of_memory(plan));
    warn_of_blocks(plan);
    warn_of_initial(plan);
    warn_of_time(plan);
    warn_of_disk(plan, bytes);
    if (plan->warnings == 0) {
        printf("no warnings\n");
    }
    return STATUS_OK;
}

static enum status execute(void)
{
    struct settings *settings = NULL;
    TRY(configuration_read(MPI_COMM_NULL, options.config, &options.sets, NULL, NULL, &settings));
    struct plan plan;
    enum status status;
    TRY_GOTO(make_plan(settings, &plan));
    TRY_GOTO(show(&plan));
done:
    problem_destroy(&plan.problem);
    settings_destroy(settings);
    return status;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "show the needs of a run without running it",
    .uses_mpi = false,
    .line = &line,
    .execute = execute,
};
