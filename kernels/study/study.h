/* Studies: operations that `bench` measures and a run never calls.
 *
 * A study is its points (sizes, layout, weights, published cases), the expression of a cell as rows
 * on the host, and kernels with the launch shapes to search. studies.c has the table of all, the
 * loops on the host, and the call. Input and output have one array per field, each of the problem's
 * layout, one after another. A kernel computes the cells; the halo is read only. */
#pragma once

#include "base/exact_sum.h"
#include "kernels/backend.h"

enum { STUDY_MOST_SHAPES = 64, STUDY_PARAMETERS = 24, STUDY_HOST_KERNELS = 6 };

/* What a problem is made from. */
struct study_case {
    int64_t size[AXIS_COUNT]; /* 1: the axis is not in use */
    enum precision precision;
    int radius; /* of the stencil; the Laplacian has its own */
};

struct study_problem {
    struct layout layout; /* of each field */
    int nfields;
    int radius;
    int64_t field_pitch; /* elements from a field to the next */
    int64_t most_x;      /* cells of a row that kernels for GPUs take; 0: INT32_MAX / 2 */
    double parameter[STUDY_PARAMETERS]; /* defined by the study */
    /* Of star.c: the weight of the points at a distance on an axis; distance 0: of the cell. */
    double (*weight)(const struct study_problem *problem, int axis, int distance);
};

static inline size_t study_bytes(const struct study_problem *problem)
{
    return (size_t)(problem->field_pitch * problem->nfields) *
           precision_bytes(problem->layout.precision);
}

/* The launch of a kernel; 0: the kernel's own choice. */
struct study_shape {
    int block[AXIS_COUNT]; /* threads */
    int bounds;            /* the launch bounds that the kernel was compiled with */
    int items;             /* cells per thread */
};

/* d_out and d_in: device memory, distinct, aligned to LAYOUT_ALIGN_BYTES. A sum, of a kernel that
 * has one, is added to *d_sum, in device memory; *h_sum, pinned, is equal to it before the call and
 * after queue_wait. */
struct study_call {
    const struct study_kernel *kernel;
    const struct study_problem *problem;
    struct study_shape shape;
    void *d_out;
    const void *d_in;
    struct exact_sum *h_sum, *d_sum;
};

/* Compute the pieces from number `begin` to before `end` on the host; see study_piece. */
typedef void study_rows(const struct study_call *call, int64_t begin, int64_t end);
/* Launch on a GPU. stream: hipStream_t, scratch: struct hip_scratch; returns hipError_t. */
typedef int study_launch(void *stream, void *scratch, const struct study_call *call);
/* The shapes to search for this problem, at most STUDY_MOST_SHAPES; 0: not a problem for this
 * kernel. */
typedef int study_shapes_function(const struct study_problem *problem, struct study_shape *shapes);

/* A kernel has one of rows, launch, regions and `follows`. */
struct study_kernel {
    const char *name;
    const char *about;
    study_rows *rows[2];     /* by precision; for the backends cpu and guard */
    study_launch *launch[2]; /* for the backend hip */
    /* Target regions of OpenMP, run at once. */
    void (*regions)(const struct study_call *call);
    study_shapes_function *shapes; /* NULL: one shape, its own */
    const char *variant;           /* of kernels that are measured together; NULL: alone */
    int follows;                   /* call this many kernels above it in the table, then wait */
    int part;                      /* of the study: kernels of the same part have the same result */
    /* Call `body` while the arrays are mapped to a device; afterwards host memory has the results.
     * NULL: just call it. */
    enum status (*within)(const struct study_call *call, enum status (*body)(void *context),
                          void *context);
};

struct study_traffic {
    uint64_t fetch_bytes, write_bytes; /* at least */
    uint64_t points;                   /* written, counted once for all fields */
    uint64_t operations;               /* in floating point, an fma counts twice; 0: not counted */
};

struct study {
    const char *name; /* `bench NAME`; in `bench kernels` also for `--kernel`: all of its kernels */
    bool reads_output;
    bool compares; /* all backends, one after another, unless one is given */
    /* STATUS_INPUT for a size that the study cannot have. */
    enum status (*setup)(const struct study_case *wanted, struct study_problem *problem);
    struct study_traffic (*traffic)(const struct study_problem *problem, int part);
    /* The index-th published case of a precision; false after the last. NULL: the study belongs to
     * `bench kernels`, which takes one size. */
    bool (*published)(int index, enum precision precision, struct study_case *found);
    /* The value of a field for a phase, 0 to 100; NULL: about 300. Fields from `nfields` on: the
     * output's before the call. */
    double (*value)(int field, int phase);
    /* Ended by one without a name; the first is the plain loop. */
    struct study_kernel host[STUDY_HOST_KERNELS];
};

