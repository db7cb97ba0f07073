/* What every file with target regions includes first, since it redefines memcpy. */
#ifndef ISOTHERM_KERNELS_OFFLOAD_TARGET_H
#define ISOTHERM_KERNELS_OFFLOAD_TARGET_H

#include <omp.h>
#include <string.h>

#include "kernels/inline.h"

/* A directive whose text may contain macros. */
#define TARGET(...) TARGET_TEXT(__VA_ARGS__)
#define TARGET_TEXT(...) _Pragma(#__VA_ARGS__)

/* One iteration per thread of the device, in any order. For gcc a thread is a wave, and its lanes
 * take iterations of a loop over vectors: LANES, along the rows of TARGET_ROWS(loops around them).
 * clang takes iterations of all loops alike. */
#ifdef __clang__
#define TARGET_LOOP omp target teams distribute parallel for
#define TARGET_ROWS(loops) TARGET_LOOP collapse(loops + 1)
#define TEAM_LOOP omp parallel for
#define LANES
#else
#define TARGET_LOOP omp target teams distribute parallel for simd
#define TARGET_ROWS(loops) omp target teams distribute parallel for collapse(loops)
#define TEAM_LOOP omp parallel for simd
#define LANES TARGET(omp simd)
#endif

/* For a device, clang 15 calls memcpy, and no library there has it. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)

#endif
