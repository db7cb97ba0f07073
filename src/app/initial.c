/* The state at step 0: the settings' shapes, painted one over the other. */
#include "app/initial.h"

#include <stdio.h>

#include "base/comm.h"
#include "base/log.h"
#include "io/checkpoint/checkpoint.h"
#include "model/shape.h"
#include "solve/solver.h"

/* Not refused: a study may shrink a shape to nothing. */
static void warn_of_shape(const struct run *run, int entry)
{
    if (shape_check_cells(run->settings, &run->grid, entry) != STATUS_OK) {
        log_warn("%s", fail_message());
        fail_clear();
    }
}

/* Puts the place in the configuration in front of a message; the code stays. */
static enum status with_place(const struct settings *settings, int entry, enum status status)
{
    static const char *const parts[] = {
        [INITIAL_EXPRESSION] = ".expression.value", [INITIAL_FILE] = ".file"};
    if (status == STATUS_INPUT || status == STATUS_FILE) {
        const char *part = parts[settings->initial[entry].kind];
        char key[48];
        snprintf(key, sizeof key, "initial[%d]%s", entry, part != NULL ? part : "");
        settings_fail(settings, key, "%s", fail_message());
    }
    return status;
}

enum status initial_check(const struct settings *settings, const struct grid *grid, int entry)
{
    const struct initial_setting *shape = &settings->initial[entry];
    enum status status = STATUS_OK;
    if (shape->kind == INITIAL_FILE) {
        status = field_file_check(shape->path, shape->dataset, grid);
    } else if (shape->kind == INITIAL_EXPRESSION) {
        status = shape_try_formula(shape, grid);
    }
    return with_place(settings, entry, status);
}

static enum status paint(struct run *run, int entry)
{
    const struct initial_setting *shape = &run->settings->initial[entry];
    enum status status = STATUS_OK;
    if (shape->kind == INITIAL_FILE) {
        status = field_file_read(run->comm, shape->path, shape->dataset, run->field, &run->grid);
    } else {
        status = field_paint(run->field, &run->grid, shape);
    }
    return status_agree(run->comm, with_place(run->settings, entry, status));
}

/* Shapes need not cover the grid; what no shape covers is still NaN. */
static enum status check_covered(struct run *run)
{
    struct diagnostics diagnostics;
    const enum status status = diagnostics_take(run, &diagnostics);
    if (status == STATUS_NUMERICS) {
        return status_agree(
            run->comm,
            settings_fail(run->settings, "initial",
                          "the shapes do not give every cell a temperature; start the list with "
                          "'- uniform: {value: 300}'"));
    }
    const bool absolute = run->settings->run.temperature == TEMPERATURE_ABSOLUTE;
    if (status == STATUS_OK && absolute && diagnostics.min < BELOW_ZERO) {
        char text[BELOW_ZERO_TEXT];
        const enum status below = settings_fail(run->settings, "initial", "%s",
                                                settings_below_zero(diagnostics.min, text));
        return status_agree(run->comm, below);
    }
    return status;
}

enum status run_initialise(struct run *run)
{
    for (int entry = 0; entry < run->settings->ninitial; entry++) {
        warn_of_shape(run, entry);
        TRY(paint(run, entry));
    }
    return check_covered(run);
}
