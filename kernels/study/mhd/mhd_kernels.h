/* Part of mhd_hip.hip.cpp: the kernels. All evaluate the expressions of mhd_point.h. */
#pragma once

/* first: it defines KERNEL_INLINE */
#include "kernels/hip/device/arch.h"

#include "kernels/study/mhd/mhd_point.h"

template <typename REAL> struct mhd;

#define DEFINE_MHD(REAL, suffix)                                                                   \
    template <> struct mhd<REAL> {                                                                 \
        typedef mhd_weights_##suffix weights;                                                      \
        typedef mhd_column_##suffix column;                                                        \
        static __device__ __forceinline__ void point(const REAL *at, ptrdiff_t f, ptrdiff_t y,     \
                                                     const column &c, const weights &w,            \
                                                     REAL *values)                                 \
        {                                                                                          \
            mhd_point_##suffix(at, f, y, &c, values, &w, values);                                  \
        }                                                                                          \
        static __device__ __forceinline__ void add_mixed(REAL *sums, const REAL *at, ptrdiff_t f,  \
                                                         ptrdiff_t y, int a, REAL sign,            \
                                                         const weights &w)                         \
        {                                                                                          \
            mhd_add_mixed_##suffix(sums, at, f, y, a, sign, &w);                                   \
        }                                                                                          \
        static __device__ __forceinline__ void column_at(const REAL *at, ptrdiff_t f, ptrdiff_t y, \
                                                         ptrdiff_t z, const weights &w, column &c) \
        {                                                                                          \
            mhd_column_at_##suffix(at, f, y, z, &w, &c);                                           \
        }                                                                                          \
    };
DEFINE_MHD(double, float64)
DEFINE_MHD(float, float32)

struct mhd_grid {
    int nx, ny, nz;
    int pitch_y, pitch_z, pitch_field;
    int depth; /* points of a column */
};

/* The values of a point, `pitch` apart from field to field. */
template <typename REAL>
static __device__ __forceinline__ void load_point(REAL *values, const REAL *from, ptrdiff_t pitch)
{
#pragma unroll
    for (int n = 0; n < MHD_FIELDS; n++) {
        values[n] = from[n * pitch];
    }
}

template <typename REAL>
static __device__ __forceinline__ void store(REAL *to, const REAL *values, ptrdiff_t pitch)
{
#pragma unroll
    for (int n = 0; n < MHD_FIELDS; n++) {
        arch_store_stream_cell(to + n * pitch, values[n]);
    }
}

/* A point per thread. */
template <typename REAL, int BOUNDS>
static __global__ __launch_bounds__(BOUNDS) void mhd_cached(REAL *__restrict__ out,
                                                            const REAL *__restrict__ in,
                                                            const mhd_grid g,
                                                            const typename mhd<REAL>::weights w)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int j = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    const int k = (int)(blockIdx.z * blockDim.z + threadIdx.z);
    if (i >= g.nx || j >= g.ny || k >= g.nz) {
        return;
    }
    const int64_t offset = i + (int64_t)j * g.pitch_y + (int64_t)k * g.pitch_z;
    const REAL *at = in + offset;
    typename mhd<REAL>::column c;
    REAL values[MHD_FIELDS];
    load_point(values, out + offset, g.pitch_field);
    mhd<REAL>::column_at(at, g.pitch_field, g.pitch_y, g.pitch_z, w, c);
    mhd<REAL>::point(at, g.pitch_field, g.pitch_y, c, w, values);
    store(out + offset, values, g.pitch_field);
}

/* ---- columns of points ---- */

/* What a thread keeps of the planes below the point: their values, and parts of the mixed
 * derivatives with z, to which every plane adds as it arrives. In the round with the highest plane
 * p, the point is in plane p - 3, `below` from p - 4 down, and sums[t] for plane p - 3 + t. */
