/* isotherm compare: the differences between two files or series. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/command/commands.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/text/json.h"
#include "io/compare/compare.h"

static struct {
    const char *file[2];
    double rtol, atol;
    const char *name;
    const char *json;
} options = {.name = "T"};

static const struct option option_table[] = {
    {OPTION_REAL, "--rtol", "X", "relative tolerance (default 0)", &options.rtol},
    {OPTION_REAL, "--atol", "X", "absolute tolerance, unit of T (default 0)", &options.atol},
    {OPTION_STRING, "--dataset", "NAME", "the dataset to compare (default T)", &options.name},
    {OPTION_STRING, "--json", "FILE", "also write the result as JSON", &options.json},
    {OPTION_END, NULL, NULL, NULL, NULL},
};

struct pairing {
    struct frames side[2];
    int64_t count;
    int64_t *match[2]; /* [count] */
    double time_apart; /* of states that match, at most, s */
};

static void pairing_free(struct pairing *pairing)
{
    for (int s = 0; s < 2; s++) {
        frames_free(&pairing->side[s]);
        free(pairing->match[s]);
    }
}

static void grid_text(const struct frames *frames, char *text, size_t bytes)
{
    const int64_t *n = frames->cells;
    const double *low = frames->lower;
    const double *high = frames->upper;
    snprintf(text, bytes, "%" PRId64 " x %" PRId64 " x %" PRId64 " cells", n[AXIS_X], n[AXIS_Y],
             n[AXIS_Z]);
    if (frames->has_place) {
        text_add(text, bytes, " from ", "(%.12g, %.12g, %.12g) to (%.12g, %.12g, %.12g) m",
                 low[AXIS_X], low[AXIS_Y], low[AXIS_Z], high[AXIS_X], high[AXIS_Y], high[AXIS_Z]);
    }
}

static enum status share_grid(struct frames *a, struct frames *b)
{
    char first[256];
    char second[256];
    if (frames_share_grid(a, b)) {
        return STATUS_OK;
    }
    grid_text(a, first, sizeof first);
    grid_text(b, second, sizeof second);
    return fail(STATUS_INPUT,
                "the grids differ: %s in %s, %s in %s; the same box with integer ratios of cells "
                "can be compared",
                first, a->path, second, b->path);
}

static bool is_merged(const struct frames *frames)
{
    return frames->merged[AXIS_X] * frames->merged[AXIS_Y] * frames->merged[AXIS_Z] > 1;
}

static void add_pair(struct pairing *pairing, int64_t a, int64_t b)
{
    pairing->match[0][pairing->count] = a;
    pairing->match[1][pairing->count++] = b;
}

/* A state without a series and the one of its step in a series. */
static enum status match_single(struct pairing *pairing, int single)
{
    const struct frames *one = &pairing->side[single];
    const struct frames *many = &pairing->side[1 - single];
    const int64_t step = one->frame[0].step;
    FAIL_IF(step < 0 && many->count > 1,
            fail(STATUS_INPUT, "%s has no step number, and %s has %" PRId64, one->path, many->path,
                 many->count));
    int64_t n = 0;
    while (step >= 0 && n < many->count && many->frame[n].step != step) {
        n++;
    }
    FAIL_IF(n == many->count,
            fail(STATUS_INPUT, "%s is of step %" PRId64 ", which %s does not have", one->path, step,
                 many->path));
    add_pair(pairing, single == 0 ? 0 : n, single == 0 ? n : 0);
    return STATUS_OK;
}

static enum status match_series(struct pairing *pairing)
{
    const struct frames *a = &pairing->side[0];
    const struct frames *b = &pairing->side[1];
    FAIL_IF(a->count != b->count,
            fail(STATUS_INPUT,
                 "the series differ in length: %" PRId64 " state%s in %s, %" PRId64 " in %s",
                 a->count, a->count == 1 ? "" : "s", a->path, b->count, b->path));
    for (int64_t n = 0; n < a->count; n++) {
        FAIL_IF(a->frame[n].step != b->frame[n].step,
                fail(STATUS_INPUT,
                     "state %" PRId64 " is of step %" PRId64 " in %s and of step %" PRId64 " in %s",
                     n, a->frame[n].step, a->path, b->frame[n].step, b->path));
        add_pair(pairing, n, n);
    }
    return STATUS_OK;
}

