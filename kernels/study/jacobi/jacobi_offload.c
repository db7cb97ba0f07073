/* The Jacobi iteration as OpenMP target regions, and three ways to map the arrays to the device. */
#include <omp.h>
#include <string.h>

/* For a device, clang 15 calls memcpy, and no library there has it. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)

#include "kernels/cpu/schedule/tally.h"
#include "kernels/study/jacobi/jacobi.h"

/* A directive whose text may contain macros. */
#define TARGET(...) TARGET_TEXT(__VA_ARGS__)
#define TARGET_TEXT(...) _Pragma(#__VA_ARGS__)

/* One iteration per thread of the device, in any order. For gcc a thread is a wave, and its lanes
 * take iterations of a loop over vectors: LANES, along the rows of TARGET_ROWS. clang takes
 * iterations of all loops alike. */
#ifdef __clang__
#define TARGET_LOOP omp target teams distribute parallel for
#define TARGET_ROWS TARGET_LOOP collapse(2)
#define LANES
#else
#define TARGET_LOOP omp target teams distribute parallel for simd
#define TARGET_ROWS omp target teams distribute parallel for
#define LANES TARGET(omp simd)
#endif

bool jacobi_offload_has_device(void)
{
    int on_host = 1; /* OpenMP also counts devices for which this program has no code */
#pragma omp target map(from : on_host)
    on_host = omp_is_initial_device();
    return on_host == 0;
}

static int device_number(void)
{
    static int number = -1;
    if (number < 0) {
        number = jacobi_offload_has_device() ? omp_get_default_device() : omp_get_initial_device();
    }
    return number;
}

static void laplacian(int device, struct jacobi_grid grid, double *au, const double *u)
{
    TARGET(TARGET_ROWS device(device) is_device_ptr(au, u) map(to : grid))
    for (int64_t j = 1; j < grid.ny - 1; j++) {
        LANES
        for (int64_t i = 1; i < grid.nx - 1; i++) {
            const int64_t at = i + j * grid.nx;
            au[at] = jacobi_minus_laplacian(u[at], u[at - 1], u[at + 1], u[at - grid.nx],
                                            u[at + grid.nx], grid.over_dx2, grid.over_dy2);
        }
    }
}

static void boundary(int device, struct jacobi_grid grid, double *au, const double *u)
{
    const int64_t nodes = grid.edge_nodes;
    TARGET(TARGET_LOOP device(device) is_device_ptr(au, u) map(to : grid))
    for (int64_t n = 0; n < nodes; n++) {
        int64_t i = 0;
        int64_t j = 0;
        jacobi_edge_node(&grid, n, &i, &j);
        au[i + j * grid.nx] = jacobi_at_edge(&grid, u, i, j);
    }
}

static void update(int device, const struct jacobi_grid *grid, double *u, double *res,
                   const double *rhs, const double *au)
{
    const int64_t nodes = grid->nx * grid->ny;
    const double factor = grid->factor;
    TARGET(TARGET_LOOP device(device) is_device_ptr(u, res, rhs, au))
    for (int64_t n = 0; n < nodes; n++) {
        double residual = 0;
        u[n] = jacobi_update(u[n], rhs[n], au[n], factor, &residual);
        res[n] = residual;
    }
}

static void norm_of(int device, const struct jacobi_grid *grid, const double *res,
                    struct exact_sum *h_sum)
{
    const int64_t nodes = grid->nx * grid->ny;
    const double area = grid->area;
    for (int64_t begin = 0; begin < nodes; begin += EXACT_PARTS_MAX_TERMS) {
        const int64_t left = nodes - begin;
        const int64_t end = begin + (left < EXACT_PARTS_MAX_TERMS ? left : EXACT_PARTS_MAX_TERMS);
        int64_t p0 = 0;
        int64_t p1 = 0;
        int64_t p2 = 0;
        TARGET(TARGET_LOOP device(device) is_device_ptr(res) map(tofrom : p0, p1, p2)
                   reduction(+ : p0, p1, p2))
        for (int64_t n = begin; n < end; n++) {
            struct exact_parts one = {{0}};
            exact_parts_add(&one, tally_term(jacobi_term(res[n], area)));
            p0 += one.part[0];
            p1 += one.part[1];
            p2 += one.part[2];
        }
        exact_sum_add_parts(h_sum, &(struct exact_parts){{p0, p1, p2}});
    }
}