template <typename REAL> struct marcher {
    REAL below[MHD_FIELDS][3];
    REAL sums[6][6];

    __device__ __forceinline__ void begin()
    {
#pragma unroll
        for (int t = 0; t < 6; t++) {
#pragma unroll
            for (int n = 0; n < 6; n++) {
                sums[t][n] = 0;
            }
        }
    }

    /* Add plane p; `mixed` of plane p - 3 is then complete. */
    __device__ __forceinline__ void add(const REAL *top, ptrdiff_t f, ptrdiff_t y,
                                        const typename mhd<REAL>::weights &w, REAL *mixed)
    {
        typedef mhd<REAL> m;
        m::add_mixed(sums[0], top, f, y, 3, 1, w);
        m::add_mixed(sums[1], top, f, y, 2, 1, w);
        m::add_mixed(sums[2], top, f, y, 1, 1, w);
        m::add_mixed(sums[4], top, f, y, 1, -1, w);
        m::add_mixed(sums[5], top, f, y, 2, -1, w);
#pragma unroll
        for (int n = 0; n < 6; n++) {
            mixed[n] = sums[0][n];
#pragma unroll
            for (int t = 0; t < 5; t++) {
                sums[t][n] = sums[t + 1][n];
            }
            sums[5][n] = 0;
        }
        m::add_mixed(sums[5], top, f, y, 3, -1, w);
    }

    /* `at`: the point's plane. */
    __device__ __forceinline__ void pass(const REAL *at, ptrdiff_t f)
    {
#pragma unroll
        for (int n = 0; n < MHD_FIELDS; n++) {
            below[n][2] = below[n][1];
            below[n][1] = below[n][0];
            below[n][0] = at[n * f];
        }
    }

    /* The column of the point, above which are three planes; the point is then passed. */
    __device__ __forceinline__ void column(typename mhd<REAL>::column &c, const REAL *at,
                                           const REAL *next, const REAL *after, const REAL *top,
                                           ptrdiff_t f)
    {
#pragma unroll
        for (int n = 0; n < MHD_FIELDS; n++) {
            c.below[n][0] = below[n][0];
            c.below[n][1] = below[n][1];
            c.below[n][2] = below[n][2];
            c.above[n][0] = next[n * f];
            c.above[n][1] = after[n * f];
            c.above[n][2] = top[n * f];
        }
        pass(at, f);
    }
};

/* A tile of TX x TY columns, one per thread, with planes in shared memory: [field][row][x]. */
template <typename REAL_, int TX_, int TY_, int BOUNDS_, int PAD_> struct mhd_tile {
    typedef REAL_ REAL;
    static constexpr int TX = TX_;
    static constexpr int TY = TY_;
    static constexpr int BOUNDS = BOUNDS_;
    static constexpr int PAD = PAD_; /* halo of a row, at least the radius */
    static constexpr int THREADS = TX * TY;
    static constexpr int PITCH = TX + 2 * PAD;
    static constexpr int HEIGHT = TY + 2 * MHD_RADIUS;
    static constexpr int CELLS = PITCH * HEIGHT;
    /* the copy engine writes to multiples of 128 bytes */
    static constexpr int FIELD = (CELLS * (int)sizeof(REAL) + 127) / 128 * 128 / (int)sizeof(REAL);
    static constexpr int PLANE = FIELD * MHD_FIELDS;
    static constexpr int BEFORE = TX * TY * MHD_FIELDS;
};

/* The slots of the planes p - 3 to p in a ring of N planes. */
template <int N> struct mhd_slots {
    int at = N - 3, next = N - 2, after = N - 1, top = 0;

    __device__ __forceinline__ int follower() const
    {
        return top + 1 == N ? 0 : top + 1;
    }
    __device__ __forceinline__ void advance()
    {
        at = next;
        next = after;
        after = top;
        top = follower();
    }
};

enum { SHARED_PLANES = 4 };

