/* HYPRE's conjugate gradients around a cycle of PFMG or of BoomerAMG, for the conductances and the
 * residual of the finest grid: an independent solution, and its time. */
#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_sstruct_ls.h>
#include <HYPRE_struct_ls.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/comm.h"
#include "solve/steady/grids.h"

const bool steady_has_hypre = true;

enum { ENTRIES = 1 + FACE_COUNT }; /* the cell, and the neighbour beyond each face */
enum { ARRAYS = AXIS_COUNT + 2 };  /* conductances, sinks and the residual */

struct linear_system {
    const struct steady_grid *grid;
    float *h_array[ARRAYS];                   /* NULL: none */
    HYPRE_Int type;                           /* of the objects below */
    HYPRE_Int lo[AXIS_COUNT], hi[AXIS_COUNT]; /* this rank's cells; hi: the last one */
    HYPRE_SStructGrid cells;
    HYPRE_SStructStencil stencil;
    HYPRE_SStructGraph graph;
    HYPRE_SStructMatrix matrix;
    HYPRE_SStructVector rhs, solution;
};

static enum status check(HYPRE_Int code)
{
    return code == 0 ? STATUS_OK : fail(STATUS_NUMERICS, "HYPRE: error %d", (int)code);
}

static enum status read_arrays(const struct steady_grids *grids, struct linear_system *s)
{
    const struct engine *engine = grids->engine;
    const struct multigrid *m = &s->grid->m;
    const size_t bytes = layout_bytes(&m->layout);
    const float *d_array[ARRAYS] = {m->d_g[AXIS_X], m->d_g[AXIS_Y], m->d_g[AXIS_Z], m->d_sink,
                                    s->grid->d_r};
    for (int n = 0; n < ARRAYS; n++) {
        if (d_array[n] != NULL) {
            s->h_array[n] = malloc(bytes);
            TRY(CHECK_MEMORY(s->h_array[n] != NULL, "no memory for the matrix of HYPRE"));
            TRY(engine->runtime->copy_to_host(engine->bulk_queue, s->h_array[n], d_array[n],
                                              bytes));
        }
    }
    return engine->runtime->queue_wait(engine->bulk_queue);
}

/* The sum of the conductances of a cell, and the conductances to its neighbours. */
static void fill_cell(const struct linear_system *s, const int64_t cell[AXIS_COUNT],
                      int64_t element, double *entry)
{
    const struct multigrid *m = &s->grid->m;
    const float *h_sink = s->h_array[AXIS_COUNT];
    entry[0] = h_sink != NULL ? (double)m->sink * (double)h_sink[element] : 0;
    for (int f = 0; f < FACE_COUNT; f++) {
        const int axis = f / 2;
        const bool last = cell[axis] == (f % 2 == 0 ? 0 : m->layout.cells[axis] - 1);
        const int64_t face = element + (f % 2 == 0 ? 0 : multigrid_step(m, axis));
        const double g = m->active[axis] ? (double)s->h_array[axis][face] : 0;
        entry[0] += g;
        entry[1 + f] = last && m->closed[f] ? 0 : -g;
    }
    entry[0] = entry[0] > 0 ? entry[0] : 1; /* an ambient */
}

static enum status fill(struct linear_system *s)
{
    const struct layout *layout = &s->grid->m.layout;
    const struct box owned = layout_owned(layout);
    const size_t cells = (size_t)box_cells(&owned);
    HYPRE_Int entries[ENTRIES];
    SCOPED_FREE double *values = malloc(cells * (ENTRIES + 1) * sizeof *values);
    TRY(CHECK_MEMORY(values != NULL, "no memory for the matrix of HYPRE"));
    double *rhs = values + cells * ENTRIES;
    for (int n = 0; n < ENTRIES; n++) {
        entries[n] = n;
    }
    for (size_t n = 0; n < cells; n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, (int64_t)n, cell);
        const int64_t element = layout_index(layout, cell[0], cell[1], cell[2]);
        fill_cell(s, cell, element, values + n * ENTRIES);
        rhs[n] = (double)s->h_array[ARRAYS - 1][element];
    }
    HYPRE_SStructMatrixSetBoxValues(s->matrix, 0, s->lo, s->hi, 0, ENTRIES, entries, values);
    HYPRE_SStructVectorSetBoxValues(s->rhs, 0, s->lo, s->hi, 0, rhs);
    return check(HYPRE_GetError());
}

