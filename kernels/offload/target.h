/* What every file with target regions includes first, since it redefines memcpy. */
#ifndef ISOTHERM_KERNELS_OFFLOAD_TARGET_H
#define ISOTHERM_KERNELS_OFFLOAD_TARGET_H

#include <omp.h>
#include <string.h>

#include "kernels/inline.h"

/* A directive whose text may contain macros. */
#define TARGET(...) TARGET_TEXT(__VA_ARGS__)
#define TARGET_TEXT(...) _Pragma(#__VA_ARGS__)

/* One iteration per thread of the device, in any order. */
#define TARGET_LOOP omp target teams distribute parallel for

/* For a device, clang 15 calls memcpy, and no library there has it. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)

#endif
