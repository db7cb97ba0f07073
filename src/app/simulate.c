#include "app/simulate.h"

#include <stdlib.h>

#include "app/hang_monitor.h"
#include "app/stop.h"
#include "base/comm.h"
#include "base/log.h"
#include "machine/host.h"
#include "output/output.h"
#include "output/outputs.h"
#include "solve/adaptive.h"
#include "solve/observe/derive.h"
#include "solve/solver.h"
#include "solve/start/initial.h"
#include "solve/start/restart.h"
#include "solve/start/tuning.h"

struct simulation {
    struct solver solver;
    struct hang_monitor *monitor; /* NULL: off */
    struct stop *stop;
    struct outputs *outputs;
    struct team_energy energy;
};

static enum status allocate(struct solver *solver)
{
    const struct team *team = &solver->team;
    const struct box owned = decomp_owned(&team->decomp, team->rank);
    struct output_memory need = {0};
    TRY(status_agree(team->comm, output_memory_need(&solver->problem, &owned, &need)));
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
    print_header(solver);
    settings_warn(solver->problem.settings, solver->problem.timeline.end, false);
    TRY(tuning_of_stepper(&solver->stepper));
    TRY(tuning_of_passes(&solver->stepper));
    TRY(derive_open(&solver->stepper));
    TRY(stop_create(&solver->team, &solver->problem, &s->stop));
    return outputs_open(&solver->stepper, options->folder, &s->outputs);
}

static enum status handle_events(struct simulation *s)
{
    team_energy_sample(&s->energy);
    TRY(outputs_write(s->outputs));
    return stop_handle_requests(s->stop, &s->solver.stepper, s->outputs);
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

static enum status advance(struct simulation *s)
{
    const struct state *state = &s->solver.state;
    const struct team *team = &s->solver.team;
    struct run_cost cost;
    TRY(team_energy_begin(team->comm, s->solver.engine.info.address, &s->energy));
    const double start = MPI_Wtime();
    stop_defer();
    phases_restart(&s->solver.phases);
    TRY(handle_events(s));
    TRY(adaptive_step(&s->solver.stepper, &s->solver.problem));
    while (state->step < s->solver.problem.timeline.steps) {
        const int64_t next = next_event(s);
        s->solver.stepper.summarise_at = outputs_summarise(s->outputs, next) ? next : 0;
        TRY(stepper_advance(&s->solver.stepper, next - state->step));
        TRY(handle_events(s));
        TRY(adaptive_step(&s->solver.stepper, &s->solver.problem));
    }
    TRY(outputs_wait(s->outputs)); /* counts as run time */
    cost.wall_s = MPI_Wtime() - start;
    TRY(team_energy_total(team->comm, &s->energy, &cost.energy));
    return outputs_finish(s->outputs, &cost);
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
    status = advance(s);
    if (status == STATUS_NUMERICS) {
        status = outputs_postmortem(s->outputs);
    }
done:
    team_energy_end(&s->energy);
    outputs_close(s->outputs);
    if (comm_is_broken()) {
        return status; /* the writer's thread may still use everything: main aborts the program */
    }
    hang_monitor_destroy(s->monitor);
    stop_destroy(s->stop);
    solver_destroy(&s->solver);
    free(s);
    return status;
}
