/* HYPRE's conjugate gradients around a cycle of PFMG for the steady state of a uniform medium, from
 * the conductances and the residual of our solver: an independent solution, and its time. */
#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/bench_hypre.h"
#include "solve/steady/steady.h"

const bool bench_has_hypre = true;

enum { ENTRIES = 1 + FACE_COUNT }; /* the cell, and the neighbour beyond each face */

struct linear_system {
    HYPRE_StructGrid grid;
    HYPRE_StructStencil stencil;
    HYPRE_StructMatrix matrix;
    HYPRE_StructVector rhs, solution;
    HYPRE_Int lo[AXIS_COUNT], hi[AXIS_COUNT]; /* this rank's cells; hi: the last one */
};

static enum status check(HYPRE_Int code)
{
    return code == 0 ? STATUS_OK : fail(STATUS_NUMERICS, "HYPRE: error %d", (int)code);
}

/* The entries of one cell: the sum of its conductances, and those to neighbours. */
static void fill_cell(const struct multigrid *m, const int64_t cell[AXIS_COUNT], double *entry)
{
    entry[0] = 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = f / 2;
        const bool last = cell[axis] == (f % 2 == 0 ? 0 : m->layout.cells[axis] - 1);
        const int line = f % 2 == 0 ? LINE_LOW : LINE_HIGH;
        const double g = m->active[axis] ? (double)multigrid_line(m, axis, line, cell[axis]) : 0;
        entry[0] += g;
        entry[1 + f] = last && m->closed[f] ? 0 : -g;
    }
}

/* r: a field of float64 with its layout. */
static enum status fill(const struct steady_grid *finest, const struct layout *layout,
                        const double *r, struct linear_system *s)
{
    const struct box owned = layout_owned(layout);
    const size_t cells = (size_t)box_cells(&owned);
    HYPRE_Int entries[ENTRIES];
    double *values = malloc(cells * (ENTRIES + 1) * sizeof *values);
    TRY(CHECK_MEMORY(values != NULL, "no memory for the matrix of HYPRE"));
    double *rhs = values + cells * ENTRIES;
    for (int n = 0; n < ENTRIES; n++) {
        entries[n] = n;
    }
    for (size_t n = 0; n < cells; n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, (int64_t)n, cell);
        fill_cell(&finest->m, cell, values + n * ENTRIES);
        rhs[n] = r[layout_index(layout, cell[0], cell[1], cell[2])];
    }
    HYPRE_StructMatrixSetBoxValues(s->matrix, s->lo, s->hi, ENTRIES, entries, values);
    HYPRE_StructVectorSetBoxValues(s->rhs, s->lo, s->hi, rhs);
    free(values);
    return check(HYPRE_GetError());
}

static enum status create(const struct stepper *stepper, const double *r, struct linear_system *s)
{
    const struct steady_grid *finest = &stepper->steady->grids.grid[0];
    const struct box own = decomp_owned(&finest->decomp, stepper->team->rank);
    MPI_Comm comm = stepper->team->comm;
    HYPRE_Init();
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s->lo[axis] = (HYPRE_Int)own.lo[axis];
        s->hi[axis] = (HYPRE_Int)own.hi[axis] - 1;
    }
    HYPRE_StructGridCreate(comm, AXIS_COUNT, &s->grid);
    HYPRE_StructGridSetExtents(s->grid, s->lo, s->hi);
    HYPRE_StructGridAssemble(s->grid);
    HYPRE_StructStencilCreate(AXIS_COUNT, ENTRIES, &s->stencil);
    for (int n = 0; n < ENTRIES; n++) {
        HYPRE_Int offset[AXIS_COUNT] = {0, 0, 0};
        if (n > 0) {
            offset[(n - 1) / 2] = n % 2 == 1 ? -1 : 1;
        }
        HYPRE_StructStencilSetElement(s->stencil, n, offset);
    }
    HYPRE_StructMatrixCreate(comm, s->grid, s->stencil, &s->matrix);
    HYPRE_StructMatrixInitialize(s->matrix);
    HYPRE_StructVectorCreate(comm, s->grid, &s->rhs);
    HYPRE_StructVectorInitialize(s->rhs);
    HYPRE_StructVectorCreate(comm, s->grid, &s->solution);
    HYPRE_StructVectorInitialize(s->solution);
    TRY(fill(finest, &stepper->level->field->layout, r, s));
    HYPRE_StructMatrixAssemble(s->matrix);
    HYPRE_StructVectorAssemble(s->rhs);
    HYPRE_StructVectorAssemble(s->solution);
    return check(HYPRE_GetError());
}

