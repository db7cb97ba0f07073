/* Samples of a field: single cells, derived fields, and the heat flux. One thread per cell: these
 * run rarely. */
/* first: it defines KERNEL_INLINE */
#include "kernels/hip/kind/enthalpy.h"

#include "kernels/cell/derived_cell.h"

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

hipError_t hip_launch_gather(hipStream_t stream, enum precision precision, const void *d_field,
                             const int64_t *d_elements, int64_t count, void *d_values)
{
    const unsigned nblocks = (unsigned)((count + THREADS - 1) / THREADS);
    if (count == 0) {
        return hipSuccess;
    }
    if (precision == PRECISION_FLOAT64) {
        gather_cells<<<nblocks, THREADS, 0, stream>>>(static_cast<const uint64_t *>(d_field),
                                                      d_elements, count,
                                                      static_cast<uint64_t *>(d_values));
    } else {
        gather_cells<<<nblocks, THREADS, 0, stream>>>(static_cast<const uint32_t *>(d_field),
                                                      d_elements, count,
                                                      static_cast<uint32_t *>(d_values));
    }
    return hipGetLastError();
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
static __global__ __launch_bounds__(THREADS) void track_cells(const struct layout layout,
                                                              const struct layout kept,
                                                              const struct track_args args,
                                                              const REAL *field)
{
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
        derived_track(&args, at,
                      (double)field[layout.origin + i + j * layout.pitch_y + k * layout.pitch_z]);
    }
}

hipError_t hip_launch_track(hipStream_t stream, const struct layout *layout,
                            const struct layout *kept, const struct track_args *args,
                            const void *d_field)
{
    if (layout->precision == PRECISION_FLOAT64) {
        track_cells<<<row_grid(layout), THREADS, 0, stream>>>(*layout, *kept, *args,
                                                              static_cast<const double *>(d_field));
    } else {
        track_cells<<<row_grid(layout), THREADS, 0, stream>>>(*layout, *kept, *args,
                                                              static_cast<const float *>(d_field));
    }
    return hipGetLastError();
}

/* The neighbour across a face; the outside value if the face is closed. */
template <typename REAL>
static __device__ __forceinline__ double neighbour(const struct flux_args &args, const REAL *cell,
                                                   int64_t step, int face, bool at_face)
{
    return at_face && args.closed[face]
               ? heat_outside_float64((double)*cell, args.a[face], args.b[face])
               : (double)cell[step];
}

template <typename REAL>
static __global__ __launch_bounds__(THREADS) void flux_cells(const struct layout layout,
                                                             const struct layout kept,
                                                             const struct flux_args args,
                                                             const REAL *field, double *flux)
{
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
        flux[kept.origin + i + j * kept.pitch_y + k * kept.pitch_z] =
            derived_flux_squared(neighbour(args, cell, -1, FACE_X_MIN, i == 0),
                                 neighbour(args, cell, 1, FACE_X_MAX, i == nx - 1),
                                 neighbour(args, cell, -sy, FACE_Y_MIN, j == 0),
                                 neighbour(args, cell, sy, FACE_Y_MAX, j == ny - 1),
                                 neighbour(args, cell, -sz, FACE_Z_MIN, k == 0),
                                 neighbour(args, cell, sz, FACE_Z_MAX, k == nz - 1),
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
static void launch_medium(hipStream_t stream, const struct layout *layout,
                          const struct layout *kept, const struct flux_args *args, const KIND &kind,
                          const void *d_field, double *d_flux)
{
    const int64_t cells = layout->cells[AXIS_X] * layout->cells[AXIS_Y] * layout->cells[AXIS_Z];
    flux_medium<<<(unsigned)((cells + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        view_of<REAL>(layout, nullptr, d_field), kind, args->scale[AXIS_X], args->scale[AXIS_Y],
        args->scale[AXIS_Z], d_flux + kept->origin, kept->pitch_y, kept->pitch_z);
}

template <typename REAL>
static hipError_t launch_flux(hipStream_t stream, const struct layout *layout,
                              const struct layout *kept, const struct flux_args *args,
                              const void *d_field, double *d_flux)
{
    struct coefficients around = {};
    for (int face = 0; face < FACE_COUNT; face++) {
        around.closed[face] = args->closed[face];
    }
    coefficients_set_medium(&around, args->medium);
    if (around.kind == KIND_ENTHALPY) {
        launch_medium<REAL>(stream, layout, kept, args, enthalpy_of<REAL, 1, false>(&around),
                            d_field, d_flux);
    } else if (around.kind == KIND_CLASSES) {
        launch_medium<REAL>(stream, layout, kept, args, classes_of<REAL, 1>(&around), d_field,
                            d_flux);
    } else {
        flux_cells<<<row_grid(layout), THREADS, 0, stream>>>(
            *layout, *kept, *args, static_cast<const REAL *>(d_field), d_flux);
    }
    return hipGetLastError();
}

hipError_t hip_launch_flux_squared(hipStream_t stream, const struct layout *layout,
                                   const struct layout *kept, const struct flux_args *args,
                                   const void *d_field, double *d_flux)
{
    return layout->precision == PRECISION_FLOAT64
               ? launch_flux<double>(stream, layout, kept, args, d_field, d_flux)
               : launch_flux<float>(stream, layout, kept, args, d_field, d_flux);
}
