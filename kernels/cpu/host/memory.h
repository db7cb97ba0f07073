/* Host memory for the backends on the CPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/backend.h"

/* Main memory, total and available, bytes; 0 when unknown. */
void host_memory_room(uint64_t *total_bytes, uint64_t *available_bytes);

/* STATUS_MEMORY, with the sizes, when `bytes` are not available. */
enum status host_memory_check(size_t bytes);

/* Aligned to LAYOUT_ALIGN_BYTES, large requests to huge pages; contents undefined. For free(). */
enum status host_memory_alloc(size_t bytes, void **memory);

/* "<processor>, <n> threads", memory and threads. */
void host_info(struct device_info *info);
