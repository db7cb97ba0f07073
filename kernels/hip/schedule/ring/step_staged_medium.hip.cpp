/* The staged step kernel in a medium of classes: as step_staged.hip.cpp, and the copy engine loads
 * the classes of a tile into the same stage. */
#include "kernels/hip/schedule/ring/staged_launch.h"
#include "kernels/hip/schedule/ring/staged_medium.h"
#include "kernels/hip/schedule/ring/staged_sums.h"

/* sigma, q and g of all axes, or of one where they are the same */
static int64_t table_bytes_of(const struct device_medium *medium, enum precision precision)
{
    const int64_t n = medium->nclasses;
    return (2 * n + (medium->same_axes ? 1 : 3) * n * n) * (int64_t)precision_bytes(precision);
}

#if ARCH_HAS_TILE_COPY

/* --- the kernel ------------------------------------------------------------------------------ */

/* Copy the table, and set the classes of rows that no tile has to 0, for lookups of lanes outside
 * the box. All threads; before the ring is used. */
template <typename S>
static __device__ __forceinline__ void prepare(char *shared, const work &w,
                                               const medium<typename S::REAL> &m, int table_length)
{
    typedef typename S::REAL REAL;
    REAL *table = reinterpret_cast<REAL *>(shared + w.ring_bytes);
    for (int at = (int)threadIdx.x; at < table_length; at += (int)blockDim.x) {
        table[at] = m.table[at];
    }
    const int words = S::SUBTILES * w.class_sub / 4;
    for (int stage = 0; stage < w.stages; stage++) {
        uint32_t *classes = reinterpret_cast<uint32_t *>(reinterpret_cast<REAL *>(shared) +
                                                         stage * w.stage_cells + w.class_cells);
        for (int at = (int)threadIdx.x; at < words; at += (int)blockDim.x) {
            classes[at] = 0;
        }
    }
    arch_reads_before_tile_copy();
}

template <typename S, bool TABLE>
static __global__ __launch_bounds__(S::THREADS, S::BLOCKS) void step_staged_medium(
    const __grid_constant__ arch_tile_map map, const __grid_constant__ arch_tile_map class_map,
    const grid_view<typename S::REAL> view, const rules<typename S::REAL> rules,
    const medium<typename S::REAL> m, const work w, int table_length)
{
    typedef typename S::REAL REAL;
    extern __shared__ __attribute__((aligned(128))) char shared[];
    __shared__ arch_arrivals filled[MOST_STAGES];
    __shared__ arch_arrivals emptied[MOST_STAGES];
    __shared__ arch_arrivals closed[MOST_STAGES];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < w.stages; stage++) {
            arch_arrivals_init(&closed[stage], 1);
        }
    }
    prepare<S>(shared, w, m, TABLE ? table_length : 0);
    const stage_ring<S> ring =
        ring_begin<S>(shared, filled, emptied, w, w.waves + 1 + (rules.sums ? 1 : 0));
    if (threadIdx.x < (unsigned)w.waves * ARCH_WAVE) {
        if (TABLE) {
            const pairs<REAL> of =
                pairs_of(reinterpret_cast<const REAL *>(shared + w.ring_bytes), m.n, m.same_axes);
            march_medium_all<S>(view, m, of, rules, ring, closed, w);
        } else {
            march_medium_all<S>(view, m, pairs_of(m.table, m.n, m.same_axes), rules, ring, closed,
                                w);
        }
    } else if (threadIdx.x == S::WORKERS) {
        const uint32_t bytes =
            S::SUBTILES * (w.height + 2) * (S::PITCH * (int)sizeof(REAL) + S::CLASS_PITCH);
        fetch_all<S>(ring, w, rules.scratch->pace, bytes,
                     [&](const stage_ring<S> &at, const column &c, int plane) {
                         fetch_cells<S>(at, map, w, c, plane);
                         uint8_t *classes = reinterpret_cast<uint8_t *>(at.stage() + w.class_cells);
                         for (int sub = 0; sub < S::SUBTILES; sub++) {
                             arch_tile_copy(classes + sub * w.class_sub, class_map,
                                            &at.filled[at.slot], c.i + sub * S::SUB_X, c.j,
                                            c.k_begin + plane);
                         }
                     });
    } else if (threadIdx.x >= S::WORKERS + 2 * ARCH_WAVE) {
        close_all<S>(view, m, rules, ring, closed, w,
                     (int)(threadIdx.x - S::WORKERS) / ARCH_WAVE - 2);
    } else if (threadIdx.x >= S::WORKERS + ARCH_WAVE && rules.sums) {
        /* the closers sum over the other faces */
        sum_all<S, false>(view, rules, ring, w, [&](const REAL *stage, const column &c, int k) {
            return medium_view<S>{stage, w, c, m, k};
        });
    }
    if (rules.sums || w.groups > 0) {
        finish(rules, w);
    }
}

/* --- the launch ------------------------------------------------------------------------------ */

