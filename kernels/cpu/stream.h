/* Streaming (non-temporal) stores: a cache line goes to memory without being read first. */
#ifndef ISOTHERM_KERNELS_CPU_STREAM_H
#define ISOTHERM_KERNELS_CPU_STREAM_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { STREAM_LINE_BYTES = 64 };

/* How many cells of `cell_bytes` lie between `address` and the next line; 0 when it starts one. */
static inline int64_t stream_cells_to_line(const void *address, size_t cell_bytes)
{
    return (int64_t)(-(uintptr_t)address % STREAM_LINE_BYTES / cell_bytes);
}

/* Write one whole line; `to` is aligned to it. */
static inline __attribute__((always_inline)) void stream_line(void *to, const void *line)
{
#if defined(__AVX512F__)
    _mm512_stream_si512(to, _mm512_loadu_si512(line));
#elif defined(__AVX__)
    const char *from = line;
    for (int part = 0; part < STREAM_LINE_BYTES; part += 32) {
        _mm256_stream_si256((void *)((char *)to + part),
                            _mm256_loadu_si256((const void *)(from + part)));
    }
#elif defined(__SSE2__)
    const char *from = line;
    for (int part = 0; part < STREAM_LINE_BYTES; part += 16) {
        _mm_stream_si128((void *)((char *)to + part), _mm_loadu_si128((const void *)(from + part)));
    }
#else
    memcpy(to, line, STREAM_LINE_BYTES);
#endif
}

/* Streaming stores are weakly ordered: before another thread or the network reads them. */
static inline void stream_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