static void create_vector(MPI_Comm comm, const struct linear_system *s, HYPRE_SStructVector *vector)
{
    HYPRE_SStructVectorCreate(comm, s->cells, vector);
    HYPRE_SStructVectorSetObjectType(*vector, s->type);
    HYPRE_SStructVectorInitialize(*vector);
}

static enum status create(const struct steady_grids *grids, struct linear_system *s)
{
    const struct decomp *decomp = &s->grid->decomp;
    const struct box own = decomp_owned(decomp, grids->team->rank);
    MPI_Comm comm = grids->team->comm;
    HYPRE_SStructVariable variable = HYPRE_SSTRUCT_VARIABLE_CELL;
    HYPRE_Int period[AXIS_COUNT];
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        s->lo[axis] = (HYPRE_Int)own.lo[axis];
        s->hi[axis] = (HYPRE_Int)own.hi[axis] - 1;
        period[axis] = decomp->periodic[axis] && s->grid->m.active[axis]
                           ? (HYPRE_Int)decomp->global_cells[axis]
                           : 0;
    }
    HYPRE_SStructGridCreate(comm, AXIS_COUNT, 1, &s->cells);
    HYPRE_SStructGridSetExtents(s->cells, 0, s->lo, s->hi);
    HYPRE_SStructGridSetVariables(s->cells, 0, 1, &variable);
    HYPRE_SStructGridSetPeriodic(s->cells, 0, period);
    HYPRE_SStructGridAssemble(s->cells);
    HYPRE_SStructStencilCreate(AXIS_COUNT, ENTRIES, &s->stencil);
    for (int n = 0; n < ENTRIES; n++) {
        HYPRE_Int offset[AXIS_COUNT] = {0, 0, 0};
        if (n > 0) {
            offset[(n - 1) / 2] = n % 2 == 1 ? -1 : 1;
        }
        HYPRE_SStructStencilSetEntry(s->stencil, n, offset, 0);
    }
    HYPRE_SStructGraphCreate(comm, s->cells, &s->graph);
    HYPRE_SStructGraphSetObjectType(s->graph, s->type);
    HYPRE_SStructGraphSetStencil(s->graph, 0, 0, s->stencil);
    HYPRE_SStructGraphAssemble(s->graph);
    HYPRE_SStructMatrixCreate(comm, s->graph, &s->matrix);
    HYPRE_SStructMatrixSetObjectType(s->matrix, s->type);
    HYPRE_SStructMatrixInitialize(s->matrix);
    create_vector(comm, s, &s->rhs);
    create_vector(comm, s, &s->solution);
    TRY(fill(s));
    HYPRE_SStructMatrixAssemble(s->matrix);
    HYPRE_SStructVectorAssemble(s->rhs);
    HYPRE_SStructVectorAssemble(s->solution);
    return check(HYPRE_GetError());
}

static void destroy(struct linear_system *s)
{
    HYPRE_SStructVectorDestroy(s->solution);
    HYPRE_SStructVectorDestroy(s->rhs);
    HYPRE_SStructMatrixDestroy(s->matrix);
    HYPRE_SStructGraphDestroy(s->graph);
    HYPRE_SStructStencilDestroy(s->stencil);
    HYPRE_SStructGridDestroy(s->cells);
    HYPRE_Finalize();
    for (int n = 0; n < ARRAYS; n++) {
        free(s->h_array[n]);
    }
}