static void destroy(struct linear_system *s)
{
    HYPRE_StructVectorDestroy(s->solution);
    HYPRE_StructVectorDestroy(s->rhs);
    HYPRE_StructMatrixDestroy(s->matrix);
    HYPRE_StructStencilDestroy(s->stencil);
    HYPRE_StructGridDestroy(s->grid);
    HYPRE_Finalize();
}

/* From 0 until the root mean square of the residual is `share` of the first one. */
static enum status solve(MPI_Comm comm, const struct linear_system *s, double share,
                         struct hypre_run *run)
{
    HYPRE_StructSolver solver;
    HYPRE_StructSolver cycle;
    HYPRE_Int cycles = 0;
    HYPRE_StructVectorSetConstantValues(s->solution, 0);
    HYPRE_StructPCGCreate(comm, &solver);
    HYPRE_StructPCGSetTol(solver, share);
    HYPRE_StructPCGSetMaxIter(solver, 200);
    HYPRE_StructPCGSetTwoNorm(solver, 1);
    HYPRE_StructPFMGCreate(comm, &cycle);
    HYPRE_StructPFMGSetMaxIter(cycle, 1);
    HYPRE_StructPFMGSetTol(cycle, 0);
    HYPRE_StructPFMGSetZeroGuess(cycle);
    HYPRE_StructPFMGSetRelaxType(cycle, 2); /* red-black Gauss-Seidel, symmetric */
    HYPRE_StructPCGSetPrecond(solver, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, cycle);
    const double start = clock_seconds();
    HYPRE_StructPCGSetup(solver, s->matrix, s->rhs, s->solution);
    const double ready = clock_seconds();
    HYPRE_StructPCGSolve(solver, s->matrix, s->rhs, s->solution);
    run->seconds = clock_seconds() - ready;
    run->setup_s = ready - start;
    HYPRE_StructPCGGetNumIterations(solver, &cycles);
    run->cycles = (int)cycles;
    HYPRE_StructPCGDestroy(solver);
    HYPRE_StructPFMGDestroy(cycle);
    return check(HYPRE_GetError());
}

/* The largest difference of the solution to `change`, a field. */
static double compare(const struct layout *layout, const double *change,
                      const struct linear_system *s)
{
    const struct box owned = layout_owned(layout);
    double most = 0;
    double *values = malloc((size_t)box_cells(&owned) * sizeof *values);
    if (values == NULL) {
        return NAN;
    }
    HYPRE_StructVectorGetBoxValues(s->solution, (HYPRE_Int *)s->lo, (HYPRE_Int *)s->hi, values);
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        most =
            fmax(most, fabs(values[n] - change[layout_index(layout, cell[0], cell[1], cell[2])]));
    }
    free(values);
    return most;
}

enum status bench_hypre(struct stepper *stepper, const double *r, const double *change,
                        const double shares[2], struct hypre_run runs[2])
{
    struct linear_system s = {.grid = NULL};
    TRY(create(stepper, r, &s));
    for (int n = 0; n < 2; n++) {
        TRY(solve(stepper->team->comm, &s, shares[n], &runs[n]));
        runs[n].difference = compare(&stepper->level->field->layout, change, &s);
    }
    destroy(&s);
    return STATUS_OK;
}