/* On two grids the steps differ: the states at common times. */
static enum status match_times(struct pairing *pairing)
{
    static const double rounding = 1e-9;
    const struct frames *a = &pairing->side[0];
    const struct frames *b = &pairing->side[1];
    for (int64_t n = 0, m = 0; n < a->count && m < b->count;) {
        const double apart = a->frame[n].time - b->frame[m].time;
        const bool same = fabs(apart) <= rounding * fabs(a->frame[n].time);
        if (same) {
            add_pair(pairing, n, m);
        }
        n += same || apart < 0;
        m += same || !(apart < 0);
    }
    return pairing->count > 0
               ? STATUS_OK
               : fail(STATUS_INPUT, "%s and %s have no state at the same time", a->path, b->path);
}

/* Two files named by the user are compared whatever their steps, but not the newest states of
 * folders. */
static enum status check_newest(const struct frames *a, const struct frames *b)
{
    const int64_t steps[2] = {a->frame[0].step, b->frame[0].step};
    FAIL_IF((a->from_folder || b->from_folder) && steps[0] != steps[1] && steps[0] >= 0 &&
                steps[1] >= 0,
            fail(STATUS_INPUT,
                 "%s is of step %" PRId64 " and %s of step %" PRId64
                 "; name two files to compare them anyway",
                 a->path, steps[0], b->path, steps[1]));
    return STATUS_OK;
}

static enum status match(struct pairing *pairing)
{
    struct frames *a = &pairing->side[0];
    struct frames *b = &pairing->side[1];
    const int64_t most = a->count > b->count ? a->count : b->count;
    TRY(share_grid(a, b));
    for (int s = 0; s < 2; s++) {
        pairing->match[s] = calloc((size_t)most, sizeof *pairing->match[s]);
        TRY(CHECK_MEMORY(pairing->match[s] != NULL, "no memory for the list of states"));
    }
    if (is_merged(a) || is_merged(b)) {
        return match_times(pairing);
    }
    if (!a->is_series && !b->is_series) {
        add_pair(pairing, 0, 0);
        return check_newest(a, b);
    }
    return a->is_series && b->is_series ? match_series(pairing)
                                        : match_single(pairing, b->is_series ? 0 : 1);
}

/* ---- the report ---- */

enum { SHOWN_STATES = 40 };

static void describe(const char *letter, const struct frames *frames)
{
    const int64_t *each = frames->merged;
    log_info("%s  %s: %" PRId64 " state%s of %" PRId64 " x %" PRId64 " x %" PRId64 " cells, %s",
             letter, frames->path, frames->count, frames->count == 1 ? "" : "s",
             frames->cells[0] * each[0], frames->cells[1] * each[1], frames->cells[2] * each[2],
             precision_name(frames->frame[0].precision));
    if (is_merged(frames)) {
        log_info("   averaged over %" PRId64 " x %" PRId64 " x %" PRId64 " cells", each[0], each[1],
                 each[2]);
    }
}

static void print_state(const struct frame *frame, const struct difference *d)
{
    log_info("%10" PRId64 "  %-12.6g  %-12.5g  %-12.5g  %-12.6g  %" PRId64, frame->step,
             frame->time, fmax(d->largest[ABSOLUTE].value, 0), fmax(d->largest[RELATIVE].value, 0),
             fmax(d->largest[ULP].value, 0), d->beyond);
}

static void locate(const struct frames *frames, int64_t index, int64_t cell[AXIS_COUNT],
                   double at[AXIS_COUNT])
{
    const struct box all = box_of_cells(frames->cells);
    box_cell(&all, index, cell);
    frames_center(frames, cell, at);
}

static void place_text(const struct frames *frames, int64_t index, char *text, size_t bytes)
{
    int64_t cell[AXIS_COUNT];
    double at[AXIS_COUNT];
    locate(frames, index, cell, at);
    snprintf(text, bytes, "cell (%" PRId64 ", %" PRId64 ", %" PRId64 ")", cell[0], cell[1],
             cell[2]);
    if (frames->has_place) {
        text_add(text, bytes, " at ", "(%.6g, %.6g, %.6g) m", at[0], at[1], at[2]);
    }
}

/* Of the state with the extreme, in the first series. */
static const struct frame *frame_of(const struct pairing *pairing, int64_t state)
{
    return &pairing->side[0].frame[pairing->match[0][state]];
}

