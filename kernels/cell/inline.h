/* Mathematics, and functions that must be inlined, because their arguments are constants in the
 * caller or their results are vectors. HIP sources include kernels/hip/device/arch.h first, which
 * defines it for devices. */
#pragma once

#ifdef __cplusplus
#include <cmath>
#else
#include <math.h>
#endif

#ifndef KERNEL_INLINE
#define KERNEL_INLINE static inline __attribute__((always_inline, unused))
#endif

/* The names of a function for each precision; in C++ they are one name with overloads. */
#ifdef __cplusplus
#define KERNEL_FLOAT64(name) name
#define KERNEL_FLOAT32(name) name
#else
#define KERNEL_FLOAT64(name) name##_float64
#define KERNEL_FLOAT32(name) name##_float32
#endif

/* Before a loop that runs rarely. */
#ifndef KERNEL_NO_UNROLL
#define KERNEL_NO_UNROLL
#endif
