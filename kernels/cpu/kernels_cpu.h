/* The CPU kernels as synchronous functions on host memory, for the backends `cpu` and `guard`.
 * Contracts as in operations.h. */
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/schedule/share.h"

/* The step kernels: X(name, description for `bench kernels`). The production kernel is one of them,
 * with tiles of a suitable height. */
#define CPU_STEP_VARIANTS(X)                                                                       \
    X(ahead, "tiles, streaming stores, prefetching the rows of the next plane")                    \
    X(wide, "the same into the L2 cache, in vectors of 64 bytes, where available")                 \
    X(planes, "`ahead` in vectors of 64 bytes and three planes at once, where available")

#define CPU_DECLARE_STEP(name, about) step_function cpu_step_##name;
CPU_STEP_VARIANTS(CPU_DECLARE_STEP)
#undef CPU_DECLARE_STEP
step_function cpu_laplacian;
#define CPU_LAPLACIAN "laplacian", "f = lap(u), 7 points"

#define CPU_DECLARE(name)                                                                          \
    enum status cpu_##name(struct queue *queue, const struct name##_args *args);
OPERATIONS(CPU_DECLARE)
#undef CPU_DECLARE

/* Rows of convert, liquid_fraction, and of flux_squared of an enthalpy. */
row_function cpu_convert_row_float64, cpu_liquid_row_float64, cpu_nonlinear_flux_row_float64;
row_function cpu_convert_row_float32, cpu_liquid_row_float32, cpu_nonlinear_flux_row_float32;

/* The sum that add_bits adds, of one box, by one thread. */
uint32_t cpu_bits_of(const struct add_bits_args *args, const struct box *box);

void cpu_copy(void *to, const void *from, size_t bytes); /* all threads, streaming stores */
void cpu_fill_nan(void *memory, size_t bytes);           /* all threads: first touch */
