/* Samples of a field: single cells, derived fields, and the heat flux. One thread per cell: these
 * run rarely. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/cell/derived_cell.h"
#include "kernels/hip/host/device_hip.h"

enum { THREADS = 256 };

template <typename CELL>
static __global__ __launch_bounds__(THREADS) void gather_cells(const CELL *field,
                                                               const int64_t *elements,
                                                               int64_t count, CELL *values)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n < count) {
        values[n] = field[elements[n]];
    }
}

enum status hip_gather(struct queue *queue, const struct gather_args *args)
{
    const unsigned nblocks = (unsigned)((args->count + THREADS - 1) / THREADS);
    if (args->count == 0) {
        return STATUS_OK;
    }
    if (args->precision == PRECISION_FLOAT64) {
        gather_cells<<<nblocks, THREADS, 0, queue->stream>>>(
            static_cast<const uint64_t *>(args->d_field), args->d_elements, args->count,
            static_cast<uint64_t *>(args->d_values));
    } else {
        gather_cells<<<nblocks, THREADS, 0, queue->stream>>>(
            static_cast<const uint32_t *>(args->d_field), args->d_elements, args->count,
            static_cast<uint32_t *>(args->d_values));
    }
    return hip_check(hipGetLastError(), "gather");
}

/* A block of threads covers part of a row; blockIdx.y strides over the rows. */
enum { MOST_ROWS = 65535 };

