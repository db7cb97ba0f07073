/* The cpu kernels as plain synchronous functions on host memory: what the backends `cpu` and
 * `guard` put on their queues. Contracts as in backend.h. */
#ifndef ISOTHERM_KERNELS_CPU_KERNELS_CPU_H
#define ISOTHERM_KERNELS_CPU_KERNELS_CPU_H

#include "kernels/backend.h"

typedef void cpu_step_function(const struct layout *layout, const struct step_args *args, void *out,
                               const void *in, const struct box *boxes, int nboxes);

/* The step kernels: name, and what `bench kernels` says of it. Each adds one idea to the one
 * before; the last is the production kernel. X(name, about) */
#define CPU_STEP_VARIANTS(X)                                                                       \
    X(plain, "row by row, SIMD, ordinary stores")                                                  \
    X(streaming, "non-temporal stores, neighbours in x from registers")                            \
    X(tiled, "and in tiles whose planes stay in the second-level cache")                           \
    X(production, "and fetching the rows of the next plane ahead of use")

#define CPU_DECLARE_STEP(name, about) cpu_step_function cpu_step_##name;
CPU_STEP_VARIANTS(CPU_DECLARE_STEP)
#undef CPU_DECLARE_STEP

void cpu_pack(const struct layout *layout, const void *field, const struct box *box, void *buffer);
void cpu_unpack(const struct layout *layout, const void *buffer, const struct box *box,
                void *field);
void cpu_copy(void *to, const void *from, size_t bytes); /* all threads, streaming stores */
void cpu_fill_nan(void *memory, size_t bytes);           /* all threads: first touch */
void cpu_summarise(const struct layout *layout, const struct placement *placement,
                   const void *field, struct field_summary *summary);
void cpu_hash(const struct layout *layout, const struct placement *placement, const void *field,
              uint64_t *hash);

#endif