/* ---- the table, studies.c ---- */

/* The kernels of a study in one programming model: a backend, or OpenMP's target regions on arrays
 * of the backend cpu. */
struct study_entry {
    const struct study *study;
    const struct backend *backend;      /* of the arrays */
    const struct study_kernel *kernels; /* ended by one without a name */
    const char *model;                  /* NULL: as the backend */
    bool (*has_device)(
        void); /* whether regions run on another device than the backend's, or NULL */
};

/* The index-th; a study has its entries together. NULL after the last. */
const struct study_entry *study_entry(int index);
const char *study_model(const struct study_entry *entry);
/* The index-th study; NULL after the last. */
const struct study *study_at(int index);
/* The index-th of those without published cases, for `bench kernels`; NULL after the last. */
const struct study *study_of_any_size(int index);
/* The kernels of a backend for a study, ended by one without a name; none for NULL. */
const struct study_kernel *study_kernels(const struct study *study, const struct backend *backend);
/* The fastest host kernel of a part. */
const struct study_kernel *study_on_host(const struct study *study, int part);
int study_shapes(const struct study_kernel *kernel, const struct study_problem *problem,
                 struct study_shape shapes[STUDY_MOST_SHAPES]);

/* Queued. Write the cells, with the bits of the study's host kernels of this part, and leave the
 * halo unchanged. STATUS_DEVICE on an error, for too many cells, or for a shape that the device
 * cannot launch. */
enum status study_run(const struct backend *backend, struct queue *queue,
                      const struct study_call *call);
/* The same at once on host memory, for a host kernel. */
void study_run_on_host(const struct study_call *call);

/* ---- for the studies ---- */

/* A row of cells, or a part of a long one: (i, j, k) is the first of them, `at` its element. */
struct study_piece {
    int64_t i, j, k;
    int64_t at;
    int64_t cells;
};

enum { STUDY_MOST_OF_PIECE = 1 << 16 };

static inline int64_t study_pieces_of_row(const struct study_problem *problem)
{
    return (problem->layout.cells[AXIS_X] + STUDY_MOST_OF_PIECE - 1) / STUDY_MOST_OF_PIECE;
}

static inline struct study_piece study_piece(const struct study_problem *problem, int64_t number)
{
    const struct layout *layout = &problem->layout;
    const int64_t parts = study_pieces_of_row(problem);
    struct study_piece piece;
    piece.i = number % parts * STUDY_MOST_OF_PIECE;
    piece.j = number / parts % layout->cells[AXIS_Y];
    piece.k = number / parts / layout->cells[AXIS_Y];
    piece.at = layout_index(layout, piece.i, piece.j, piece.k);
    piece.cells = layout->cells[AXIS_X] - piece.i;
    if (piece.cells > STUDY_MOST_OF_PIECE) {
        piece.cells = STUDY_MOST_OF_PIECE;
    }
    return piece;
}

/* The function `name` of rows in a precision: `make` makes the coefficients once per thread, and
 * `row` computes a piece. */
#define STUDY_ROWS(name, type, coefficients, make, row)                                            \
    void name(const struct study_call *call, int64_t begin, int64_t end)                           \
    {                                                                                              \
        coefficients made;                                                                         \
        make(call->problem, &made);                                                                \
        for (int64_t n = begin; n < end; n++) {                                                    \
            const struct study_piece piece = study_piece(call->problem, n);                        \
            row((type *)call->d_out + piece.at, (const type *)call->d_in + piece.at, piece.cells,  \
                call->problem, &made);                                                             \
        }                                                                                          \
    }

static inline uint64_t study_cells(const struct study_problem *problem)
{
    const int64_t *n = problem->layout.cells;
    return (uint64_t)(n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z]);
}

/* star.c; the traffic: the cells, and the halo without its edges and corners, are read. */
study_rows study_star_cells_float64, study_star_cells_float32;
study_rows study_star_tiles_float64, study_star_tiles_float32;
struct study_traffic study_star_traffic(const struct study_problem *problem, int part);

#ifdef __cplusplus
extern "C" {
#endif
extern const struct study study_laplacian, study_xcorr, study_diffusion, study_mhd, study_jacobi;
extern const struct study_kernel laplacian_hip[], xcorr_hip[], diffusion_hip[], mhd_hip[],
    jacobi_hip[], jacobi_offload[];
bool jacobi_offload_has_device(void);
/* study_hip.c */
enum status study_run_hip(struct queue *queue, const struct study_call *call);
#ifdef __cplusplus
}
#endif
