/* The study `mhd` on GPUs: launches. */
#include "kernels/study/mhd/mhd_kernels.h"

#include "kernels/study/mhd/mhd.h"
#include "kernels/study/study_hip.h"

template <typename REAL> struct mhd_call {
    hipStream_t stream;
    mhd_grid grid;
    dim3 block;
    REAL *out; /* the point (0, 0, 0) of field 0 */
    const REAL *in;
    typename mhd<REAL>::weights weights;
};

template <typename REAL, int BOUNDS> static hipError_t launch_cached(const mhd_call<REAL> &call)
{
    const mhd_grid &g = call.grid;
    const dim3 blocks(parts(g.nx, (int)call.block.x), parts(g.ny, (int)call.block.y),
                      parts(g.nz, (int)call.block.z));
    mhd_cached<REAL, BOUNDS>
        <<<blocks, call.block, 0, call.stream>>>(call.out, call.in, g, call.weights);
    return hipGetLastError();
}

template <typename T> static dim3 columns_of(const mhd_grid &g)
{
    return dim3(parts(g.nx, T::TX), parts(g.ny, T::TY), parts(g.nz, g.depth));
}

template <typename T> static hipError_t launch_shared(const mhd_call<typename T::REAL> &call)
{
    const int bytes = T::PLANE * SHARED_PLANES * (int)sizeof(typename T::REAL);
    const auto kernel = mhd_shared<T>;
    const hipError_t error = hipFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                 hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != hipSuccess) {
        return error;
    }
    kernel<<<columns_of<T>(call.grid), T::THREADS, bytes, call.stream>>>(call.out, call.in,
                                                                         call.grid, call.weights);
    return hipGetLastError();
}

#if ARCH_HAS_TILE_COPY
template <typename T> static hipError_t launch_staged(const mhd_call<typename T::REAL> &call)
{
    typedef typename T::REAL REAL;
    const mhd_grid &g = call.grid;
    const int bytes = (T::PLANE * STAGED_PLANES + T::BEFORE * STAGED_BEFORES) * (int)sizeof(REAL);
    const auto kernel = mhd_staged<T>;
    arch_tile_map from;
    arch_tile_map was;
    const int64_t planes = (int64_t)g.pitch_field / g.pitch_z * MHD_FIELDS;
    arch_region<REAL> region = {call.out, {g.nx, g.ny, planes}, g.pitch_y, g.pitch_z};
    hipError_t error = arch_tile_map_make(&was, region, T::TX, T::TY);
    if (error == hipSuccess) {
        region.first = call.in - STAGED_HALO - MHD_RADIUS * ((int64_t)g.pitch_y + g.pitch_z);
        region.cells[0] += STAGED_HALO + MHD_RADIUS;
        region.cells[1] += 2 * MHD_RADIUS;
        error = arch_tile_map_make(&from, region, T::PITCH, T::HEIGHT);
    }
    if (error == hipSuccess) {
        error = hipFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                    hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
    }
    if (error != hipSuccess) {
        return error;
    }
    kernel<<<columns_of<T>(g), T::THREADS, bytes, call.stream>>>(call.out, from, was, g,
                                                                 call.weights);
    return hipGetLastError();
}
#endif

/* ---- the variants of each kernel ---- */

enum kernel { CACHED, SHARED, STAGED };

template <typename REAL> struct mhd_entry {
    enum kernel kernel;
    int block[AXIS_COUNT];                            /* threads */
    int bounds;                                       /* launch bounds */
    hipError_t (*launch)(const mhd_call<REAL> &call); /* NULL: not on this chip */
};

template <typename REAL, int BOUNDS> static constexpr mhd_entry<REAL> cached(int x, int y, int z)
{
    return {CACHED, {x, y, z}, BOUNDS, launch_cached<REAL, BOUNDS>};
}

/* For chips with 256 registers per thread: on gfx90a such bounds would put registers in memory. */
template <typename REAL, int BOUNDS> static constexpr mhd_entry<REAL> lean(int x, int y, int z)
{
    if constexpr (ARCH_WAVE == 32) {
        return cached<REAL, BOUNDS>(x, y, z);
    }
    return {CACHED, {x, y, z}, BOUNDS, nullptr};
}

template <typename REAL, int TX, int TY, int BOUNDS> static constexpr mhd_entry<REAL> shared()
{
    return {SHARED, {TX, TY, 1}, BOUNDS, launch_shared<mhd_tile<REAL, TX, TY, BOUNDS, MHD_RADIUS>>};
}

template <typename REAL, int TX, int TY, int BOUNDS> static constexpr mhd_entry<REAL> staged()
{
#if ARCH_HAS_TILE_COPY
    return {
        STAGED, {TX, TY, 1}, BOUNDS, launch_staged<mhd_tile<REAL, TX, TY, BOUNDS, STAGED_HALO>>};
#else
    return {STAGED, {TX, TY, 1}, BOUNDS, nullptr};
#endif
}