static const char *unit_of(const struct pairing *pairing)
{
    const char *unit = pairing->side[0].units;
    return unit[0] != '\0' ? unit : "K";
}

static void print_worst(const char *kind, const char *unit, const struct pairing *pairing,
                        const struct extreme *worst)
{
    if (worst->value <= 0) {
        log_info("largest %s difference: 0", kind);
        return;
    }
    char place[256];
    const struct frame *frame = frame_of(pairing, worst->state);
    place_text(&pairing->side[0], worst->index, place, sizeof place);
    log_info("largest %s difference: %.6g%s at step %" PRId64
             ", t = %.6g s, %s: %.17g and %.17g %s",
             kind, worst->value, unit, frame->step, frame->time, place, worst->a, worst->b,
             unit_of(pairing));
}

static void json_worst(struct json *json, const char *key, const struct pairing *pairing,
                       const struct extreme *worst)
{
    int64_t cell[AXIS_COUNT];
    double at[AXIS_COUNT];
    json_begin(json, key, '{');
    json_real(json, "value", fmax(worst->value, 0));
    if (worst->value > 0) {
        const struct frame *frame = frame_of(pairing, worst->state);
        locate(&pairing->side[0], worst->index, cell, at);
        json_int(json, "step", frame->step);
        json_real(json, "time_s", frame->time);
        json_int3(json, "cell", cell);
        json_begin(json, "at_m", '[');
        for (int a = 0; a < AXIS_COUNT; a++) {
            json_real(json, NULL, at[a]);
        }
        json_end(json, ']');
        json_real(json, "a_K", worst->a);
        json_real(json, "b_K", worst->b);
    }
    json_end(json, '}');
}

/* ---- the comparison ---- */

static enum status compare_all(struct pairing *pairing, struct difference *all)
{
    *all = difference_none();
    log_info("%10s  %-12s  |a-b|, %-5s  %-12s  %-12s  %s", "step", "t, s", unit_of(pairing),
             "relative", "ULP", "cells beyond");
    for (int64_t n = 0; n < pairing->count; n++) {
        const struct frames *a = &pairing->side[0];
        const struct frames *b = &pairing->side[1];
        const int64_t na = pairing->match[0][n];
        const int64_t nb = pairing->match[1][n];
        struct difference d;
        TRY(frames_compare(MPI_COMM_WORLD, a, na, b, nb, options.rtol, options.atol, &d));
        for (int e = 0; e < EXTREMES; e++) {
            d.largest[e].state = n;
        }
        d.nan_state = n;
        difference_merge(all, &d);
        pairing->time_apart =
            fmax(pairing->time_apart, fabs(a->frame[na].time - b->frame[nb].time));
        if (n < SHOWN_STATES) {
            print_state(&a->frame[na], &d);
        } else if (n == SHOWN_STATES) {
            log_info("%10s", "...");
        }
    }
    return STATUS_OK;
}

static void print_result(const struct pairing *pairing, const struct difference *all)
{
    const double cells = (double)(pairing->side[0].cells[0] * pairing->side[0].cells[1] *
                                  pairing->side[0].cells[2]) *
                         (double)pairing->count;
    char unit[80];
    snprintf(unit, sizeof unit, " %s", unit_of(pairing));
    print_worst("absolute", unit, pairing, &all->largest[ABSOLUTE]);
    print_worst("relative", "", pairing, &all->largest[RELATIVE]);
    print_worst("ULP", "", pairing, &all->largest[ULP]);
    if (all->one_nan > 0) {
        char place[256];
        place_text(&pairing->side[0], all->first_one_nan, place, sizeof place);
        log_info("NaN in one of them only: %" PRId64 " cell%s, the first at step %" PRId64 ", %s",
                 all->one_nan, all->one_nan == 1 ? "" : "s",
                 frame_of(pairing, all->nan_state)->step, place);
    }
    if (all->both_nan > 0) {
        log_info("NaN in both: %" PRId64 " cell%s as equal", all->both_nan,
                 all->both_nan == 1 ? ", which counts" : "s, which count");
    }
    if (pairing->time_apart > 0) {
        log_info("times of matching states differ by up to %.6g s", pairing->time_apart);
    }
    if (all->beyond > 0) {
        log_info("different: %" PRId64 " of %.0f cells %s more than %g %s + %g max(|a|, |b|) apart",
                 all->beyond, cells, all->beyond == 1 ? "is" : "are", options.atol,
                 unit_of(pairing), options.rtol);
    } else if (all->unequal > 0) {
        log_info("equal within %g %s + %g max(|a|, |b|); %" PRId64 " of %.0f cells differ%s",
                 options.atol, unit_of(pairing), options.rtol, all->unequal, cells,
                 all->unequal == 1 ? "s" : "");
    } else {
        log_info("equal in all %.0f cells", cells);
    }
}

