/* Part of staged/steps_*.hip.cpp: stores with a predicate instead of a branch, and values that
 * the compiler takes as they are. */
#pragma once

#include "kernels/hip/device/arch.h"

#if ARCH_HAS_TILE_COPY

static __device__ __forceinline__ void store_stream_if(bool on, double *to,
                                                       const vec16<double> &from)
{
    asm volatile(
        "{.reg .pred p;\nsetp.ne.s32 p, %3, 0;\n@p st.global.cs.v2.f64 [%0], {%1,%2};}" ::"l"(to),
        "d"(from.v[0]), "d"(from.v[1]), "r"((int)on));
}

static __device__ __forceinline__ void store_stream_if(bool on, float *to, const vec16<float> &from)
{
    asm volatile("{.reg .pred p;\nsetp.ne.s32 p, %5, 0;\n"
                 "@p st.global.cs.v4.f32 [%0], {%1,%2,%3,%4};}" ::"l"(to),
                 "f"(from.v[0]), "f"(from.v[1]), "f"(from.v[2]), "f"(from.v[3]), "r"((int)on));
}

static __device__ __forceinline__ void store_if(bool on, double *to, double from)
{
    asm volatile("{.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p st.global.f64 [%0], %1;}" ::"l"(to),
                 "d"(from), "r"((int)on));
}

static __device__ __forceinline__ void store_if(bool on, float *to, float from)
{
    asm volatile("{.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p st.global.f32 [%0], %1;}" ::"l"(to),
                 "f"(from), "r"((int)on));
}

template <int SIGN>
static __device__ __forceinline__ void add_words_if(bool on, uint32_t &sum, uint32_t a, uint32_t b,
                                                    uint32_t c, uint32_t d)
{
    const uint32_t all = a + b + c + d;
    const uint32_t with = SIGN > 0 ? sum + all : sum - all;
    asm("{.reg .pred p;\nsetp.ne.s32 p, %2, 0;\n@p mov.u32 %0, %1;}"
        : "+r"(sum)
        : "r"(with), "r"((int)on));
}

/* Add the bits of cells to a sum, or subtract them: two instructions, and no branch. */
template <int SIGN>
static __device__ __forceinline__ void add_bits_if(bool on, uint32_t &sum, const vec16<double> &of)
{
    const uint64_t a = (uint64_t)__double_as_longlong(of.v[0]);
    const uint64_t b = (uint64_t)__double_as_longlong(of.v[1]);
    add_words_if<SIGN>(on, sum, (uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32));
}

template <int SIGN>
static __device__ __forceinline__ void add_bits_if(bool on, uint32_t &sum, const vec16<float> &of)
{
    add_words_if<SIGN>(on, sum, bits_in(of.v[0]), bits_in(of.v[1]), bits_in(of.v[2]),
                       bits_in(of.v[3]));
}

/* Add a number of each lane to shared memory. All lanes of a wave call. */
static __device__ __forceinline__ void add_wave_shared(uint32_t to, uint32_t mine)
{
    asm volatile("{.reg .pred p;\n.reg .u32 lane, all;\n"
                 "redux.sync.add.u32 all, %1, 0xffffffff;\nmov.u32 lane, %%laneid;\n"
                 "setp.eq.u32 p, lane, 0;\n@p red.shared.add.u32 [%0], all;}" ::"r"(to),
                 "r"(mine));
}

static __device__ __forceinline__ void store_shared(uint32_t to, const vec16<double> &from)
{
    asm volatile("st.shared.v2.f64 [%0], {%1,%2};" ::"r"(to), "d"(from.v[0]), "d"(from.v[1]));
}

static __device__ __forceinline__ void store_shared(uint32_t to, const vec16<float> &from)
{
    asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(to), "f"(from.v[0]), "f"(from.v[1]),
                 "f"(from.v[2]), "f"(from.v[3]));
}

/* Not combined with others by the compiler, which would else keep rows in registers. */
static __device__ __forceinline__ vec16<double> load_shared(uint32_t from, vec16<double> to)
{
    asm volatile("ld.shared.v2.f64 {%0,%1}, [%2];" : "=d"(to.v[0]), "=d"(to.v[1]) : "r"(from));
    return to;
}

static __device__ __forceinline__ vec16<float> load_shared(uint32_t from, vec16<float> to)
{
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(to.v[0]), "=f"(to.v[1]), "=f"(to.v[2]), "=f"(to.v[3])
                 : "r"(from));
    return to;
}

/* Two numbers of a table. */
template <typename REAL> struct alignas(2 * sizeof(REAL)) pair_of {
    REAL a, b;
};

/* Tables do not change while a kernel runs: the compiler may move these loads. */
static __device__ __forceinline__ double load_table(uint32_t from, double to)
{
    asm("ld.shared.f64 %0, [%1];" : "=d"(to) : "r"(from));
    return to;
}

static __device__ __forceinline__ float load_table(uint32_t from, float to)
{
    asm("ld.shared.f32 %0, [%1];" : "=f"(to) : "r"(from));
    return to;
}

static __device__ __forceinline__ pair_of<double> load_table(uint32_t from, pair_of<double> to)
{
    asm("ld.shared.v2.f64 {%0,%1}, [%2];" : "=d"(to.a), "=d"(to.b) : "r"(from));
    return to;
}

static __device__ __forceinline__ pair_of<float> load_table(uint32_t from, pair_of<float> to)
{
    asm("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(to.a), "=f"(to.b) : "r"(from));
    return to;
}

/* What load_bytes loads with this token it does not load before. */
static __device__ __forceinline__ int begin_reads(void)
{
    int token;
    asm volatile("mov.u32 %0, 0;" : "=r"(token)::"memory");
    return token;
}

/* 1, 2 or 4 bytes. */
template <int BYTES> static __device__ __forceinline__ uint32_t load_bytes(uint32_t from, int token)
{
    uint32_t to;
    if (BYTES == 1) {
        asm("ld.shared.u8 %0, [%1];" : "=r"(to) : "r"(from), "r"(token));
    } else if (BYTES == 2) {
        asm("ld.shared.u16 %0, [%1];" : "=r"(to) : "r"(from), "r"(token));
    } else {
        asm("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(from), "r"(token));
    }
    return to;
}

/* The same value in all lanes, but the compiler computes from it again instead of keeping in
 * registers what it already has. */
static __device__ __forceinline__ int forget(int value)
{
    asm volatile("redux.sync.max.s32 %0, %0, 0xffffffff;" : "+r"(value));
    return value;
}

#endif