/* What is mapped already is not copied; else each kernel copies what it needs. */
static void run(const struct study_call *call)
{
    const struct jacobi_grid grid = jacobi_grid_of(call->problem);
    const int device = device_number();
    const int64_t nodes = grid.nx * grid.ny;
    double *u = jacobi_field(call, JACOBI_U);
    double *au = jacobi_field(call, JACOBI_AU);
    double *res = jacobi_field(call, JACOBI_RES);
    const double *rhs = jacobi_field(call, JACOBI_RHS);
    if (call->kernel->part == JACOBI_UPDATE) {
        TARGET(omp target data device(device) map(to
                                                  : rhs [0:nodes], au [0:nodes])
                   map(from
                       : res [0:nodes]) map(tofrom
                                            : u [0:nodes]) use_device_ptr(u, au, res, rhs))
        update(device, &grid, u, res, rhs, au);
    } else if (call->kernel->part == JACOBI_NORM) {
        TARGET(omp target data device(device) map(to : res [0:nodes]) use_device_ptr(res))
        norm_of(device, &grid, res, call->h_sum);
    } else {
        TARGET(omp target data device(device) map(to
                                                  : u [0:nodes]) map(tofrom
                                                                     : au [0:nodes])
                   use_device_ptr(u, au))
        {
            if (call->kernel->part == JACOBI_LAPLACIAN) {
                laplacian(device, grid, au, u);
            } else {
                boundary(device, grid, au, u);
            }
        }
    }
}

static enum status within_data(const struct study_call *call, enum status (*body)(void *context),
                               void *context)
{
    const int64_t all = call->problem->field_pitch * JACOBI_FIELDS;
    double *fields = call->d_out;
    (void)fields; /* gcc does not count a map as a use */
    enum status status = STATUS_OK;
    TARGET(omp target data device(device_number()) map(tofrom : fields [0:all]))
    status = body(context);
    return status;
}

static enum status within_enter_and_exit(const struct study_call *call,
                                         enum status (*body)(void *context), void *context)
{
    const int64_t all = call->problem->field_pitch * JACOBI_FIELDS;
    double *fields = call->d_out;
    (void)fields; /* gcc does not count a map as a use */
    TARGET(omp target enter data device(device_number()) map(to : fields [0:all]))
    const enum status status = body(context);
    TARGET(omp target exit data device(device_number()) map(from : fields [0:all]))
    return status;
}

#define PART(title, number, name_of_variant, text, mapped)                                         \
    {                                                                                              \
        .name = title, .about = text, .regions = run, .part = number,                              \
        .follows = (number) == JACOBI_ITERATION ? JACOBI_ITERATION : 0,                            \
        .variant = name_of_variant, .within = mapped                                               \
    }
#define PARTS(...)                                                                                 \
    PART("laplacian", JACOBI_LAPLACIAN, __VA_ARGS__),                                              \
        PART("boundary", JACOBI_BOUNDARY, __VA_ARGS__),                                            \
        PART("update", JACOBI_UPDATE, __VA_ARGS__), PART("norm", JACOBI_NORM, __VA_ARGS__),        \
        PART("iteration", JACOBI_ITERATION, __VA_ARGS__)

const struct study_kernel jacobi_offload[] = {
    PARTS("per_kernel", "structured mapping around every kernel: copies each time", NULL),
    PARTS("structured", "structured mapping around the loop", within_data),
    PARTS("unstructured", "enter data before the loop, exit data after it", within_enter_and_exit),
    {.name = NULL}};
