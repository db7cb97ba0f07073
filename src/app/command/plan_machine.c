/* plan --machine: the wall time on a machine that is known by its numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/command/commands.h"
#include "app/command/plan.h"
#include "base/file.h"
#include "base/log.h"

enum { MACHINE_FILE_BYTES = 1 << 20, NODES_MOST = 1 << 14 };

static enum status add_file(const char *name, struct machine_model *machine)
{
    char known[256];
    if (strchr(name, '/') != NULL || path_ends_in(name, ".yaml")) {
        SCOPED_FREE char *bytes = NULL;
        size_t nbytes = 0;
        TRY(file_read_all(name, MACHINE_FILE_BYTES, &bytes, &nbytes));
        return machine_model_read(name, bytes, nbytes, machine);
    }
    const struct config_template *file = config_template_find(machine_files, name, known);
    return file != NULL
               ? machine_model_read(name, file->text, strlen(file->text), machine)
               : fail(STATUS_INPUT, "--machine %s: known are %s, or give a file: ./%s.yaml", name,
                      known, name);
}

enum status plan_read_machine(const struct option_list *names, struct machine_model *machine)
{
    for (int i = 0; i < names->count; i++) {
        TRY(add_file(names->item[i], machine));
    }
    return machine_model_complete(machine);
}

/* The fastest number of steps per pass for which the machine has a rate; that of the configuration,
 * if it has one. */
static enum status best_pass(const struct machine_model *machine, const struct plan *plan,
                             const struct decomp *decomp, struct machine_pass *best)
{
    const struct run_setting *run = &plan->problem.run;
    const int least = run->steps_per_pass_auto ? 1 : plan->passes.steps;
    const int most = run->steps_per_pass_auto ? STEPS_MOST : least;
    const struct box block = decomp_owned(decomp, 0);
    struct machine_value per_s;
    bool found = false;
    for (int steps = least; steps <= most; steps++) {
        struct machine_pass pass;
        struct decomp deep = *decomp;
        enum axis axis = AXIS_X;
        deep.halo_width = steps * plan->problem.radius;
        if (decomp_thinnest(&deep, &axis) < deep.halo_width ||
            (found && !machine_rate_of(machine, &plan->problem, steps, &block, &per_s))) {
            continue;
        }
        TRY(machine_predict(machine, &plan->problem, &deep, steps, &pass));
        if (!found || pass.total[MACHINE_SLOW] / steps < best->total[MACHINE_SLOW] / best->steps) {
            *best = pass;
            found = true;
        }
    }
    return found ? STATUS_OK : fail(STATUS_INPUT, "the blocks are too thin for the halo of a pass");
}

static void print_range(const double value[MACHINE_ENDS], double unit)
{
    const double low = unit * fmin(value[MACHINE_FAST], value[MACHINE_SLOW]);
    const double high = unit * fmax(value[MACHINE_FAST], value[MACHINE_SLOW]);
    printf(high > 1.005 * low ? "%.3g to %.3g" : "%.3g", low, high);
}

static void print_pass(const struct machine_pass *pass)
{
    printf("  kernel       ");
    print_range(pass->kernel, 1e3);
    printf(" ms per pass of %d step%s: ", pass->steps, pass->steps == 1 ? "" : "s");
    print_range(pass->rate, 1e-9);
    printf(" Gcell/s per rank (%s)\n", pass->source);
    if (pass->exchange[MACHINE_SLOW] > 0) {
        const double beside[] = {pass->total[0] - pass->kernel[0],
                                 pass->total[1] - pass->kernel[1]};
        printf("  halo         ");
        print_range(pass->exchange, 1e3);
        printf(" ms, of it ");
        print_range(pass->network, 1e3);
        printf(" on the slowest link; launches, cells beside cuts and what is not hidden add ");
        print_range(beside, 1e3);
        printf(" ms\n");
    }
}

/* The levels of all steps, or how many would take about as long; 0: only the run will tell. Cycles
 * of multigrid as on an H200 (docs/records/hip.md). */
static double levels_of(const struct problem *problem)
{
    enum { UNIFORM_CYCLE = 14, CYCLE = 40, UNIFORM_CYCLES = 8, CYCLES = 12, STEP_CYCLES = 9 };
    const struct timeline *timeline = &problem->timeline;
    const bool uniform = problem->medium.nclasses == 0;
    const bool by_steps = timeline->setting.scheme == SCHEME_IMPLICIT;
    const double per_step = timeline->setting.scheme == SCHEME_STEADY
                                ? (uniform ? UNIFORM_CYCLE * UNIFORM_CYCLES : CYCLE * CYCLES)
                            : by_steps ? CYCLE * STEP_CYCLES
                                       : timeline_stages(timeline, 0);
    return timeline->setting.by_tolerance ? 0 : (double)timeline->steps * per_step;
}

