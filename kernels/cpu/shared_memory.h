/* Memory shared with other processes of this node, and flags in it: what the backends on the cpu
 * have in the place of a GPU's memory handles. */
#ifndef ISOTHERM_KERNELS_CPU_SHARED_MEMORY_H
#define ISOTHERM_KERNELS_CPU_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"

/* A nameless file in memory: nothing is left behind by a process that dies. */
enum status shared_memory_create(size_t bytes, int *file) MUST_CHECK;
void shared_memory_forget(int file); /* mappings stay; takes -1 */
enum status shared_memory_map(int file, size_t bytes, void **map) MUST_CHECK;
/* The same over a mapping that is there already. */
enum status shared_memory_map_at(int file, size_t bytes, void *map) MUST_CHECK;
void shared_memory_unmap(void *map, size_t bytes);

/* The handle by which another process finds the file, while this one has it open. */
void shared_memory_name(int file, size_t bytes, struct shared_handle *handle);
enum status shared_memory_find(const struct shared_handle *handle, int *file,
                               size_t *bytes) MUST_CHECK;

/* At once, as runtime.h's functions of these names do it on a queue. */
void shared_flags_write(uint32_t *const *flags, int nflags, uint32_t value);
enum status shared_flags_wait(uint32_t *const *flags, int nflags, uint32_t value,
                              double limit_s) MUST_CHECK;

#endif
