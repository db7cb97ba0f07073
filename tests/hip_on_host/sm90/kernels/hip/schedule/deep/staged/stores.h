/* In place of kernels/hip/schedule/deep/staged/stores.h: the same functions on the host. */
#pragma once

#include "kernels/hip/device/arch.h"

template <int SIGN, typename REAL>
static void add_bits_if(bool on, uint32_t &sum, const vec16<REAL> &of)
{
    for (int i = 0; i < vec16<REAL>::N; i++) {
        sum += on ? (uint32_t)SIGN * bits_in(of.v[i]) : 0;
    }
}

static inline void add_wave_shared(uint32_t to, uint32_t mine)
{
    const uint32_t all = (uint32_t)arch_wave_sum((long long)mine);
    if (arch_is_first_lane()) {
        atomicAdd((uint32_t *)hip_on_host::shared_at(to, sizeof all), all);
    }
}

template <typename REAL> static void store_stream_if(bool on, REAL *to, const vec16<REAL> &from)
{
    if (on) {
        *reinterpret_cast<vec16<REAL> *>(to) = from;
    }
}

template <typename REAL> static void store_if(bool on, REAL *to, REAL from)
{
    if (on) {
        *to = from;
    }
}

template <typename REAL> static void store_shared(uint32_t to, const vec16<REAL> &from)
{
    memcpy(hip_on_host::shared_at(to, sizeof from), &from, sizeof from);
}

/* The second argument names the type. */
template <typename T> static T load_shared(uint32_t from, T value)
{
    memcpy(&value, hip_on_host::shared_at(from, sizeof value), sizeof value);
    return value;
}

template <typename REAL> struct alignas(2 * sizeof(REAL)) pair_of {
    REAL a, b;
};

template <typename T> static T load_table(uint32_t from, T value)
{
    return load_shared(from, value);
}

static inline int begin_reads(void)
{
    return 0;
}

template <int BYTES> static uint32_t load_bytes(uint32_t from, int)
{
    uint32_t value = 0;
    memcpy(&value, hip_on_host::shared_at(from, BYTES), BYTES);
    return value;
}

static inline int forget(int value)
{
    return hip_on_host::same_in_wave("forget", value);
}
