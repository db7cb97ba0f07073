/* Host memory for the backends on the CPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"

/* STATUS_MEMORY, with the sizes, when `bytes` are not available. */
enum status host_memory_check(size_t bytes);

/* Aligned to LAYOUT_ALIGN_BYTES, large requests to huge pages; contents undefined. For free(). */
enum status host_memory_alloc(size_t bytes, void **memory);

/* "<processor>, <n> threads", memory and threads. */
void host_info(struct device_info *info);

/* ---- shared with other processes of this node, and flags in it ---- */

/* An anonymous file in memory: a process that dies leaves nothing behind. */
enum status shared_memory_create(size_t bytes, int *file);
void shared_memory_forget(int file); /* keeps mappings; takes -1 */
enum status shared_memory_map(int file, size_t bytes, void **map);
void shared_memory_unmap(void *map, size_t bytes);

/* The handle with which another process opens the file, while this one has it open. */
void shared_memory_name(int file, size_t bytes, struct shared_handle *handle);
enum status shared_memory_find(const struct shared_handle *handle, int *file, size_t *bytes);

/* As flags_write and flags_wait of runtime.h, without a queue. */
void shared_flags_write(uint32_t *const *flags, int nflags, uint32_t value);
enum status shared_flags_wait(uint32_t *const *flags, int nflags, uint32_t value, double limit_s);