static enum status save_json(const struct pairing *pairing, const struct difference *all)
{
    struct json json;
    TRY(json_open(&json));
    json_begin(&json, NULL, '{');
    json_string(&json, "a", pairing->side[0].path);
    json_string(&json, "b", pairing->side[1].path);
    json_int3(&json, "cells", pairing->side[0].cells);
    json_int(&json, "states", pairing->count);
    json_string(&json, "unit", unit_of(pairing));
    json_real(&json, "rtol", options.rtol);
    json_real(&json, "atol", options.atol);
    json_bool(&json, "equal", all->beyond == 0);
    json_int(&json, "unequal_cells", all->unequal);
    json_int(&json, "cells_beyond", all->beyond);
    json_int(&json, "nan_in_one", all->one_nan);
    json_int(&json, "nan_in_both", all->both_nan);
    json_real(&json, "time_apart_s", pairing->time_apart);
    json_worst(&json, "absolute_K", pairing, &all->largest[ABSOLUTE]);
    json_worst(&json, "relative", pairing, &all->largest[RELATIVE]);
    json_worst(&json, "ulp", pairing, &all->largest[ULP]);
    json_end(&json, '}');
    return json_finish(&json, STATUS_OK, options.json);
}

static enum status execute(void)
{
    SCOPED_BY(pairing_free) struct pairing pairing = {.count = 0};
    const bool first = comm_rank(MPI_COMM_WORLD) == 0;
    TRY(status_agree(MPI_COMM_WORLD, first ? json_check_place(options.json) : STATUS_OK));
    for (int s = 0; s < 2; s++) {
        TRY(frames_read(MPI_COMM_WORLD, options.file[s], options.name, &pairing.side[s]));
    }
    TRY(status_agree(MPI_COMM_WORLD, match(&pairing)));
    describe("a", &pairing.side[0]);
    describe("b", &pairing.side[1]);
    if (pairing.side[0].has_place != pairing.side[1].has_place) {
        log_info("only %s has coordinates", pairing.side[pairing.side[0].has_place ? 0 : 1].path);
    }
    struct difference all;
    TRY(compare_all(&pairing, &all));
    print_result(&pairing, &all);
    if (options.json != NULL) {
        TRY(status_agree(MPI_COMM_WORLD, first ? save_json(&pairing, &all) : STATUS_OK));
    }
    if (all.beyond > 0) {
        fail_set_agreed("the files differ");
        return STATUS_DIFFERENT;
    }
    return STATUS_OK;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "compare two files or series; exit code 1 when they differ",
    .uses_mpi = true,
    .line = {.usage = "isotherm compare A B [--rtol X] [--atol X]",
             .about =
                 "Compare two checkpoints, snapshot files or output folders cell by cell: the\n"
                 "largest absolute, relative and ULP difference, with its cell and step. A\n"
                 "folder stands for its snapshots.vtkhdf, or else its newest checkpoint. States\n"
                 "are matched by step. Differences of float32 and float64 count ULP of float32.\n"
                 "NaN equals NaN only. Two grids of the same box may have integer ratios of\n"
                 "cells: the finer one is averaged, and states are matched by time.\n"
                 "Exit code: 0 when |a - b| <= atol + rtol max(|a|, |b|) in every cell, 1 when\n"
                 "not, 2 when the two cannot be compared (grids or steps differ), 3 when a file\n"
                 "cannot be read or is damaged.",
             .example = "  $ isotherm compare out/a out/b\n"
                        "  $ mpirun -n 4 isotherm compare a.vtkhdf b.vtkhdf --rtol 1e-6",
             .options = option_table,
             .operand = "A or B (two files or folders)",
             .min_operands = 2,
             .max_operands = 2,
             .operands = options.file},
    .execute = execute,
};
