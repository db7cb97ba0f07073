/* The CPU kernels as synchronous functions on host memory, for the backends `cpu` and `guard`.
 * Contracts as in operations.h. */
#ifndef ISOTHERM_KERNELS_CPU_KERNELS_CPU_H
#define ISOTHERM_KERNELS_CPU_KERNELS_CPU_H

#include "kernels/backend.h"
#include "kernels/cpu/schedule/tile_tuner.h"

/* The step kernels: X(name, description for `bench kernels`). Each adds one idea to the previous
 * one; the production kernel is one of the last, with tiles of a suitable height. */
#define CPU_STEP_VARIANTS(X)                                                                       \
    X(plain, "row by row, SIMD, ordinary stores")                                                  \
    X(streaming, "non-temporal stores, neighbours in x from registers")                            \
    X(tiled, "and in tiles whose planes stay in the L2 cache")                                     \
    X(ahead, "and prefetching the rows of the next plane")                                         \
    X(ahead_second, "the same, but only into the L2 cache")                                        \
    X(wide, "and in vectors of 64 bytes, where available")                                         \
    X(planes, "`ahead` in vectors of 64 bytes and three planes at once, where available")

#define CPU_DECLARE_STEP(name, about) step_function cpu_step_##name;
CPU_STEP_VARIANTS(CPU_DECLARE_STEP)
#undef CPU_DECLARE_STEP

#define CPU_DECLARE(name, host)                                                                    \
    enum status cpu_##name(struct queue *queue, const struct name##_args *args);
OPERATIONS(CPU_DECLARE)
#undef CPU_DECLARE

/* Of enthalpy. */
void cpu_convert(const struct layout *layout, const struct device_medium *medium,
                 enum enthalpy_conversion conversion, const void *in, void *out);

void cpu_liquid_fraction(const struct layout *layout, const struct layout *kept,
                         const struct device_medium *medium, const void *field, double *fraction);
void cpu_nonlinear_flux_row(const struct layout *layout, const struct flux_args *args,
                            const void *field, int64_t j, int64_t k, double *flux);

void cpu_pack(const struct layout *layout, const void *field, const struct box *box, void *buffer);
void cpu_unpack(const struct layout *layout, const void *buffer, const struct box *box,
                void *field);
void cpu_copy(void *to, const void *from, size_t bytes); /* all threads, streaming stores */
void cpu_fill_nan(void *memory, size_t bytes);           /* all threads: first touch */
void cpu_summarise(const struct layout *layout, const struct placement *placement,
                   const struct device_medium *medium, const void *field,
                   struct field_summary *summary);
void cpu_summarise_classes(const struct layout *layout, const struct device_medium *medium,
                           const uint8_t *groups, const void *field,
                           struct class_summary *summaries);
void cpu_number_classes(const struct layout *kept, const struct device_medium *medium,
                        const uint8_t *numbers, double *values);
void cpu_change_classes(const struct layout *layout, const struct class_changes *change,
                        const void *field, const struct box *box);
void cpu_plane_maxima(const struct layout *layout, const void *field, double limit,
                      uint64_t *planes);
void cpu_hash(const struct layout *layout, const struct placement *placement, const void *field,
              uint64_t *hash);
void cpu_add_source(const struct layout *layout, const struct source_args *args, void *field,
                    const struct box *box);
void cpu_sum_perfusion(const struct layout *layout, const struct device_medium *medium,
                       const void *field, const struct box *box, struct exact_sum *sum);
void cpu_gather(enum precision precision, const void *field, const int64_t *elements, int64_t count,
                void *values);
void cpu_track(const struct layout *layout, const struct layout *kept,
               const struct track_args *args, const void *field);
void cpu_flux_squared(const struct layout *layout, const struct layout *kept,
                      const struct flux_args *args, const void *field, double *flux);
void cpu_extract(const struct layout *layout, const struct extract_args *args, const void *field,
                 void *values);

#endif
