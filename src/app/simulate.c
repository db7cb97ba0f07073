#include "app/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/hang_monitor.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/log.h"
#include "machine/host.h"
#include "output/kind/output_checkpoints.h"
#include "output/output.h"
#include "output/outputs.h"
#include "solve/observe/derive.h"
#include "solve/observe/self_check.h"
#include "solve/scheme/adaptive.h"
#include "solve/scheme/dense_output.h"
#include "solve/scheme/step_control.h"
#include "solve/sleep/sleep_control.h"
#include "solve/solver.h"
#include "solve/start/initial.h"
#include "solve/start/restart.h"
#include "solve/start/tuning.h"

struct simulation {
    struct solver solver;
    struct hang_monitor *monitor; /* NULL: off */
    struct stop *stop;
    struct self_check *self_check; /* NULL: off */
    struct outputs *outputs;
    struct team_energy energy;
};

static enum status allocate(struct solver *solver)
{
    const struct team *team = &solver->team;
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    const struct output_memory need = output_memory_need(&solver->problem, &owned);
    return solver_allocate(solver, &need);
}

static enum status set_state(struct solver *solver, const struct simulate_options *options)
{
    const struct output_setting *requests = &solver->problem.output;
    bool found = false;
    if (options->restart != NULL) {
        TRY(restart_from(&solver->stepper, &solver->problem, options->restart,
                         options->restart_changed, &found));
    }
    if (options->restart != NULL && !found) {
        TRY(outputs_check(&solver->team, requests, OUTPUT_RETRY, ""));
        log_info("no checkpoint in %s: starting from the initial state", requests->directory);
    }
    return found ? STATUS_OK : initial_state(&solver->stepper);
}

static void print_header(const struct solver *solver)
{
    const struct problem *problem = &solver->problem;
    const struct timeline *timeline = &problem->timeline;
    const struct team *team = &solver->team;
    const int64_t *n = problem->grid.cells;
    const int *p = team->decomp.ranks;
    log_info("%s: %lld x %lld x %lld cells, %s, %d rank%s as %d x %d x %d", problem->title,
             (long long)n[0], (long long)n[1], (long long)n[2], precision_name(problem->precision),
             team->nranks, team->nranks == 1 ? "" : "s", p[0], p[1], p[2]);
    log_info("backend %s on %s (%s)", solver->engine.backend->name, solver->engine.info.name,
             solver->engine.reason);
    if (team->rank_facts != NULL) {
        host_warn_of_crowd(team->rank_facts, team->nranks);
    }
    if (solver->state.step >= timeline->steps) {
        log_info("nothing is left to do: the state is at step %lld, t = %.6g s; raise time.steps "
                 "or time.end to continue",
                 (long long)solver->state.step, solver->state.time);
        return;
    }
    if (problem->time.by_tolerance) {
        log_info("%s steps by a tolerance to t = %.6g s",
                 problem->time.scheme == SCHEME_IMPLICIT ? "implicit" : "super", timeline->end);
        return;
    }
    if (problem->time.scheme == SCHEME_STEADY) {
        log_info("steady state to an estimated error of %g K", problem->time.steady.temperature);
        return;
    }
    log_info("%lld step%s of %s%.4g s to t = %.6g s", (long long)timeline->steps,
             timeline->steps == 1 ? "" : "s", timeline->nstretches > 1 ? "at most " : "",
             timeline->dt, timeline->end);
}

