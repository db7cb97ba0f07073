#include "solve/materials.h"

#include <math.h>
#include <stdlib.h>

#include "base/comm.h"
#include "solve/diagnostics.h"

/* Cells that are on the host at once. */
enum { PIECE_CELLS = 4 << 20 };

struct finding {
    double min, max; /* K */
    struct exact_sum sum;
    int64_t cells;
};

/* A thread's: per material. */
struct count {
    double min, max;
    struct exact_parts parts;
    struct exact_sum sum;
    int64_t cells;
};

/* The cells of some rows of one plane. */
struct piece {
    struct box box; /* local indices */
    bool now;       /* values of d_now: of an enthalpy, not its temperatures */
    void *values;
    uint8_t *classes; /* rows of pitch_y bytes */
};

static void count_begin(struct count *counts, int n)
{
    for (int m = 0; m < n; m++) {
        counts[m] = (struct count){.min = INFINITY, .max = -INFINITY};
    }
}

static void count_cell(struct count *count, double value)
{
    count->min = value < count->min ? value : count->min;
    count->max = value > count->max ? value : count->max;
    exact_parts_add(&count->parts, value);
    if (++count->cells % EXACT_PARTS_MAX_TERMS == 0) {
        exact_sum_add_parts(&count->sum, &count->parts);
        count->parts = (struct exact_parts){{0}};
    }
}

static void count_row(const struct stepper *stepper, const struct piece *piece, int64_t row,
                      struct count *counts)
{
    const struct medium *medium = &stepper->problem->medium;
    const struct layout *layout = &stepper->state->field->layout;
    const int64_t nx = layout->cells[AXIS_X];
    const uint8_t *classes = piece->classes + row * stepper->classes->args.layout.pitch_y;
    const uint8_t mask = stepper->classes->args.mask;
    for (int64_t i = 0; i < nx; i++) {
        const double value = precision_get(layout->precision, piece->values, row * nx + i);
        count_cell(&counts[medium->classes[classes[i] & mask].key.material], value);
    }
}

static void merge_counts(struct finding *findings, struct count *counts, int n)
{
    for (int m = 0; m < n; m++) {
        /* + 0.0: 0 rather than -0, which compares equal */
        findings[m].min = fmin(findings[m].min, counts[m].min + 0.0);
        findings[m].max = fmax(findings[m].max, counts[m].max + 0.0);
        findings[m].cells += counts[m].cells;
        exact_sum_add_parts(&counts[m].sum, &counts[m].parts);
        exact_sum_add(&findings[m].sum, &counts[m].sum);
    }
}

static enum status read_piece(struct stepper *stepper, struct piece *piece)
{
    struct engine *engine = stepper->engine;
    const struct medium_args *medium = &stepper->classes->args;
    const int64_t rows = box_extent(&piece->box, AXIS_Y);
    const int64_t first =
        layout_index(&medium->layout, 0, piece->box.lo[AXIS_Y], piece->box.lo[AXIS_Z]);
    const int64_t bytes = (rows - 1) * medium->layout.pitch_y + medium->layout.cells[AXIS_X];
    TRY(engine->runtime->copy_to_host(engine->bulk_queue, piece->classes, medium->d_class + first,
                                      (size_t)bytes));
    TRY(engine->runtime->queue_wait(engine->bulk_queue));
    struct field *field = stepper->state->field;
    return piece->now ? field_read_now(field, &piece->box, piece->values)
                      : field_read(field, &piece->box, piece->values);
}

static enum status find_in_piece(struct stepper *stepper, struct piece *piece,
                                 struct finding *findings)
{
    const int n = stepper->problem->medium.nmaterials;
    const int64_t rows = box_extent(&piece->box, AXIS_Y);
    bool enough = true;
    TRY(read_piece(stepper, piece));
#pragma omp parallel
    {
        struct count *counts = calloc((size_t)n, sizeof *counts);
        if (counts != NULL) {
            count_begin(counts, n);
        }
#pragma omp for
        for (int64_t row = 0; row < rows; row++) {
            if (counts != NULL) {
                count_row(stepper, piece, row, counts);
            }
        }
#pragma omp critical(materials)
        {
            enough = enough && counts != NULL;
            if (counts != NULL) {
                merge_counts(findings, counts, n);
            }
        }
        free(counts);
    }
    return CHECK_MEMORY(enough, "no memory for the temperatures of the materials");
}

