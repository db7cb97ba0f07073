#include "solve/start/initial.h"

#include "base/comm.h"
#include "base/log.h"
#include "io/input/field_file.h"
#include "model/space/shape.h"
#include "solve/observe/diagnostics.h"
#include "solve/steady/steady.h"

/* Only a warning: a parameter study may shrink a shape to nothing. */
static void warn_of_shape(const struct problem *problem, int entry)
{
    if (shape_check_cells(problem->origin, &problem->grid, "initial", &problem->initial[entry],
                          entry) != STATUS_OK) {
        log_warn("%s", fail_message());
        fail_clear();
    }
}

/* Prefixes a message with the place in the configuration; the code stays. */
static enum status with_place(const struct problem *problem, int entry, enum status status)
{
    static const char *const parts[] = {
        [INITIAL_EXPRESSION] = ".expression.value", [INITIAL_FILE] = ".file"};
    const char *part = status != STATUS_OK ? parts[problem->initial[entry].kind] : NULL;
    return settings_place(problem->origin, status, "initial[%d]%s", entry,
                          part != NULL ? part : "");
}

enum status initial_check(const struct problem *problem, int entry)
{
    const struct shape_setting *shape = &problem->initial[entry];
    enum status status = STATUS_OK;
    if (shape->kind == INITIAL_FILE) {
        status = field_file_check(shape, &problem->grid);
    } else if (shape->kind == INITIAL_EXPRESSION) {
        status = shape_try_formula(shape, &problem->grid);
    }
    return with_place(problem, entry, status);
}

static enum status paint(const struct stepper *stepper, int entry)
{
    const struct problem *problem = stepper->problem;
    MPI_Comm comm = stepper->team->comm;
    struct field *field = stepper->level->field;
    const struct shape_setting *shape = &problem->initial[entry];
    enum status status = STATUS_OK;
    if (shape->kind == INITIAL_FILE) {
        status = field_file_read(comm, shape, field, &problem->grid);
    } else {
        status = field_paint(field, &problem->grid, shape, problem->radius);
    }
    return status_agree(comm, with_place(problem, entry, status));
}

/* The shapes may leave cells uncovered, which are still NaN. */
static enum status check_covered(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    MPI_Comm comm = stepper->team->comm;
    struct diagnostics diagnostics;
    struct heat_operator op;
    TRY(stepper_operator(stepper, &op)); /* whose failure is not that of cells */
    const enum status status = diagnostics_take(stepper, &diagnostics);
    if (status == STATUS_NUMERICS) {
        return status_agree(
            comm,
            settings_fail_at(
                problem->origin, "initial",
                "some cells have no temperature; start the list with '- uniform: {value: 300}'"));
    }
    stepper->state->is_flat = status == STATUS_OK && diagnostics.min == diagnostics.max;
    const bool absolute = problem->run.temperature == TEMPERATURE_ABSOLUTE;
    if (status == STATUS_OK && absolute && diagnostics.min < BELOW_ZERO) {
        char text[BELOW_ZERO_TEXT];
        return status_agree(comm, settings_fail_at(problem->origin, "initial", "%s",
                                                   settings_below_zero(diagnostics.min, text)));
    }
    return status;
}

enum status initial_state(struct stepper *stepper)
{
    const struct problem *problem = stepper->problem;
    const int n = problem->ninitial;
    const bool is_steady = problem->initial[n - 1].kind == INITIAL_STEADY;
    for (int entry = 0; entry < n - (is_steady ? 1 : 0); entry++) {
        warn_of_shape(problem, entry);
        TRY(paint(stepper, entry));
    }
    TRY(status_agree(stepper->team->comm, classes_set_ambients(stepper->level->classes, problem,
                                                               stepper->level->field)));
    TRY(status_agree(stepper->team->comm, stepper_show(stepper, true)));
    TRY(check_covered(stepper));
    if (is_steady) {
        TRY(steady_find(stepper));
        stepper->state->check.begun = false;
        TRY(stepper_show(stepper, false));
    }
    return STATUS_OK;
}