/* The classes with one layer of halo on every axis, and from 16 bytes before each row on. */
template <typename S>
static arch_region<uint8_t> region_of_classes(const struct device_medium *args)
{
    const struct layout *l = &args->layout;
    arch_region<uint8_t> region = {};
    region.first = args->d_class + l->origin - S::CLASS_PAD - l->pitch_y - l->pitch_z;
    region.cells[0] = S::CLASS_PAD + l->cells[0] + 1;
    region.cells[1] = l->cells[1] + 2;
    region.cells[2] = l->cells[2] + 2;
    region.pitch_y = l->pitch_y;
    region.pitch_z = l->pitch_z;
    return region;
}

template <typename S, bool TABLE>
static hipError_t launch(hipStream_t stream, struct hip_scratch *d_scratch,
                         const struct layout *layout, const struct coefficients *args, void *d_out,
                         const void *d_in, const struct box *box, int table_bytes, bool paced,
                         const struct hip_launch_shape *launch_shape)
{
    typedef typename S::REAL REAL;
    static int64_t blocks_at_a_time = 0; /* a process has one device */
    if (blocks_at_a_time == 0) {
        int64_t blocks = 0;
        const hipError_t error = blocks_of_device<S>(
            reinterpret_cast<const void *>(step_staged_medium<S, TABLE>), &blocks);
        if (error != hipSuccess) {
            return error;
        }
        blocks_at_a_time = blocks;
    }
    const grid_view<REAL> view = view_of<REAL>(layout, d_out, d_in);
    const rules<REAL> rules = rules_of<REAL>(args, d_scratch);
    const medium<REAL> m = medium_of<REAL>(&args->medium);
    const int ring_bytes = (S::SHARED_BYTES - table_bytes) / 128 * 128;
    work w = work_of<S>(box, blocks_at_a_time, ring_bytes, paced, launch_shape);
    arch_tile_map map;
    arch_tile_map class_map;
    const arch_region<REAL> region = region_of<REAL>(view, rules, w);
    const arch_region<uint8_t> class_region = region_of_classes<S>(&args->medium);
    hipError_t error = arch_tile_map_make(&map, region, S::PITCH, w.height + 2);
    if (error == hipSuccess) {
        error = arch_tile_map_make(&class_map, class_region, S::CLASS_PITCH, w.height + 2);
    }
    if (error != hipSuccess) {
        return error;
    }
    const int64_t nblocks = w.items < blocks_at_a_time ? w.items : blocks_at_a_time;
    step_staged_medium<S, TABLE><<<(unsigned)nblocks, S::THREADS, S::SHARED_BYTES, stream>>>(
        map, class_map, view, rules, m, w, table_bytes / (int)sizeof(REAL));
    return hipGetLastError();
}

/* A table that leaves room for the ring. */
enum { MOST_TABLE_BYTES = 100 * 1024 };

template <typename S>
static hipError_t launch_medium(hipStream_t stream, struct hip_scratch *d_scratch,
                                const struct layout *layout, const struct coefficients *args,
                                void *d_out, const void *d_in, const struct box *box, bool paced,
                                const struct hip_launch_shape *shape)
{
    const int64_t table_bytes = table_bytes_of(&args->medium, layout->precision);
    return table_bytes <= MOST_TABLE_BYTES
               ? launch<S, true>(stream, d_scratch, layout, args, d_out, d_in, box,
                                 (int)table_bytes, paced, shape)
               : launch<S, false>(stream, d_scratch, layout, args, d_out, d_in, box, 0, paced,
                                  shape);
}

#define DEFINE_STAGED(name, paced)                                                                 \
    hipError_t hip_launch_step_##name(                                                             \
        hipStream_t stream, struct hip_scratch *d_scratch, const struct layout *layout,            \
        const struct coefficients *args, void *d_out, const void *d_in, const struct box *box,     \
        const struct hip_launch_shape *shape)                                                      \
    {                                                                                              \
        return layout->precision == PRECISION_FLOAT64                                              \
                   ? launch_medium<medium_shape<double, 1, 128, 16, 4, 1>>(                        \
                         stream, d_scratch, layout, args, d_out, d_in, box, paced, shape)          \
                   : launch_medium<medium_shape<float, 2, 128, 16, 4, 1>>(                         \
                         stream, d_scratch, layout, args, d_out, d_in, box, paced, shape);         \
    }
DEFINE_STAGED(medium_free, false)
DEFINE_STAGED(medium_deep, true)

#else

#define DEFINE_STAGED(name)                                                                        \
    hipError_t hip_launch_step_##name(hipStream_t, struct hip_scratch *, const struct layout *,    \
                                      const struct coefficients *, void *, const void *,           \
                                      const struct box *, const struct hip_launch_shape *)         \
    {                                                                                              \
        return hipErrorNotSupported;                                                               \
    }
DEFINE_STAGED(medium_free)
DEFINE_STAGED(medium_deep)

#endif

bool hip_step_medium_takes(const struct device_medium *medium)
{
    const struct layout *l = &medium->layout;
    const uintptr_t first = reinterpret_cast<uintptr_t>(medium->d_class) + (uintptr_t)l->origin;
    return first % 16 == 0 && l->origin >= 16 + l->pitch_y + l->pitch_z && l->pitch_y > 0 &&
           l->pitch_z > 0 && l->pitch_y % 16 == 0 && l->pitch_z % 16 == 0;
}
