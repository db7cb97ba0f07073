#include "solve/solver.h"

#include "base/comm.h"
#include "model/field/derived.h"
#include "solve/start/initial.h"
#include "solve/start/tuning.h"

enum status solver_open(MPI_Comm comm, const struct settings *settings, struct solver *solver)
{
    *solver = (struct solver){.team = {.ordered = MPI_COMM_NULL}};
    phases_init(&solver->phases);
    TRY(status_agree(comm, problem_create(settings, &solver->problem)));
    TRY(team_create(comm, &solver->problem, &solver->team));
    TRY(engine_open(comm, &solver->problem, &solver->engine));
    TRY(team_place(&solver->team, solver->engine.backend, &solver->engine.info));
    TRY(status_agree(solver->team.comm,
                     steps_per_pass_plan(&solver->problem, solver->engine.backend,
                                         &solver->team.decomp, &solver->passes)));
    TRY(classes_open(&solver->problem, &solver->team, solver->passes.most, &solver->classes));
    steps_per_pass_settle(&solver->problem, &solver->passes);
    solver->team.decomp.halo_width = pass_layers(&solver->passes);
    return STATUS_OK;
}

enum status solver_allocate(struct solver *solver, const struct output_memory *outputs)
{
    struct engine *engine = &solver->engine;
    const struct team *team = &solver->team;
    const struct problem *problem = &solver->problem;
    const enum time_scheme scheme = problem->time.scheme;
    const bool has_levels = scheme != SCHEME_EULER && scheme != SCHEME_STEADY;
    TRY(memory_check(problem, team, outputs, engine));
    TRY(status_agree(team->comm,
                     level_create(engine, &solver->classes, &solver->phases, team,
                                  problem->precision, problem->radius,
                                  steps_fused(problem, engine->backend),
                                  has_levels ? SUPERSTEP_LEVELS_MOST : 1, &solver->level)));
    solver->level.whole = engine->operations->steps_whole[operator_kind(problem)];
    TRY(status_agree(team->comm, classes_allocate(&solver->classes, problem, team, engine,
                                                  &solver->level.field->layout)));
    TRY(stepper_create(problem, team, &solver->level, &solver->state, &solver->passes,
                       &solver->stepper));
    if (problem_begins_by_multigrid(problem)) {
        TRY(steady_create(problem, team, engine, &solver->classes, &solver->level.field->layout,
                          &solver->stepper.steady));
    }
    /* for the start, for implicit steps later, for sources of one material, for the host's part of
     * the self-check, and for heat fluxes on the host */
    const bool keeps = problem->medium.nambients > 0 || sources_depend(&problem->sources) ||
                       problem->run.self_check > 0 || problem->time.may_be_implicit ||
                       derived_wants(problem->derived, DERIVED_FLUX);
    if (!keeps && (!problem_needs_multigrid(problem) ||
                   (problem_is_linear(problem) && problem->medium.curves == NULL &&
                    !boundary_coefficient_varies(&problem->boundary)))) {
        class_map_destroy(&solver->classes.map);
    }
    return STATUS_OK;
}

enum status solver_create(MPI_Comm comm, const struct settings *settings, struct solver *solver)
{
    const struct output_memory none = {0};
    TRY(solver_open(comm, settings, solver));
    TRY(solver_allocate(solver, &none));
    TRY(initial_state(&solver->stepper));
    return tuning_of_passes(&solver->stepper);
}

void solver_destroy(struct solver *solver)
{
    steady_destroy(solver->stepper.steady);
    stepper_destroy(&solver->stepper);
    settings_changes_free(&solver->state.changes);
    level_destroy(&solver->level);
    classes_destroy(&solver->classes, &solver->engine);
    engine_close(&solver->engine);
    team_destroy(&solver->team);
    problem_destroy(&solver->problem);
}