static dim3 row_grid(const struct layout *layout)
{
    const int64_t nrows = layout->cells[AXIS_Y] * layout->cells[AXIS_Z];
    const int64_t across = (layout->cells[AXIS_X] + THREADS - 1) / THREADS;
    return dim3((unsigned)across, (unsigned)(nrows < MOST_ROWS ? nrows : (int64_t)MOST_ROWS));
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void track_cells(const struct track_args args)
{
    const struct layout &layout = args.layout;
    const struct layout &kept = args.kept;
    const REAL *field = static_cast<const REAL *>(args.d_field);
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t ny = layout.cells[AXIS_Y];
    const int64_t nrows = ny * layout.cells[AXIS_Z];
    if (i >= layout.cells[AXIS_X]) {
        return;
    }
    for (int64_t row = blockIdx.y; row < nrows; row += gridDim.y) {
        const int64_t k = row / ny;
        const int64_t j = row - k * ny;
        const int64_t at = kept.origin + i + j * kept.pitch_y + k * kept.pitch_z;
        derived_track(&args.sample, at,
                      (double)field[layout.origin + i + j * layout.pitch_y + k * layout.pitch_z]);
    }
}

enum status hip_track(struct queue *queue, const struct track_args *args)
{
    const dim3 grid = row_grid(&args->layout);
    if (args->layout.precision == PRECISION_FLOAT64) {
        track_cells<double><<<grid, THREADS, 0, queue->stream>>>(*args);
    } else {
        track_cells<float><<<grid, THREADS, 0, queue->stream>>>(*args);
    }
    return hip_check(hipGetLastError(), "track");
}

/* The neighbour across a face; the outside value if the face is closed. */
template <typename REAL>
static __device__ __forceinline__ double neighbour(const struct coefficients &around,
                                                   const REAL *cell, int64_t step, int face,
                                                   bool at_face)
{
    return at_face && around.closed[face]
               ? heat_outside_float64((double)*cell, around.a[face], around.b[face])
               : (double)cell[step];
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void flux_cells(const struct flux_squared_args args,
                                                             const struct coefficients around)
{
    const struct layout &layout = args.layout;
    const struct layout &kept = args.kept;
    const REAL *field = static_cast<const REAL *>(args.d_field);
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t nx = layout.cells[AXIS_X];
    const int64_t ny = layout.cells[AXIS_Y];
    const int64_t nz = layout.cells[AXIS_Z];
    const int64_t sy = layout.pitch_y;
    const int64_t sz = layout.pitch_z;
    if (i >= nx) {
        return;
    }
    for (int64_t row = blockIdx.y; row < ny * nz; row += gridDim.y) {
        const int64_t k = row / ny;
        const int64_t j = row - k * ny;
        const REAL *cell = field + layout.origin + i + j * sy + k * sz;
        args.d_flux[kept.origin + i + j * kept.pitch_y + k * kept.pitch_z] =
            derived_flux_squared(neighbour(around, cell, -1, FACE_X_MIN, i == 0),
                                 neighbour(around, cell, 1, FACE_X_MAX, i == nx - 1),
                                 neighbour(around, cell, -sy, FACE_Y_MIN, j == 0),
                                 neighbour(around, cell, sy, FACE_Y_MAX, j == ny - 1),
                                 neighbour(around, cell, -sz, FACE_Z_MIN, k == 0),
                                 neighbour(around, cell, sz, FACE_Z_MAX, k == nz - 1),
                                 args.scale[AXIS_X], args.scale[AXIS_Y], args.scale[AXIS_Z]);
    }
}

/* The conductances g between a cell, which is returned, and its neighbours; of an enthalpy, n
 * becomes the differences to a cell of 0 K. */
template <typename REAL>
static __device__ double around(const classes<REAL, 1> &kind, const class_place &place,
                                const bool (&on)[FACE_COUNT], REAL c, REAL (&n)[FACE_COUNT],
                                REAL (&g)[FACE_COUNT])
{
    for (int face = 0; face < FACE_COUNT; face++) {
        n[face] = on[face] ? kind.beyond(0, place, face, c) : n[face];
    }
    conduct_around(kind.of, place, g);
    return (double)c;
}

template <typename REAL>
static __device__ double around(const enthalpy<REAL, 1, false> &kind, const class_place &place,
                                const bool (&on)[FACE_COUNT], REAL c, REAL (&n)[FACE_COUNT],
                                REAL (&g)[FACE_COUNT])
{
    nonlinear_around(kind.of, place, on, c, n, g, n, [](int, double) {});
    return 0;
}

/* The same in a medium of classes. `flux` points to cell (0, 0, 0). */
template <typename REAL, typename KIND>
static __global__ __launch_bounds__(THREADS) void flux_medium(const grid_view<REAL> view,
                                                              const KIND kind, const double sx,
                                                              const double sy, const double sz,
                                                              double *flux, int64_t pitch_y,
                                                              int64_t pitch_z)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t row = at / view.cells[0];
    if (row >= view.cells[1] * view.cells[2]) {
        return;
    }
    const int64_t cell[AXIS_COUNT] = {at - row * view.cells[0], row % view.cells[1],
                                      row / view.cells[1]};
    bool on[FACE_COUNT];
    REAL n[FACE_COUNT];
    REAL g[FACE_COUNT];
    read_around(view, kind.closed, cell, on, n);
    const double c = around(kind, kind.at(cell[0], cell[1], cell[2]), on,
                            view.in[view.at(cell[0], cell[1], cell[2])], n, g);
    flux[cell[0] + cell[1] * pitch_y + cell[2] * pitch_z] = derived_square(
        derived_flux_between(c, (double)n[0], (double)n[1], (double)g[0], (double)g[1], sx),
        derived_flux_between(c, (double)n[2], (double)n[3], (double)g[2], (double)g[3], sy),
        derived_flux_between(c, (double)n[4], (double)n[5], (double)g[4], (double)g[5], sz));
}

template <typename REAL, typename KIND>
static void launch_medium(struct queue *queue, const struct flux_squared_args *args,
                          const KIND &kind)
{
    const int64_t *n = args->layout.cells;
    const int64_t cells = n[AXIS_X] * n[AXIS_Y] * n[AXIS_Z];
    flux_medium<<<(unsigned)((cells + THREADS - 1) / THREADS), THREADS, 0, queue->stream>>>(
        view_of<REAL>(&args->layout, nullptr, args->d_field), kind, args->scale[AXIS_X],
        args->scale[AXIS_Y], args->scale[AXIS_Z], args->d_flux + args->kept.origin,
        args->kept.pitch_y, args->kept.pitch_z);
}

template <typename REAL>
static void launch_flux(struct queue *queue, const struct flux_squared_args *args)
{
    const struct coefficients *around = args->around;
    if (around->kind == KIND_ENTHALPY) {
        launch_medium<REAL>(queue, args, enthalpy_of<REAL, 1, false>(around));
    } else if (around->kind == KIND_CLASSES) {
        launch_medium<REAL>(queue, args, classes_of<REAL, 1>(around));
    } else {
        flux_cells<REAL><<<row_grid(&args->layout), THREADS, 0, queue->stream>>>(*args, *around);
    }
}

enum status hip_flux_squared(struct queue *queue, const struct flux_squared_args *args)
{
    if (args->layout.precision == PRECISION_FLOAT64) {
        launch_flux<double>(queue, args);
    } else {
        launch_flux<float>(queue, args);
    }
    return hip_check(hipGetLastError(), "flux_squared");
}