/* The device of a rank may be too small. */
static void warn_of_memory(const struct machine_model *machine, const struct plan *plan)
{
    const double has = machine->number[MACHINE_MEMORY].low;
    const double needs = (double)plan->max_bytes;
    if (needs > has) {
        printf("  warning: a rank needs %s on its device, which has %s: use at least %.0f ranks\n",
               SIZE_TEXT(needs), SIZE_TEXT(has), ceil(needs * plan->decomp.nranks / has));
    }
}

static void print_run(const struct machine_model *machine, const struct plan *plan,
                      const struct machine_pass *pass)
{
    char fast[DURATION_TEXT];
    char slow[DURATION_TEXT];
    const double levels = levels_of(&plan->problem);
    const int per_node = (int)machine->number[MACHINE_RANKS_PER_NODE].low;
    const int nodes = (plan->decomp.nranks + per_node - 1) / per_node;
    const struct machine_value *power = &machine->number[MACHINE_POWER];
    const double step[MACHINE_ENDS] = {pass->total[MACHINE_FAST] / pass->steps,
                                       pass->total[MACHINE_SLOW] / pass->steps};
    printf("machine        %s\n", machine->title);
    warn_of_memory(machine, plan);
    printf("wall time      ");
    if (levels > 0) {
        printf("%s%s to %s without outputs: %.3g levels of ",
               problem_needs_multigrid(&plan->problem) ? "about " : "",
               duration_text(levels * step[MACHINE_FAST], fast),
               duration_text(levels * step[MACHINE_SLOW], slow), levels);
    } else {
        printf("unknown number of levels, each of ");
    }
    print_range(step, 1e3);
    printf(" ms, %d node%s\n", nodes, nodes == 1 ? "" : "s");
    print_pass(pass);
    if (power->source != NULL && levels > 0) {
        const double joule = power->high * plan->decomp.nranks * levels * step[MACHINE_SLOW];
        printf("  energy       at most %.3g kWh (%s)\n", joule / 3.6e6, power->source);
    }
}

/* Rows for 1, 2, 4 ... nodes, from the first whose memory is enough to 30 % efficiency. */
static enum status print_nodes(const struct machine_model *machine, const struct plan *plan)
{
    const int per_node = (int)machine->number[MACHINE_RANKS_PER_NODE].low;
    const double cells = (double)grid_total_cells(&plan->problem.grid);
    const double memory = (double)plan->max_bytes * (double)plan->decomp.nranks;
    double first = 0;
    int best = 0;
    for (int nodes = 1; nodes <= NODES_MOST; nodes *= 2) {
        const int ranks = nodes * per_node;
        struct machine_pass pass;
        struct decomp decomp;
        if (memory / ranks > machine->number[MACHINE_MEMORY].low) {
            continue;
        }
        if (cells / ranks < 32768 ||
            problem_decompose(&plan->problem, ranks, &decomp) != STATUS_OK ||
            best_pass(machine, plan, &decomp, &pass) != STATUS_OK) {
            fail_clear();
            break;
        }
        const double step = pass.total[MACHINE_SLOW] / pass.steps;
        first = first > 0 ? first : step * nodes;
        const double efficiency = first / (step * nodes);
        printf("%-15s%d: %.4g ms per level, %.1f %%, %d step%s per pass, limited by the %s\n",
               best == 0 ? "nodes" : "", nodes, 1e3 * step, 100 * efficiency, pass.steps,
               pass.steps == 1 ? "" : "s",
               pass.exchange[MACHINE_SLOW] > pass.kernel[MACHINE_SLOW] ? "exchange" : "kernel");
        best = efficiency >= 0.8 || best == 0 ? nodes : best;
        if (efficiency < 0.3) {
            break;
        }
    }
    if (best > 0) {
        printf("               80 %% of the first row or more: up to %d\n", best);
    }
    return STATUS_OK;
}

enum status plan_print_machine(const struct machine_model *machine, const struct plan *plan)
{
    struct machine_pass pass;
    TRY(best_pass(machine, plan, &plan->decomp, &pass));
    print_run(machine, plan, &pass);
    return plan->problem.run.decomposition_auto ? print_nodes(machine, plan) : STATUS_OK;
}