/* From 0 until the root mean square of the residual is `share` of the first one. */
static enum status solve(MPI_Comm comm, const struct linear_system *s, double share,
                         struct hypre_run *run)
{
    const bool algebraic = s->type == HYPRE_PARCSR;
    HYPRE_Solver solver;
    HYPRE_Solver cycle;
    void *matrix;
    void *rhs;
    void *solution;
    HYPRE_Int cycles = 0;
    HYPRE_SStructMatrixGetObject(s->matrix, &matrix);
    HYPRE_SStructVectorGetObject(s->rhs, &rhs);
    HYPRE_SStructVectorGetObject(s->solution, &solution);
    if (algebraic) {
        HYPRE_ParCSRPCGCreate(comm, &solver);
        HYPRE_BoomerAMGCreate(&cycle);
        HYPRE_BoomerAMGSetMaxIter(cycle, 1);
        HYPRE_BoomerAMGSetTol(cycle, 0);
        HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                            (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, cycle);
    } else {
        HYPRE_StructPCGCreate(comm, (HYPRE_StructSolver *)&solver);
        HYPRE_StructPFMGCreate(comm, (HYPRE_StructSolver *)&cycle);
        HYPRE_StructPFMGSetMaxIter((HYPRE_StructSolver)cycle, 1);
        HYPRE_StructPFMGSetTol((HYPRE_StructSolver)cycle, 0);
        HYPRE_StructPFMGSetZeroGuess((HYPRE_StructSolver)cycle);
        /* red-black Gauss-Seidel, symmetric */
        HYPRE_StructPFMGSetRelaxType((HYPRE_StructSolver)cycle, 2);
        HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_StructPFMGSolve,
                            (HYPRE_PtrToSolverFcn)HYPRE_StructPFMGSetup, cycle);
    }
    HYPRE_PCGSetTol(solver, share);
    HYPRE_PCGSetMaxIter(solver, 200);
    HYPRE_PCGSetTwoNorm(solver, 1);
    const double start = clock_seconds();
    HYPRE_PCGSetup(solver, (HYPRE_Matrix)matrix, (HYPRE_Vector)rhs, (HYPRE_Vector)solution);
    const double ready = clock_seconds();
    HYPRE_PCGSolve(solver, (HYPRE_Matrix)matrix, (HYPRE_Vector)rhs, (HYPRE_Vector)solution);
    run->seconds = clock_seconds() - ready;
    run->setup_s = ready - start;
    HYPRE_PCGGetNumIterations(solver, &cycles);
    run->cycles = (int)cycles;
    if (algebraic) {
        HYPRE_ParCSRPCGDestroy(solver);
        HYPRE_BoomerAMGDestroy(cycle);
    } else {
        HYPRE_StructPCGDestroy((HYPRE_StructSolver)solver);
        HYPRE_StructPFMGDestroy((HYPRE_StructSolver)cycle);
    }
    HYPRE_ClearAllErrors(); /* not converged: the next cycle continues */
    return STATUS_OK;
}

/* The solution to d_e. */
static enum status write_solution(const struct steady_grids *grids, const struct linear_system *s)
{
    const struct engine *engine = grids->engine;
    const struct layout *layout = &s->grid->m.layout;
    const struct box owned = layout_owned(layout);
    float *h_e = s->h_array[ARRAYS - 1];
    SCOPED_FREE double *values = malloc((size_t)box_cells(&owned) * sizeof *values);
    TRY(CHECK_MEMORY(values != NULL, "no memory for the solution of HYPRE"));
    HYPRE_SStructVectorGather(s->solution);
    HYPRE_SStructVectorGetBoxValues(s->solution, 0, (HYPRE_Int *)s->lo, (HYPRE_Int *)s->hi, 0,
                                    values);
    for (int64_t n = 0; n < box_cells(&owned); n++) {
        int64_t cell[AXIS_COUNT];
        box_cell(&owned, n, cell);
        h_e[layout_index(layout, cell[0], cell[1], cell[2])] = (float)values[n];
    }
    TRY(engine->runtime->copy_to_device(engine->bulk_queue, s->grid->d_e, h_e,
                                        layout_bytes(layout)));
    return engine->runtime->queue_wait(engine->bulk_queue);
}

enum status steady_hypre(struct steady_grids *grids, bool algebraic, double share,
                         struct hypre_run *run)
{
    MPI_Comm comm = grids->team->comm;
    struct linear_system s = {.grid = &grids->grid[0],
                              .type = algebraic ? HYPRE_PARCSR : HYPRE_STRUCT};
    HYPRE_Init();
    enum status status = status_agree(comm, read_arrays(grids, &s));
    status = status == STATUS_OK ? status_agree(comm, create(grids, &s)) : status;
    status = status == STATUS_OK ? solve(comm, &s, share, run) : status;
    status = status == STATUS_OK ? status_agree(comm, write_solution(grids, &s)) : status;
    destroy(&s);
    return status;
}