template <typename REAL> struct mhd_table;
template <> struct mhd_table<double> {
    static constexpr mhd_entry<double> entries[] = {
        cached<double, 256>(32, 4, 2), cached<double, 256>(32, 8, 1), cached<double, 256>(64, 2, 2),
        cached<double, 256>(16, 4, 4), cached<double, 256>(8, 8, 4),  cached<double, 256>(32, 2, 2),
        lean<double, 384>(32, 4, 3),   lean<double, 384>(32, 2, 2),   lean<double, 512>(32, 4, 4),
        lean<double, 512>(16, 4, 4),   shared<double, 16, 4, 256>(),  shared<double, 8, 8, 256>(),
        staged<double, 32, 8, 256>()};
};
template <> struct mhd_table<float> {
    static constexpr mhd_entry<float> entries[] = {
        cached<float, 256>(32, 4, 2), cached<float, 256>(64, 2, 2), cached<float, 256>(16, 4, 4),
        cached<float, 384>(32, 4, 3), cached<float, 384>(32, 4, 2), cached<float, 512>(32, 4, 4),
        cached<float, 512>(32, 4, 2), cached<float, 512>(64, 2, 2), cached<float, 512>(32, 2, 2),
        shared<float, 16, 16, 256>(), shared<float, 32, 4, 256>(),  shared<float, 16, 8, 512>(),
        staged<float, 32, 16, 512>(), staged<float, 32, 8, 512>()};
};

static void make_weights(const struct study_problem *problem, struct mhd_weights_float64 *weights)
{
    mhd_make_weights_float64(problem, weights);
}

static void make_weights(const struct study_problem *problem, struct mhd_weights_float32 *weights)
{
    mhd_make_weights_float32(problem, weights);
}

template <typename REAL, int KERNEL> static int launch(void *to, void *, const study_call *what)
{
    const struct study_problem *problem = what->problem;
    const struct study_shape &shape = what->shape;
    const struct layout &l = problem->layout;
    mhd_call<REAL> call;
    call.stream = static_cast<hipStream_t>(to);
    call.grid = {(int)l.cells[0], (int)l.cells[1],           (int)l.cells[2], (int)l.pitch_y,
                 (int)l.pitch_z,  (int)problem->field_pitch, shape.items};
    call.block = threads_of(shape);
    call.out = static_cast<REAL *>(what->d_out) + l.origin;
    call.in = static_cast<const REAL *>(what->d_in) + l.origin;
    make_weights(problem, &call.weights);
    for (const mhd_entry<REAL> &entry : mhd_table<REAL>::entries) {
        if (entry.kernel == KERNEL && entry.launch != nullptr && entry.bounds == shape.bounds &&
            memcmp(entry.block, shape.block, sizeof entry.block) == 0 && shape.items > 0) {
            return entry.launch(call);
        }
    }
    return hipErrorInvalidValue;
}

/* Every variant, and for those of columns several depths. */
template <typename REAL>
static int list_shapes(int kernel, const struct study_problem *problem, struct study_shape *shapes)
{
    enum { LEAST_DEPTH = 16, MOST_COLUMNS = 8 };
    const int nz = (int)problem->layout.cells[AXIS_Z];
    const int most = kernel == CACHED ? 1 : MOST_COLUMNS;
    int count = 0;
    for (const mhd_entry<REAL> &entry : mhd_table<REAL>::entries) {
        if (entry.kernel != kernel || entry.launch == nullptr) {
            continue;
        }
        for (int columns = 1; columns <= most; columns *= 2) {
            if (columns > 1 && nz / columns < LEAST_DEPTH) {
                break;
            }
            shapes[count++] = {{entry.block[0], entry.block[1], entry.block[2]},
                               entry.bounds,
                               most > 1 ? (nz + columns - 1) / columns : 1};
        }
    }
    return count;
}

template <int KERNEL>
static int shapes_of(const struct study_problem *problem, struct study_shape *shapes)
{
    return problem->layout.precision == PRECISION_FLOAT64
               ? list_shapes<double>(KERNEL, problem, shapes)
               : list_shapes<float>(KERNEL, problem, shapes);
}

const struct study_kernel mhd_hip[] = {
    study_hip("cached", "a point per thread, neighbours from the caches",
              STUDY_BOTH(launch, CACHED), shapes_of<CACHED>),
    study_hip("shared", "columns of points, planes in shared memory", STUDY_BOTH(launch, SHARED),
              shapes_of<SHARED>),
    study_hip("staged", "the same, prefetched by the copy engine", STUDY_BOTH(launch, STAGED),
              shapes_of<STAGED>),
    {}};