static enum status open_all(struct simulation *s, const struct simulate_options *options)
{
    struct solver *solver = &s->solver;
    if (options->folder != OUTPUT_RETRY) {
        /* before the state is created, which takes time */
        TRY(outputs_check(&solver->team, &solver->problem.output, options->folder,
                          options->restart != NULL ? options->restart : ""));
    }
    TRY(hang_monitor_create(&solver->team, &solver->problem.run, &solver->level.plan,
                            &solver->phases, &s->monitor));
    TRY(set_state(solver, options));
    if (!options->start_only) {
        print_header(solver);
    }
    settings_warn(solver->problem.settings, solver->problem.timeline.end, false);
    if (!solver->problem.time.by_tolerance && solver->problem.time.scheme != SCHEME_STEADY) {
        sources_warn(&solver->problem.sources, solver->problem.timeline.dt);
    }
    TRY(tuning_of_stepper(&solver->stepper));
    TRY(tuning_of_passes(&solver->stepper));
    TRY(derive_open(&solver->stepper));
    TRY(self_check_create(&solver->stepper, &s->self_check));
    TRY(stop_create(&solver->team, &solver->problem, &s->stop));
    return outputs_open(&solver->stepper, options->folder, &s->outputs);
}

static enum status handle_events(struct simulation *s)
{
    bool repaired = false;
    team_energy_sample(&s->energy);
    enum status status = outputs_write(s->outputs);
    s->solver.stepper.ahead_to = 0;
    if (status == STATUS_NUMERICS) { /* or has a bit been flipped? */
        TRY(stepper_drop_ahead(&s->solver.stepper));
        TRY(self_check_doubt(s->self_check, &repaired));
        status = repaired ? outputs_write(s->outputs) : status;
    }
    TRY(status);
    return stop_handle_requests(s->stop, &s->solver.stepper, s->outputs);
}

/* At their times within the last step. */
static enum status write_between(struct simulation *s)
{
    struct dense_output between = {0};
    TRY(dense_output_next(&s->solver.stepper, &s->solver.problem, &between));
    while (between.shows) {
        TRY(outputs_write(s->outputs));
        TRY(dense_output_next(&s->solver.stepper, &s->solver.problem, &between));
    }
    return STATUS_OK;
}

static int64_t next_event(const struct simulation *s)
{
    int64_t next = s->solver.problem.timeline.steps;
    const int64_t output = outputs_next(s->outputs);
    const int64_t stop = stop_next(s->stop);
    const int64_t adaptation = adaptive_next(&s->solver.stepper);
    next = output < next ? output : next;
    next = stop < next ? stop : next;
    return adaptation < next ? adaptation : next;
}

/* The next event, at which the pass that leads there may take a summary. */
static int64_t find_next(struct simulation *s)
{
    const int64_t next = next_event(s);
    s->solver.stepper.summarise_at = outputs_summarise(s->outputs, next) ? next : 0;
    return next;
}

/* The pass that follows may be queued before the outputs of this step are written, if neither they
 * nor a stop nor the self-check read more of the field. */
static void look_ahead(struct simulation *s, bool may_end)
{
    struct stepper *stepper = &s->solver.stepper;
    const int64_t step = s->solver.state.step;
    const int64_t next = find_next(s);
    stepper->ahead_to = !may_end && s->self_check == NULL && stop_next(s->stop) > step &&
                                outputs_read_line(s->outputs, step) && stepper_may_be_ahead(stepper)
                            ? next
                            : 0;
}

/* To the end, or for `budget` s. *wall: s, with outputs. */
static enum status advance(struct simulation *s, double budget, double *wall)
{
    const struct state *state = &s->solver.state;
    const double start = MPI_Wtime();
    if (s->solver.problem.time.scheme != SCHEME_STEADY) { /* of which no part could be saved */
        stop_defer();
    }
    phases_restart(&s->solver.phases);
    look_ahead(s, isfinite(budget));
    TRY(handle_events(s));
    TRY(adaptive_step(&s->solver.stepper, &s->solver.problem));
    while (state->step < s->solver.problem.timeline.steps && MPI_Wtime() - start < budget) {
        const int64_t next = find_next(s);
        TRY(s->solver.problem.time.by_tolerance
                ? step_control_advance(&s->solver.stepper, &s->solver.problem)
                : self_check_advance(s->self_check, &s->solver.stepper, next - state->step));
        stop_defer();
        if (self_check_is_over(&s->solver.stepper)) {
            TRY(outputs_checkpoint(s->outputs, true));
            return self_check_verdict(s->self_check);
        }
        TRY(write_between(s));
        look_ahead(s, isfinite(budget));
        TRY(handle_events(s));
        TRY(adaptive_step(&s->solver.stepper, &s->solver.problem));
    }
    TRY(outputs_wait(s->outputs)); /* counts as run time */
    *wall = MPI_Wtime() - start;
    return STATUS_OK;
}