/* The threads copy the planes, one after the other. */
template <typename T>
static __global__ __launch_bounds__(T::BOUNDS) void mhd_shared(
    typename T::REAL *__restrict__ out, const typename T::REAL *__restrict__ in, const mhd_grid g,
    const typename mhd<typename T::REAL>::weights w)
{
    typedef typename T::REAL REAL;
    extern __shared__ __align__(128) unsigned char mhd_memory[];
    REAL *const ring = reinterpret_cast<REAL *>(mhd_memory);
    const int thread = (int)threadIdx.x;
    const int tx = thread % T::TX;
    const int ty = thread / T::TX;
    const int i = (int)blockIdx.x * T::TX;
    const int j = (int)blockIdx.y * T::TY;
    const int k = (int)blockIdx.z * g.depth;
    const int rounds = min(g.depth, g.nz - k) + 2 * MHD_RADIUS;
    const bool mine = i + tx < g.nx && j + ty < g.ny;
    const int64_t corner = i - T::PAD + (int64_t)(j - MHD_RADIUS) * g.pitch_y;
    const int here = T::PAD + tx + (MHD_RADIUS + ty) * T::PITCH;
    const int64_t point = i + tx + (int64_t)(j + ty) * g.pitch_y;
    mhd_slots<SHARED_PLANES> slots;
    marcher<REAL> state;
    state.begin();
    KERNEL_NO_UNROLL
    for (int round = 0; round < rounds; round++) {
        const REAL *from = in + corner + (int64_t)(k + round - MHD_RADIUS) * g.pitch_z;
        REAL *plane = ring + slots.top * T::PLANE;
        KERNEL_NO_UNROLL
        for (int n = thread; n < T::CELLS; n += T::THREADS) {
            const int x = n % T::PITCH;
            const int y = n / T::PITCH;
            if (i + x < g.nx + 2 * T::PAD && j + y < g.ny + 2 * MHD_RADIUS) {
                REAL values[MHD_FIELDS];
                load_point(values, from + x + (int64_t)y * g.pitch_y, g.pitch_field);
#pragma unroll
                for (int f = 0; f < MHD_FIELDS; f++) {
                    plane[f * T::FIELD + n] = values[f];
                }
            }
        }
        __syncthreads();
        const REAL *at = ring + here + slots.at * T::PLANE;
        const REAL *top = ring + here + slots.top * T::PLANE;
        typename mhd<REAL>::column c;
        state.add(top, T::FIELD, T::PITCH, w, c.mixed);
        if (round < 2 * MHD_RADIUS) {
            state.pass(at, T::FIELD);
        } else {
            REAL *to = out + point + (int64_t)(k + round - 2 * MHD_RADIUS) * g.pitch_z;
            REAL values[MHD_FIELDS] = {};
            if (mine) {
                load_point(values, to, g.pitch_field);
            }
            state.column(c, at, ring + here + slots.next * T::PLANE,
                         ring + here + slots.after * T::PLANE, top, T::FIELD);
            mhd<REAL>::point(at, T::FIELD, T::PITCH, c, w, values);
            if (mine) {
                store(to, values, g.pitch_field);
            }
        }
        slots.advance();
        __syncthreads();
    }
}

#if ARCH_HAS_TILE_COPY

enum { STAGED_PLANES = 5, STAGED_BEFORES = 2, STAGED_ROUNDS = 4 };
enum { STAGED_HALO = 4 }; /* of the region in x: 16-byte aligned */

/* The plane of a round and, from the first point on, what was before in the point's plane. */
template <typename T>
static __device__ __forceinline__ void fetch_plane(const arch_tile_map &from,
                                                   const arch_tile_map &was, const mhd_grid &g,
                                                   arch_arrivals *arrived, typename T::REAL *plane,
                                                   typename T::REAL *before, int i, int j, int k,
                                                   int round)
{
    const int point = round - 2 * MHD_RADIUS; /* its plane, from k on */
    const int planes = g.pitch_field / g.pitch_z;
    const int cells = T::CELLS * MHD_FIELDS + (point >= 0 ? T::BEFORE : 0);
    arch_arrive_with_bytes(arrived, (uint32_t)cells * (uint32_t)sizeof(typename T::REAL));
    KERNEL_NO_UNROLL
    for (int n = 0; n < MHD_FIELDS; n++) {
        arch_tile_copy(plane + n * T::FIELD, from, arrived, i + STAGED_HALO - T::PAD, j,
                       k + round + n * planes);
        if (point >= 0) {
            arch_tile_copy(before + n * (T::TX * T::TY), was, arrived, i, j,
                           k + point + n * planes);
        }
    }
}

/* As mhd_shared, with planes, and what was before, fetched while a round runs. A wave is at most
 * one round ahead of another: no barrier of the whole block. */
