/* Streaming (non-temporal) stores: a cache line is written without being read first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cell/inline.h"

enum {
    STREAM_LINE_BYTES = 64,
    /* Vectors of half a line: with full ones the loop overtakes its prefetches
     * (docs/records/kernels_cpu.md). */
    STREAM_PART_BYTES = 32
};

/* The number of cells from `address` to the next line; 0 at the start of a line. */
static inline int64_t stream_cells_to_line(const void *address, size_t cell_bytes)
{
    return (int64_t)(-(uintptr_t)address % STREAM_LINE_BYTES / cell_bytes);
}

/* Write part of a line, aligned to its own size; the other part must follow at once. */
KERNEL_INLINE void stream_part(void *to, const void *part)
{
#if defined(__AVX__)
    _mm256_stream_si256(to, _mm256_loadu_si256(part));
#elif defined(__SSE2__)
    for (int at = 0; at < STREAM_PART_BYTES; at += 16) {
        _mm_stream_si128((void *)((char *)to + at),
                         _mm_loadu_si128((const void *)((const char *)part + at)));
    }
#else
    memcpy(to, part, STREAM_PART_BYTES);
#endif
}

/* The same with an ordinary store where `stream` is false, of a line that is read again soon. */
KERNEL_INLINE void stream_or_store_part(bool stream, void *to, const void *part)
{
    if (stream) {
        stream_part(to, part);
    } else {
        memcpy(to, part, STREAM_PART_BYTES);
    }
}

/* Write an aligned line. */
KERNEL_INLINE void stream_whole(void *to, const void *line)
{
#if defined(__AVX512F__)
    _mm512_stream_si512(to, _mm512_loadu_si512(line));
#else
    for (int at = 0; at < STREAM_LINE_BYTES; at += STREAM_PART_BYTES) {
        stream_part((char *)to + at, (const char *)line + at);
    }
#endif
}

/* Cells of a row, in a register where possible. */
struct stream_vector {
#if defined(__AVX2__)
    __m256i bits;
#else
    char bytes[STREAM_PART_BYTES];
#endif
};

/* Not memcpy, which gcc splits for some processors: a load of the vector would wait for both halves
 * to be stored. */
KERNEL_INLINE struct stream_vector stream_load(const void *cells)
{
#if defined(__AVX2__)
    return (struct stream_vector){_mm256_loadu_si256(cells)};
#else
    struct stream_vector vector;
    memcpy(&vector, cells, sizeof vector);
    return vector;
#endif
}

KERNEL_INLINE void stream_store(struct stream_vector vector, void *to)
{
#if defined(__AVX2__)
    _mm256_storeu_si256(to, vector.bits);
#else
    memcpy(to, &vector, sizeof vector);
#endif
}

/* The left neighbours of the cells of `here`, to `to`; `before` is the previous vector. Shifting
 * registers avoids loads across line boundaries. `cell_bytes` is 4 or 8. */
KERNEL_INLINE void stream_minus(struct stream_vector before, struct stream_vector here,
                                size_t cell_bytes, void *to)
{
#if defined(__AVX2__)
    const __m256i middle = _mm256_permute2x128_si256(before.bits, here.bits, 0x21);
    const __m256i shifted = cell_bytes == sizeof(double)
                                ? _mm256_alignr_epi8(here.bits, middle, 16 - sizeof(double))
                                : _mm256_alignr_epi8(here.bits, middle, 16 - sizeof(float));
    _mm256_storeu_si256(to, shifted);
#else
    memcpy(to, before.bytes + sizeof before - cell_bytes, cell_bytes);
    memcpy((char *)to + cell_bytes, here.bytes, sizeof here - cell_bytes);
#endif
}

/* The right neighbours; `after` is the next vector. */
KERNEL_INLINE void stream_plus(struct stream_vector here, struct stream_vector after,
                               size_t cell_bytes, void *to)
{
#if defined(__AVX2__)
    const __m256i middle = _mm256_permute2x128_si256(here.bits, after.bits, 0x21);
    const __m256i shifted = cell_bytes == sizeof(double)
                                ? _mm256_alignr_epi8(middle, here.bits, sizeof(double))
                                : _mm256_alignr_epi8(middle, here.bits, sizeof(float));
    _mm256_storeu_si256(to, shifted);
#else
    memcpy(to, here.bytes + cell_bytes, sizeof here - cell_bytes);
    memcpy((char *)to + sizeof here - cell_bytes, after.bytes, cell_bytes);
#endif
}

/* Registers of a full line. */
#if defined(__AVX512F__)
#define STREAM_HAS_WIDE 1
#if defined(__clang__)
#define STREAM_WIDE
#else /* gcc prefers half of it */
#define STREAM_WIDE __attribute__((target("prefer-vector-width=512")))
#endif

struct stream_line {
    __m512i bits;
};

KERNEL_INLINE struct stream_line stream_line_load(const void *cells)
{
    return (struct stream_line){_mm512_loadu_si512(cells)};
}

/* Not memcpy, which the compiler may split: a load of the full line would wait for both halves. */
KERNEL_INLINE void stream_line_store(struct stream_line line, void *to)
{
    _mm512_storeu_si512(to, line.bits);
}

/* As stream_minus. */
KERNEL_INLINE void stream_line_minus(struct stream_line before, struct stream_line here,
                                     size_t cell_bytes, void *to)
{
    const __m512i shifted = cell_bytes == sizeof(double)
                                ? _mm512_alignr_epi64(here.bits, before.bits, 7)
                                : _mm512_alignr_epi32(here.bits, before.bits, 15);
    _mm512_storeu_si512(to, shifted);
}

/* As stream_plus. */
KERNEL_INLINE void stream_line_plus(struct stream_line here, struct stream_line after,
                                    size_t cell_bytes, void *to)
{
    const __m512i shifted = cell_bytes == sizeof(double)
                                ? _mm512_alignr_epi64(after.bits, here.bits, 1)
                                : _mm512_alignr_epi32(after.bits, here.bits, 1);
    _mm512_storeu_si512(to, shifted);
}
#else
#define STREAM_HAS_WIDE 0
#define STREAM_WIDE
#endif

/* Eight times the same byte. */
KERNEL_INLINE uint64_t stream_eight(uint8_t byte)
{
    return UINT64_C(0x0101010101010101) * byte;
}

/* The bits in which any of eight bytes differs from `byte`. */
KERNEL_INLINE uint64_t stream_other_bits(const uint8_t *bytes, uint8_t byte)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word ^ stream_eight(byte);
}

/* The cache to prefetch into. */
enum stream_level { STREAM_NO_LEVEL, STREAM_FIRST_LEVEL, STREAM_SECOND_LEVEL };

KERNEL_INLINE void stream_fetch(enum stream_level level, const void *address)
{
    if (level == STREAM_FIRST_LEVEL) {
        __builtin_prefetch(address, 0, 3);
    } else if (level == STREAM_SECOND_LEVEL) {
        __builtin_prefetch(address, 0, 2);
    }
}

/* Orders streaming stores before other threads or the network read them. */
static inline void stream_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}
