/* The study `mhd` on GPUs: launches. */
#include "kernels/study/mhd_kernels.h"

#include "kernels/study/mhd_hip.h"

static unsigned parts(int n, int size)
{
    return (unsigned)((n + size - 1) / size);
}

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

template <typename REAL> struct mhd_entry {
    enum hip_mhd kernel;
    hip_mhd_variant variant;
    hipError_t (*launch)(const mhd_call<REAL> &call); /* NULL: not on this chip */
};

template <typename REAL, int BOUNDS> static constexpr mhd_entry<REAL> cached(int x, int y, int z)
{
    return {HIP_MHD_CACHED, {{x, y, z}, BOUNDS}, launch_cached<REAL, BOUNDS>};
}

/* For chips with 256 registers per thread: on gfx90a such bounds would put registers in memory. */
template <typename REAL, int BOUNDS> static constexpr mhd_entry<REAL> lean(int x, int y, int z)
{
    if constexpr (ARCH_WAVE == 32) {
        return cached<REAL, BOUNDS>(x, y, z);
    }
    return {HIP_MHD_CACHED, {{x, y, z}, BOUNDS}, nullptr};
}

template <typename REAL, int TX, int TY, int BOUNDS> static constexpr mhd_entry<REAL> shared()
{
    return {HIP_MHD_SHARED,
            {{TX, TY, 1}, BOUNDS},
            launch_shared<mhd_tile<REAL, TX, TY, BOUNDS, MHD_RADIUS>>};
}

template <typename REAL, int TX, int TY, int BOUNDS> static constexpr mhd_entry<REAL> staged()
{
    return
    {
        HIP_MHD_STAGED, {{TX, TY, 1}, BOUNDS},
#if ARCH_HAS_TILE_COPY
            launch_staged<mhd_tile<REAL, TX, TY, BOUNDS, STAGED_HALO>>
    };
#else
            nullptr
    };
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

template <typename REAL>
static bool find_variant(enum hip_mhd kernel, int index, hip_mhd_variant *variant)
{
    for (const mhd_entry<REAL> &entry : mhd_table<REAL>::entries) {
        if (entry.kernel == kernel && entry.launch != nullptr && index-- == 0) {
            *variant = entry.variant;
            return true;
        }
    }
    return false;
}

bool hip_mhd_variant_at(enum hip_mhd kernel, enum precision precision, int index,
                        struct hip_mhd_variant *variant)
{
    return precision == PRECISION_FLOAT64 ? find_variant<double>(kernel, index, variant)
                                          : find_variant<float>(kernel, index, variant);
}

template <typename REAL>
static hipError_t launch(hipStream_t stream, const struct study_problem *problem,
                         const struct study_shape *shape, const void *weights, void *d_out,
                         const void *d_in, enum hip_mhd kernel)
{
    const struct layout &l = problem->layout;
    mhd_call<REAL> call;
    call.stream = stream;
    call.grid = {(int)l.cells[0], (int)l.cells[1],           (int)l.cells[2], (int)l.pitch_y,
                 (int)l.pitch_z,  (int)problem->field_pitch, shape->items};
    call.block =
        dim3((unsigned)shape->block[0], (unsigned)shape->block[1], (unsigned)shape->block[2]);
    call.out = static_cast<REAL *>(d_out) + l.origin;
    call.in = static_cast<const REAL *>(d_in) + l.origin;
    call.weights = *static_cast<const typename mhd<REAL>::weights *>(weights);
    if (shape->items < 1) {
        return hipErrorInvalidValue;
    }
    for (const mhd_entry<REAL> &entry : mhd_table<REAL>::entries) {
        const hip_mhd_variant &v = entry.variant;
        if (entry.kernel == kernel && entry.launch != nullptr && v.bounds == shape->bounds &&
            v.block[0] == shape->block[0] && v.block[1] == shape->block[1] &&
            v.block[2] == shape->block[2]) {
            return entry.launch(call);
        }
    }
    return hipErrorInvalidValue;
}

hipError_t hip_launch_mhd(hipStream_t stream, const struct study_problem *problem,
                          const struct study_shape *shape, const void *weights, void *d_out,
                          const void *d_in, enum hip_mhd kernel)
{
    return problem->layout.precision == PRECISION_FLOAT64
               ? launch<double>(stream, problem, shape, weights, d_out, d_in, kernel)
               : launch<float>(stream, problem, shape, weights, d_out, d_in, kernel);
}