static enum status find_mine(struct stepper *stepper, bool now, struct finding *findings)
{
    const int64_t *cells = stepper->state->field->layout.cells;
    const int64_t fit = PIECE_CELLS / cells[AXIS_X] > 0 ? PIECE_CELLS / cells[AXIS_X] : 1;
    const int64_t rows = fit < cells[AXIS_Y] ? fit : cells[AXIS_Y];
    /* the pitch of an unused axis is 0 */
    const int64_t pitch = stepper->classes->args.layout.pitch_y;
    struct piece piece = {
        .now = now,
        .values = malloc((size_t)(rows * cells[AXIS_X]) * sizeof(double)),
        .classes = malloc((size_t)(rows * pitch + cells[AXIS_X])),
    };
    enum status status = STATUS_OK;
    TRY_GOTO(CHECK_MEMORY(piece.values != NULL && piece.classes != NULL,
                          "no memory for some rows of cells"));
    TRY_GOTO(engine_wait(stepper->engine));
    for (int64_t k = 0; k < cells[AXIS_Z]; k++) {
        for (int64_t j = 0; j < cells[AXIS_Y]; j += rows) {
            const struct box all = box_of_cells(cells);
            piece.box = all;
            piece.box.lo[AXIS_Z] = k;
            piece.box.hi[AXIS_Z] = k + 1;
            piece.box.lo[AXIS_Y] = j;
            piece.box.hi[AXIS_Y] = j + rows;
            piece.box = box_intersect(&piece.box, &all);
            TRY_GOTO(find_in_piece(stepper, &piece, findings));
        }
    }
done:
    free(piece.values);
    free(piece.classes);
    return status;
}

/* Over all ranks. */
static enum status add_findings(MPI_Comm comm, struct finding *findings, int n)
{
    double extremes[2 * MOST_MATERIALS];
    int64_t cells[MOST_MATERIALS];
    struct exact_sum sums[MOST_MATERIALS];
    for (int m = 0; m < n; m++) {
        extremes[2 * m] = -findings[m].min;
        extremes[2 * m + 1] = findings[m].max;
        cells[m] = findings[m].cells;
        sums[m] = findings[m].sum;
    }
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, extremes, 2 * n, MPI_DOUBLE, MPI_MAX, comm));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, cells, n, MPI_INT64_T, MPI_SUM, comm));
    TRY(exact_sums_reduce(comm, sums, n));
    for (int m = 0; m < n; m++) {
        findings[m] = (struct finding){-extremes[2 * m], extremes[2 * m + 1], sums[m], cells[m]};
    }
    return STATUS_OK;
}

static enum status find_all(struct stepper *stepper, bool now, struct finding *findings)
{
    const int n = stepper->problem->medium.nmaterials;
    for (int m = 0; m < n; m++) {
        findings[m] = (struct finding){.min = INFINITY, .max = -INFINITY};
    }
    TRY(status_agree(stepper->team->comm, find_mine(stepper, now, findings)));
    return add_findings(stepper->team->comm, findings, n);
}

/* An enthalpy is in K of the reference heat capacity. */
static enum status take_heat_of_enthalpy(struct stepper *stepper,
                                         struct material_diagnostics *materials)
{
    const struct medium *medium = &stepper->problem->medium;
    const double volume = grid_cell_volume(&stepper->problem->grid);
    struct finding findings[MOST_MATERIALS];
    TRY(find_all(stepper, true, findings));
    for (int m = 0; m < medium->nmaterials; m++) {
        materials[m].heat =
            medium->heat_capacity_volume * volume * exact_sum_value(&findings[m].sum);
    }
    return STATUS_OK;
}

static enum status take(struct stepper *stepper, struct material_diagnostics *materials)
{
    const struct medium *medium = &stepper->problem->medium;
    const double volume = grid_cell_volume(&stepper->problem->grid);
    struct finding findings[MOST_MATERIALS];
    TRY(find_all(stepper, false, findings));
    for (int m = 0; m < medium->nmaterials; m++) {
        const struct finding *found = &findings[m];
        const double sum = exact_sum_value(&found->sum);
        const bool any = found->cells > 0;
        materials[m] = (struct material_diagnostics){
            .min = any ? found->min : NAN,
            .max = any ? found->max : NAN,
            .mean = any ? sum / (double)found->cells : NAN,
            .heat = medium->materials[m].heat_capacity_volume * volume * sum,
        };
    }
    return medium->curves != NULL ? take_heat_of_enthalpy(stepper, materials) : STATUS_OK;
}

enum status materials_take(struct stepper *stepper, struct material_diagnostics *materials)
{
    const int before = phases_enter(stepper->phases, PHASE_DIAGNOSTICS);
    const enum status status = take(stepper, materials);
    phases_enter(stepper->phases, before);
    return status;
}