template <typename T>
static __global__ __launch_bounds__(T::BOUNDS) void mhd_staged(
    typename T::REAL *__restrict__ out, const __grid_constant__ arch_tile_map from,
    const __grid_constant__ arch_tile_map was, const mhd_grid g,
    const __grid_constant__ typename mhd<typename T::REAL>::weights w)
{
    typedef typename T::REAL REAL;
    extern __shared__ __align__(128) unsigned char mhd_memory[];
    /* of a plane, by slot; of the waves that have ended a round */
    __shared__ arch_arrivals full[STAGED_PLANES], done[STAGED_ROUNDS];
    REAL *const ring = reinterpret_cast<REAL *>(mhd_memory);
    REAL *const before = ring + T::PLANE * STAGED_PLANES;
    const int thread = (int)threadIdx.x;
    const int tx = thread % T::TX;
    const int ty = thread / T::TX;
    const int i = (int)blockIdx.x * T::TX;
    const int j = (int)blockIdx.y * T::TY;
    const int k = (int)blockIdx.z * g.depth;
    const int rounds = min(g.depth, g.nz - k) + 2 * MHD_RADIUS;
    if (thread == 0) {
        for (int n = 0; n < STAGED_PLANES; n++) {
            arch_arrivals_init(&full[n], 1);
        }
        for (int n = 0; n < STAGED_ROUNDS; n++) {
            arch_arrivals_init(&done[n], T::THREADS / ARCH_WAVE);
        }
        arch_arrivals_publish();
    }
    __syncthreads();
    const auto fetch = [&](int round, int slot) {
        fetch_plane<T>(from, was, g, &full[slot], ring + slot * T::PLANE,
                       before + (round & 1) * T::BEFORE, i, j, k, round);
    };
    if (thread == 0) {
        KERNEL_NO_UNROLL
        for (int n = 0; n < STAGED_PLANES; n++) {
            fetch(n, n);
        }
    }
    __syncwarp(); /* the first lane issues copies while no other lane of its wave runs */
    const int here = T::PAD + tx + (MHD_RADIUS + ty) * T::PITCH;
    REAL *to = out + i + tx + (int64_t)(j + ty) * g.pitch_y + (int64_t)k * g.pitch_z;
    mhd_slots<STAGED_PLANES> slots;
    unsigned parity = 0;
    marcher<REAL> state;
    state.begin();
    KERNEL_NO_UNROLL
    for (int round = 0; round < rounds; round++) {
        const int next = round + 1;
        if (thread < ARCH_WAVE && next >= STAGED_PLANES && next < rounds) {
            const int last = round - 1; /* the last to read the slot */
            arch_arrivals_wait(&done[last % STAGED_ROUNDS], (unsigned)(last / STAGED_ROUNDS) & 1U);
            if (thread == 0) {
                fetch(next, slots.follower());
            }
            __syncwarp();
        }
        arch_arrivals_wait(&full[slots.top], parity);
        const REAL *at = ring + here + slots.at * T::PLANE;
        const REAL *top = ring + here + slots.top * T::PLANE;
        typename mhd<REAL>::column c;
        state.add(top, T::FIELD, T::PITCH, w, c.mixed);
        if (round < 2 * MHD_RADIUS) {
            state.pass(at, T::FIELD);
        } else {
            REAL values[MHD_FIELDS];
            load_point(values, before + (round & 1) * T::BEFORE + thread, T::TX * T::TY);
            state.column(c, at, ring + here + slots.next * T::PLANE,
                         ring + here + slots.after * T::PLANE, top, T::FIELD);
            mhd<REAL>::point(at, T::FIELD, T::PITCH, c, w, values);
            if (i + tx < g.nx && j + ty < g.ny) {
                store(to, values, g.pitch_field);
            }
            to += g.pitch_z;
        }
        slots.advance();
        parity ^= slots.top == 0 ? 1U : 0U;
        arch_reads_before_tile_copy();
        __syncwarp();
        if (arch_is_first_lane()) {
            arch_arrive(&done[round % STAGED_ROUNDS]);
        }
    }
}

#endif
