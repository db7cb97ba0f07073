/* Part of steps_staged_*.hip.cpp: stores with a predicate instead of a branch, and values that
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

/* The same value in all lanes, but the compiler computes from it again instead of keeping in
 * registers what it already has. */
static __device__ __forceinline__ int forget(int value)
{
    asm volatile("redux.sync.max.s32 %0, %0, 0xffffffff;" : "+r"(value));
    return value;
}

#endif