static enum status run_all(struct simulation *s)
{
    MPI_Comm comm = s->solver.team.comm;
    struct run_cost cost;
    TRY(team_energy_begin(comm, s->solver.engine.info.address, &s->energy));
    TRY(advance(s, INFINITY, &cost.wall_s));
    TRY(team_energy_total(comm, &s->energy, &cost.energy));
    TRY(sleep_count(&s->solver.stepper));
    return outputs_finish(s->outputs, &cost);
}

/* The first output of a kind takes longer. Checkpoints are too rare for the budget: one is written
 * at its end. */
static enum status run_beginning(struct simulation *s, struct rehearsal *rehearsal)
{
    const struct solver *solver = &s->solver;
    const struct problem *problem = &solver->problem;
    const struct phases *phases = &solver->phases;
    const double planned = (double)problem->timeline.steps;
    const int checkpoints = output_number(&output_checkpoints);
    double rest = 0;
    TRY(advance(s, rehearsal->budget_s, &rest));
    rehearsal->once_s = phases->seconds[PHASE_WRITER];
    for (int k = 0; k < OUTPUT_KINDS; k++) {
        const double seconds = phases->seconds[PHASE_OUTPUTS + k];
        const double others = (double)output_count(problem, k, solver->state.step) - 1;
        const double longest = 1e-9 * (double)phases->longest[PHASE_OUTPUTS + k];
        rehearsal->output_s[k] = others > 0 ? (seconds - longest) / others : seconds;
        rehearsal->once_s += others > 0 ? longest - rehearsal->output_s[k] : 0;
        rest -= seconds;
    }
    rehearsal->step_s = (rest - phases->seconds[PHASE_WRITER]) / (double)solver->state.step;
    if (rehearsal->output_s[checkpoints] == 0 &&
        output_count(problem, checkpoints, problem->timeline.steps) > 0) {
        TRY(outputs_checkpoint(s->outputs, true));
        rehearsal->output_s[checkpoints] = phases->seconds[PHASE_OUTPUTS + checkpoints];
    }
    rehearsal->steps_share = (double)problem->timeline.steps / planned;
    rehearsal->cells = grid_total_cells(&problem->grid);
    rehearsal->threads = solver->engine.info.threads;
    memcpy(rehearsal->device, solver->engine.info.name, sizeof rehearsal->device);
    return STATUS_OK;
}

enum status simulate(MPI_Comm comm, const struct settings *settings,
                     const struct simulate_options *options)
{
    /* on the heap: if MPI is broken the writer's thread may outlive this call */
    struct simulation *s = calloc(1, sizeof *s);
    enum status status = STATUS_OK;
    TRY(status_agree(comm, s == NULL ? fail(STATUS_MEMORY, "no memory for the simulation's data")
                                     : STATUS_OK));
    TRY_GOTO(solver_open(comm, settings, &s->solver));
    TRY_GOTO(allocate(&s->solver));
    TRY_GOTO(open_all(s, options));
    status = options->start_only          ? advance(s, 0, &(double){0})
             : options->rehearsal != NULL ? run_beginning(s, options->rehearsal)
                                          : run_all(s);
    /* of a map on one rank of several only that rank knows */
    if (status == STATUS_NUMERICS && (fail_is_agreed() || comm_size(comm) == 1)) {
        status = outputs_postmortem(s->outputs);
    }
done:
    team_energy_end(&s->energy);
    outputs_close(s->outputs, status);
    if (comm_is_broken()) {
        return status; /* the writer's thread may still use everything: main aborts the program */
    }
    hang_monitor_destroy(s->monitor);
    stop_destroy(s->stop);
    self_check_destroy(s->self_check);
    solver_destroy(&s->solver);
    free(s);
    return status;
}
