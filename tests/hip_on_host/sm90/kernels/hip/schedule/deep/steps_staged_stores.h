/* In place of kernels/hip/schedule/deep/steps_staged_stores.h: the same functions on the host. */
#pragma once

#include "kernels/hip/device/arch.h"

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

static inline int forget(int value)
{
    return hip_on_host::same_in_wave("forget", value);
}
