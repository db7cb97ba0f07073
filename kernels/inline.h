/* Functions of kernels, which must become part of their callers: their arguments are constants
 * there, or their results vectors. HIP sources bring kernels/hip/arch.h first, which says the same
 * for a device. */
#ifndef ISOTHERM_KERNELS_INLINE_H
#define ISOTHERM_KERNELS_INLINE_H

#ifndef KERNEL_INLINE
#define KERNEL_INLINE static inline __attribute__((always_inline, unused))
#endif

#endif
